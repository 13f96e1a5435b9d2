package abi

import "fmt"

// recorder notes the callbacks it gets, as a plugin or as a stream.
type recorder struct {
	id    uint32
	calls []string
	open  func(*recorder)
}

func (r *recorder) note(format string, args ...any) {
	r.calls = append(r.calls, fmt.Sprintf(format, args...))
}

func (r *recorder) Configure() bool { r.note("configure"); return true }
func (r *recorder) Tick()           { r.note("tick") }
func (r *recorder) Done()           { r.note("done") }
func (r *recorder) Delete()         { r.note("delete") }

func (r *recorder) CallDone(call uint32, headers, bodySize int) {
	r.note("call %d %d %d", call, headers, bodySize)
}

func (r *recorder) StreamMessage(stream uint32, size int) { r.note("message %d %d", stream, size) }

func (r *recorder) StreamClosed(stream, status uint32) { r.note("closed %d %d", stream, status) }

func (r *recorder) NewStream(id uint32) Stream {
	s := &recorder{id: id}
	r.open(s)
	return s
}

func (r *recorder) RequestHeaders(bool) Action   { return ActionPause }
func (r *recorder) RequestBody(int, bool) Action { return ActionPause }
func (r *recorder) RequestTrailers() Action      { return ActionContinue }
func (r *recorder) ResponseHeaders() Action      { return ActionContinue }
