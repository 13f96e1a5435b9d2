package fakes

import (
	"net"
	"net/http"
	"strconv"
)

// whole generates the output and sends it as one JSON reply.
func (x *exchange) whole() ending {
	done, reason := 0, x.call.reason
	for done < x.call.output {
		n := min(x.cfg.BlockSize, x.call.output-done) // time and KV use move on in steps of a block
		if err := x.decode(done, n); err != nil {
			if !x.abortRequested() {
				return ending{outcome: Aborted, tokens: done * x.call.choices}
			}
			reason = "abort"
			break
		}
		done += n
	}
	const perToken, around = 6, 1024
	b := make([]byte, 0, done*perToken*x.call.choices+around)
	writeBody(x.w, http.StatusOK, x.appendWhole(b, done, reason))
	return x.conclude(reason, done)
}

func (x *exchange) appendWhole(b []byte, tokens int, reason string) []byte {
	s := x.shape()
	b = x.appendHead(b, s.object)
	for choice := range x.call.choices {
		if choice > 0 {
			b = append(b, ',')
		}
		b = appendIndex(b, choice)
		b = append(b, s.wholeOpen...)
		for i := range tokens {
			b = append(b, word(x.cfg.Seed, i)...)
		}
		b = append(b, s.wholeClose...)
		b = appendReason(b, reason)
		b = append(b, s.wholeFinished...)
	}
	b = append(b, ']')
	if x.cfg.Dialect == VLLM {
		b = append(b, `,"service_tier":null`...)
	}
	b = x.appendFingerprint(b)
	b = x.appendUsage(b, tokens)
	if x.cfg.Dialect == VLLM {
		b = x.appendTransfer(b)
	}
	b = append(b, s.wholeTail...)
	return append(b, '}')
}

// appendTransfer appends vLLM's kv_transfer_params: null, or what a prefill engine hands over to decode.
func (x *exchange) appendTransfer(b []byte) []byte {
	b = append(b, `,"kv_transfer_params":`...)
	if x.cfg.Role != Prefill || !x.call.remoteDecode {
		return append(b, "null"...)
	}
	host, _, err := net.SplitHostPort(x.addr)
	if err != nil { // the address of a TCP listener always splits
		host = x.addr
	}
	b = append(b, `{"do_remote_prefill":true,"do_remote_decode":false,"remote_block_ids":[[`...)
	for i := range ceilDiv(x.call.prompt, x.cfg.BlockSize) {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, int64(i+1), 10)
	}
	b = append(b, `]],"remote_engine_id":`...)
	b = append(b, quote(x.cfg.Name)...)
	b = append(b, `,"remote_request_id":`...)
	b = append(b, x.id...)
	b = append(b, `,"remote_host":`...)
	b = append(b, quote(host)...)
	b = append(b, `,"remote_port":`...)
	b = strconv.AppendInt(b, int64(x.cfg.BootstrapPort), 10)
	b = append(b, `,"tp_size":1,"dcp_size":1,"pp_size":1,"remote_num_tokens":`...)
	b = strconv.AppendInt(b, int64(x.call.prompt), 10)
	return append(b, `,"remote_blocks_expiry_time":null,"transfer_mode":"pull","remote_prefill_cached_tokens":0}`...)
}
