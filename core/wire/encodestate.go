package wire

import "google.golang.org/protobuf/encoding/protowire"

// AppendObserveRequest appends the encoded request to dst and returns the result.
func AppendObserveRequest(dst []byte, r *ObserveRequest) []byte {
	dst = appendFixed(dst, 1, r.Context)
	dst = appendString(dst, 2, r.Model)
	dst = appendString(dst, 3, r.Asked)
	dst = appendString(dst, 4, r.Path)
	dst = appendUint(dst, 5, uint64(r.TimeoutMillis))
	dst = appendBool(dst, 6, r.Tokens)
	for _, source := range r.Sources {
		dst = protowire.AppendString(protowire.AppendTag(dst, 7, protowire.BytesType), source)
	}
	for i := range r.Scopes {
		dst = appendMessage(dst, 8, func(b []byte) []byte { return appendScope(b, &r.Scopes[i]) })
	}
	return appendUint(dst, 11, uint64(r.InputIDs))
}

// AppendBindRequest appends the encoded request to dst and returns the result.
func AppendBindRequest(dst []byte, r *BindRequest) []byte {
	dst = appendFixed(dst, 1, r.Context)
	dst = appendUint(dst, 2, uint64(r.TimeoutMillis))
	for i := range r.Proposals {
		dst = appendMessage(dst, 3, func(b []byte) []byte { return appendProposal(b, &r.Proposals[i]) })
	}
	return dst
}

func appendProposal(b []byte, p *Proposal) []byte {
	b = appendMessage(b, 1, func(s []byte) []byte { return appendScope(s, &p.Scope) })
	b = appendString(b, 2, string(p.Worker))
	b = appendString(b, 3, string(p.Seen))
	return appendUint(b, 4, uint64(p.IdleSeconds))
}

func appendScope(b []byte, s *Scope) []byte {
	b = appendDigest(b, &s.Digest)
	b = appendUint(b, 2, uint64(s.Kind))
	b = appendString(b, 3, s.Model)
	b = appendString(b, 4, s.Bucket)
	return appendUint(b, 5, uint64(s.Stage))
}

func appendUsed(b []byte, u *UsedBinding) []byte {
	return appendString(appendDigest(b, &u.Digest), 2, string(u.Worker))
}

// appendDigest writes a digest as field 1, where every message has it.
func appendDigest(b []byte, d *Digest) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, 1, protowire.BytesType), d[:])
}
