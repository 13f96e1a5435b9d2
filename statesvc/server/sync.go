package server

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/pointsman/pointsman/core/wire"
	"github.com/pointsman/pointsman/statesvc/gauges"
	"github.com/pointsman/pointsman/statesvc/wirepb"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

const jsonType = "application/json"

// maxJSONBytes bounds a report in JSON, which people write, not filters.
const maxJSONBytes = 256 << 10

// suspectWithin bounds the age in milliseconds of a failure that is worth a
// probe; the regular ones have looked at older ones.
const suspectWithin = 10_000

// sync is POST /v1/sync (design section 4).
func (s *Server) sync(w http.ResponseWriter, r *http.Request) {
	body, inJSON, ok := s.message(w, r)
	if !ok {
		return
	}
	message, err := s.decode(body, inJSON)
	if err != nil {
		fail(w, http.StatusBadRequest, badRequest, err.Error())
		return
	}
	if !closed(s.fleet.Ready()) {
		// The first verdicts are not in: an answer would show every engine as
		// down, and contexts would give up the fleet they know.
		unavailable(w, "starting", "the engines have not been probed yet; keep the last fleet and try again")
		return
	}
	request := fromProto(message)
	s.suspect(request)
	s.touch(r.Context(), message.GetUsedBindings())
	reply, err := s.board.Sync(request)
	switch {
	case errors.Is(err, gauges.ErrTooManyContexts):
		unavailable(w, "too_many_contexts", err.Error())
	case errors.Is(err, gauges.ErrTooManyGauges):
		unavailable(w, "too_many_gauges", err.Error())
	case err != nil:
		fail(w, http.StatusInternalServerError, "internal_error", err.Error())
	default:
		if request.History.Present {
			reply.History = s.history.Exchange(request.Context, &request.History)
		}
		writeReply(w, r, toProto(reply), inJSON)
	}
}

// suspect passes on which workers failed requests.
func (s *Server) suspect(r *wire.SyncRequest) {
	for i := range r.Workers {
		if g := &r.Workers[i]; g.FailedAge.Known && g.FailedAge.N < suspectWithin {
			s.fleet.Suspect(g.ID, time.Duration(g.FailedAge.N)*time.Millisecond)
		}
	}
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// message reads a call's body and tells in which form it is, or answers why not.
func (s *Server) message(w http.ResponseWriter, r *http.Request) (body []byte, inJSON, ok bool) {
	if inJSON, ok = s.mediaType(w, r); !ok {
		return nil, false, false
	}
	limit := s.limits.MaxBodyBytes
	if inJSON {
		limit = min(limit, maxJSONBytes)
	}
	body, ok = s.body(w, r, limit)
	return body, inJSON, ok
}

// mediaType tells JSON from protobuf and refuses the rest.
func (s *Server) mediaType(w http.ResponseWriter, r *http.Request) (inJSON, ok bool) {
	if encoding := r.Header.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		fail(w, http.StatusUnsupportedMediaType, "unsupported_content_encoding", "send the body without a content encoding")
		return false, false
	}
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch kind {
	case wire.ContentType, "application/protobuf":
		return false, true
	case jsonType:
		return true, true
	}
	fail(w, http.StatusUnsupportedMediaType, "unsupported_media_type", "send content-type "+wire.ContentType+", or "+jsonType+" for the JSON form")
	return false, false
}

// body reads the whole body within its limit in bytes, or answers why not.
func (s *Server) body(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, bool) {
	tooLarge := func() {
		if r.ProtoMajor == 1 { // over HTTP/2 only the rest of the body is given up
			w.Header().Set("Connection", "close")
		}
		fail(w, http.StatusRequestEntityTooLarge, payloadTooLarge, fmt.Sprintf("the body is larger than %d bytes", limit))
	}
	if r.ContentLength > limit {
		tooLarge()
		return nil, false
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	var over *http.MaxBytesError
	switch {
	case errors.As(err, &over):
		tooLarge()
		return nil, false
	case err != nil:
		fail(w, http.StatusBadRequest, badRequest, "the body ended early")
		return nil, false
	}
	return body, true
}

// decode reads a report and holds it against the contract.
func (s *Server) decode(body []byte, inJSON bool) (*wirepb.SyncRequest, error) {
	if !inJSON {
		if n := countWorkers(body, s.limits.MaxWorkersPerReport); n > s.limits.MaxWorkersPerReport {
			return nil, tooManyWorkers(s.limits.MaxWorkersPerReport)
		}
	}
	request := &wirepb.SyncRequest{}
	if err := decodeMessage(body, inJSON, request, "a sync request"); err != nil {
		return nil, err
	}
	return request, s.check(request)
}

// plainProtoError takes out the non-breaking space that the protobuf library
// puts into its messages at random.
func plainProtoError(err error) string {
	return strings.ReplaceAll(err.Error(), "\u00a0", " ")
}

// writeReply answers in JSON when the client asks for it, or speaks it and asks
// for nothing else.
func writeReply(w http.ResponseWriter, r *http.Request, reply proto.Message, inJSON bool) {
	accept := strings.Join(r.Header.Values("Accept"), ",")
	asJSON := strings.Contains(accept, jsonType) || inJSON && !strings.Contains(accept, "protobuf")
	var body []byte
	var err error
	if asJSON {
		body, err = protojson.MarshalOptions{UseProtoNames: true}.Marshal(reply)
		w.Header().Set("Content-Type", jsonType)
	} else {
		body, err = proto.Marshal(reply)
		w.Header().Set("Content-Type", wire.ContentType)
	}
	if err != nil {
		fail(w, http.StatusInternalServerError, "internal_error", "the answer cannot be encoded")
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write(body)
}
