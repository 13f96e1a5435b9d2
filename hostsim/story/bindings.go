package story

import (
	"fmt"
	"slices"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/wire"
)

// binding is one key's place, as the story's state service keeps it.
type binding struct {
	scope  wire.Scope
	worker core.WorkerID
	idle   time.Duration // 0 is for ever
	used   time.Time
}

// bindings are in the order in which they were made.
type bindings []*binding

// find gives the live binding of a scope, nil for none.
func (b *bindings) find(digest wire.Digest, now time.Time) *binding {
	*b = slices.DeleteFunc(*b, func(x *binding) bool { return x.idle > 0 && now.Sub(x.used) > x.idle })
	for _, x := range *b {
		if x.scope.Digest == digest {
			return x
		}
	}
	return nil
}

// bind takes a proposal if its scope is bound to the worker seen or to none.
func (b *bindings) bind(p *wire.Proposal, now time.Time) {
	x := b.find(p.Scope.Digest, now)
	if x == nil {
		x = &binding{scope: p.Scope}
		*b = append(*b, x)
	} else if x.worker != p.Seen {
		return
	}
	x.worker, x.idle, x.used = p.Worker, time.Duration(p.IdleSeconds)*time.Second, now
}

// use prolongs a binding that a request followed.
func (b *bindings) use(u wire.UsedBinding, now time.Time) {
	if x := b.find(u.Digest, now); x != nil && x.worker == u.Worker {
		x.used = now
	}
}

// appendTo encodes what a scope is bound to, as a field of a reply.
func (b *bindings) appendTo(reply []byte, field protowire.Number, digest wire.Digest, now time.Time) []byte {
	m := appendBytes(nil, 1, digest[:])
	if x := b.find(digest, now); x != nil {
		m = appendNumber(m, 2, uint64(wire.BindingBound))
		m = appendBytes(m, 3, []byte(x.worker))
	} else {
		m = appendNumber(m, 2, uint64(wire.BindingNone))
	}
	return appendBytes(reply, field, m)
}

// String names the binding for people. No key is in it, since none crosses the wire.
func (x *binding) String() string {
	kind := "session"
	if x.scope.Kind == wire.KeyRouting {
		kind = "routing"
	}
	return fmt.Sprintf("%s of %s/%s/%s -> %s", kind, x.scope.Model, x.scope.Bucket, x.scope.Stage, x.worker)
}

func decodeScopes(message []byte) (list []wire.Scope, err error) {
	err = fields(message, func(field protowire.Number, _ uint64, raw []byte) error {
		if field != 8 {
			return nil
		}
		s, err := decodeScope(raw)
		list = append(list, s)
		return err
	})
	return list, err
}

func decodeScope(message []byte) (s wire.Scope, err error) {
	err = fields(message, func(field protowire.Number, number uint64, raw []byte) error {
		switch field {
		case 1:
			copy(s.Digest[:], raw)
		case 2:
			s.Kind = wire.KeyKind(number)
		case 3:
			s.Model = string(raw)
		case 4:
			s.Bucket = string(raw)
		case 5:
			s.Stage = core.Stage(number)
		}
		return nil
	})
	return s, err
}

func decodeProposals(message []byte) (list []wire.Proposal, err error) {
	err = fields(message, func(field protowire.Number, _ uint64, raw []byte) error {
		if field != 3 {
			return nil
		}
		p, err := decodeProposal(raw)
		list = append(list, p)
		return err
	})
	return list, err
}

func decodeProposal(message []byte) (p wire.Proposal, err error) {
	err = fields(message, func(field protowire.Number, number uint64, raw []byte) (err error) {
		switch field {
		case 1:
			p.Scope, err = decodeScope(raw)
		case 2:
			p.Worker = core.WorkerID(raw)
		case 3:
			p.Seen = core.WorkerID(raw)
		case 4:
			p.IdleSeconds = uint32(number)
		}
		return err
	})
	return p, err
}

func decodeUsed(message []byte) (u wire.UsedBinding, err error) {
	err = fields(message, func(field protowire.Number, _ uint64, raw []byte) error {
		switch field {
		case 1:
			copy(u.Digest[:], raw)
		case 2:
			u.Worker = core.WorkerID(raw)
		}
		return nil
	})
	return u, err
}
