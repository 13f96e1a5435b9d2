package server

import (
	"github.com/pointsman/pointsman/core/wire"
	"github.com/pointsman/pointsman/statesvc/wirepb"
)

// ToProto is toProto for tests.
func ToProto(r *wire.SyncReply) *wirepb.SyncReply { return toProto(r) }

// FromProto takes a decoded report over without the limits.
func FromProto(r *wirepb.SyncRequest) wire.SyncRequest { return *fromProto(r) }

// Waiting is how many calls wait for an answer about their prompt.
func (s *Server) Waiting() int { return s.prompts.running.Waiting() }
