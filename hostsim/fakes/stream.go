package fakes

import (
	"errors"
	"net"
	"net/http"
)

// errCut is the end of a stream whose connection a fault has reset.
var errCut = errors.New("stream was cut by a fault")

var eventStreamType = []string{"text/event-stream; charset=utf-8"}

// sse writes one reply as server-sent events, each flushed on its own.
type sse struct {
	x      *exchange
	out    *http.ResponseController
	head   []byte // of every data event
	buf    []byte
	events int
}

// stream generates the output and sends each token as it comes.
func (x *exchange) stream() ending {
	h := x.w.Header()
	h["Content-Type"] = eventStreamType
	s := &sse{x: x, out: http.NewResponseController(x.w)}
	s.head = x.appendHead([]byte("data: "), x.shape().chunkObject)
	done, reason, err := s.tokens()
	if err == nil {
		err = s.close(done, reason)
	}
	switch {
	case errors.Is(err, errCut):
		return ending{outcome: Failed, status: http.StatusOK, tokens: done * x.call.choices}
	case err != nil:
		return ending{outcome: Aborted, status: http.StatusOK, tokens: done * x.call.choices}
	}
	return x.conclude(reason, done)
}

// tokens sends the opening chunks and the text. It ends early, without an error, when /abort_request asks for it.
func (s *sse) tokens() (done int, reason string, err error) {
	x := s.x
	if err := s.open(); err != nil {
		return 0, "", err
	}
	for done < x.call.output {
		if err := x.decode(done, 1); err != nil {
			if x.abortRequested() {
				return done, "abort", nil
			}
			return done, "", err
		}
		done++
		reason = ""
		if done == x.call.output {
			reason = x.call.reason
		}
		if err := s.text(done, reason); err != nil {
			return done, reason, err
		}
	}
	return done, reason, nil
}

// open sends the opening chunk of each choice, if the shape has one.
func (s *sse) open() error {
	role := s.x.shape().roleChoice
	if role == "" {
		return nil
	}
	for choice := range s.x.call.choices {
		s.begin(choice)
		s.buf = append(s.buf, role...)
		if err := s.end(0, false); err != nil {
			return err
		}
	}
	return nil
}

// text sends the done-th token of each choice. Where the last text chunk carries the finish reason, it goes along.
func (s *sse) text(done int, reason string) error {
	shape := s.x.shape()
	if shape.lastOpen != "" {
		reason = ""
	}
	for choice := range s.x.call.choices {
		s.begin(choice)
		s.buf = append(s.buf, shape.textOpen...)
		s.buf = append(s.buf, word(s.x.cfg.Seed, done-1)...)
		s.buf = append(s.buf, shape.textClose...)
		s.buf = appendReason(s.buf, reason)
		if reason == "" {
			s.buf = append(s.buf, shape.running...)
		} else {
			s.buf = append(s.buf, shape.finished...)
		}
		if err := s.end(done, reason != "" && !s.x.call.usage); err != nil {
			return err
		}
	}
	return nil
}

// close sends what follows the text: a finishing chunk where the shape has one, usage if asked for, [DONE].
func (s *sse) close(done int, reason string) error {
	if err := s.finish(done, reason); err != nil {
		return err
	}
	if s.x.call.usage {
		s.buf = append(s.buf[:0], s.head...)
		s.buf = append(s.buf, ']')
		s.buf = s.x.appendUsage(s.buf, done)
		s.buf = s.x.appendFingerprint(s.buf)
		s.buf = append(s.buf, "}\n\n"...)
		if err := s.send(); err != nil {
			return err
		}
	}
	s.buf = append(s.buf[:0], "data: [DONE]\n\n"...)
	return s.send()
}

// finish sends the chunks that only finish. An aborted reply has them in both dialects, for its text ended unfinished.
func (s *sse) finish(done int, reason string) error {
	shape := s.x.shape()
	open := shape.lastOpen
	if open == "" && reason == "abort" {
		open = shape.textOpen + shape.textClose
	}
	if open == "" {
		return nil
	}
	for choice := range s.x.call.choices {
		s.begin(choice)
		s.buf = append(s.buf, open...)
		s.buf = appendReason(s.buf, reason)
		s.buf = append(s.buf, shape.finished...)
		if err := s.end(done, false); err != nil {
			return err
		}
	}
	return nil
}

func (s *sse) begin(choice int) {
	s.buf = append(s.buf[:0], s.head...)
	s.buf = appendIndex(s.buf, choice)
}

// end completes a chunk that holds one choice, and sends it.
func (s *sse) end(done int, last bool) error {
	s.buf = append(s.buf, ']')
	if s.x.call.usageAlways {
		s.buf = s.x.appendUsage(s.buf, done)
	}
	if last {
		s.buf = s.x.appendFingerprint(s.buf)
	}
	s.buf = append(s.buf, "}\n\n"...)
	return s.send()
}

// send writes the buffered event, or resets the connection when its turn to fail has come.
func (s *sse) send() error {
	if cut := s.x.faults.load().cutAfter; cut >= 0 && s.events >= cut {
		s.reset()
		return errCut
	}
	s.events++
	_, err := s.x.w.Write(s.buf)
	if err == nil {
		err = s.out.Flush()
	}
	if s.x.cfg.KeepOrphans {
		return nil // nobody looks whether the client is there
	}
	return err
}

// reset drops the connection: with linger 0 the peer gets a TCP reset instead of an orderly end.
func (s *sse) reset() {
	conn, _, err := s.out.Hijack()
	if err != nil { // every connection of a process is HTTP/1 over TCP, which can be taken over
		return
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}
