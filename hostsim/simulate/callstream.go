package simulate

import (
	"cmp"
	"encoding/base64"
	"net/http"

	"github.com/tidwall/gjson"

	"github.com/pointsman/pointsman/core/wire"
	"github.com/pointsman/pointsman/hostsim"
	"github.com/pointsman/pointsman/hostsim/internal/callstream"
)

// streams answer the filters' calls on streams: each takes as long as a request would.
func (r *run) streams() hostsim.GRPCFunc {
	return func(message []byte, s *hostsim.AnsweredGRPC) {
		call, err := callstream.Decode(message)
		if err != nil {
			s.Close(invalidArgument, err.Error())
			return
		}
		header := http.Header{}
		if token, ok := s.Metadata.First("authorization"); ok {
			header.Set("Authorization", token)
		}
		body := call.Bind
		if call.Observe != nil {
			header.Set(wire.ObserveHeader, base64.RawURLEncoding.EncodeToString(call.Observe))
			body = call.Body
		}
		if call.Path() == "" {
			r.after(callTime, func() { s.Reply(call.Reply(callstream.Answer{})) })
			return
		}
		r.ask(call.Path(), header, body, func(a *answer) {
			given := callstream.Answer{Message: a.body.Bytes()}
			if a.status != http.StatusOK {
				given = callstream.Answer{Refused: cmp.Or(gjson.GetBytes(given.Message, "error.code").Str, http.StatusText(a.status))}
			}
			s.Reply(call.Reply(given))
		})
	}
}

// invalidArgument is the status of a stream that carries what is no call.
const invalidArgument = 3
