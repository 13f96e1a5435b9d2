package callstream

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pointsman/pointsman/statesvc/wirepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
)

// readBytes is the buffer before a stream's body: most calls come whole with one read.
const readBytes = 16 << 10

// keptBytes bounds the buffer for replies that a stream keeps between them.
const keptBytes = 64 << 10

// stream answers the calls of one request.
type stream struct {
	opts   *Options
	ctx    context.Context // ends when the client goes away
	body   *bufio.Reader
	places chan struct{} // holds a token for each call in flight
	calls  sync.WaitGroup

	stopped atomic.Bool // nothing more is to be read

	waiting  atomic.Int32 // replies that are not written yet
	sending  sync.Mutex   // guards what is below
	response http.ResponseWriter
	control  *http.ResponseController
	frame    []byte
}

func newStream(o *Options, w http.ResponseWriter, r *http.Request) *stream {
	return &stream{
		opts: o, ctx: r.Context(), body: bufio.NewReaderSize(r.Body, readBytes), places: make(chan struct{}, o.InFlight),
		response: w, control: http.NewResponseController(w),
	}
}

// stopReading ends the stream after the calls that have arrived. It is called between the
// making of the stream and the end of serve.
func (st *stream) stopReading() {
	st.stopped.Store(true)
	_ = st.control.SetReadDeadline(past) // HTTP/2 has it
}

func (st *stream) serve() codes.Code {
	// The bounds of a request are not those of a stream of hours: the pings and the write
	// time-out of its connection find a client that is gone.
	_ = st.control.SetWriteDeadline(time.Time{})
	_ = st.control.SetReadDeadline(time.Time{}) // one that is over stays so over HTTP/2
	begin(st.response)
	_ = st.control.Flush()
	err := st.read()
	st.calls.Wait()
	code, message := st.outcome(err)
	finish(st.response, code, message)
	return code
}

// read takes calls until there are no more, or one that is none.
func (st *stream) read() error {
	for {
		message, err := readFrame(st.body, st.opts.Message)
		if err != nil {
			return err
		}
		call, err := Decode(message)
		if err != nil {
			return &protocolError{codes.InvalidArgument, err.Error()}
		}
		st.take(call)
	}
}

// take answers a call, in a goroutine unless there is nothing to work on.
func (st *stream) take(c *Call) {
	if c.Greeting() {
		st.send(&wirepb.CallReply{Number: c.Number})
		return
	}
	select {
	case st.places <- struct{}{}:
		st.calls.Add(1)
		go st.answer(c)
	default:
		reply := st.opts.Handler.Overloaded(c)
		reply.Number = c.Number
		st.send(reply)
	}
}

func (st *stream) answer(c *Call) {
	defer st.calls.Done()
	defer func() { <-st.places }()
	reply := st.opts.Handler.Answer(st.ctx, c)
	reply.Number = c.Number
	st.send(reply)
}

// send writes a reply. Of replies that wait for each other the last one is flushed.
func (st *stream) send(reply *wirepb.CallReply) {
	st.waiting.Add(1)
	st.sending.Lock()
	defer st.sending.Unlock()
	frame, err := proto.MarshalOptions{}.MarshalAppend(append(st.frame[:0], make([]byte, prefixBytes)...), reply)
	if err != nil { // a text that is not UTF-8: nothing here makes one
		frame, _ = proto.MarshalOptions{}.MarshalAppend(frame[:prefixBytes], &wirepb.CallReply{Number: reply.GetNumber(), Refused: "internal_error"})
	}
	binary.BigEndian.PutUint32(frame[1:], uint32(len(frame)-prefixBytes))
	_, _ = st.response.Write(frame) // a client that is gone ends the reading
	if st.frame = frame; cap(frame) > keptBytes {
		st.frame = nil
	}
	if st.waiting.Add(-1) == 0 {
		_ = st.control.Flush()
	}
}

// outcome tells the status of the stream by what ended the reading.
func (st *stream) outcome(err error) (codes.Code, string) {
	broken, isBroken := errors.AsType[*protocolError](err)
	switch {
	case st.ctx.Err() != nil:
		return codes.Canceled, "the client went away"
	case isBroken:
		return broken.code, broken.message
	case st.stopped.Load():
		return codes.Unavailable, stopping
	case errors.Is(err, io.EOF):
		return codes.OK, ""
	}
	return codes.InvalidArgument, "the stream ended within a message"
}
