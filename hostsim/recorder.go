package hostsim

import "sync"

// Recorder is an Outlet that keeps what comes out of a stream. It is for tests and tools; the zero value is ready.
// Reading while the stream runs is safe through its methods.
type Recorder struct {
	mu       sync.Mutex
	request  Message
	response Message
	resets   []string
	held     bool
	done     bool
}

// Message is a request or response as far as it has come out.
type Message struct {
	Headers, Trailers *Headers
	Body              []byte
	// Chunks are the sizes of the body's pieces.
	Chunks []int
	// End is set when the message came out whole.
	End bool
}

func (m *Message) data(chunk []byte, end bool) {
	m.Body = append(m.Body, chunk...)
	if len(chunk) > 0 {
		m.Chunks = append(m.Chunks, len(chunk))
	}
	m.End = m.End || end
}

func (r *Recorder) locked(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f()
}

// RequestHeaders implements Outlet.
func (r *Recorder) RequestHeaders(h *Headers, end bool) {
	r.locked(func() { r.request.Headers, r.request.End = h.Clone(), end })
}

// RequestData implements Outlet.
func (r *Recorder) RequestData(chunk []byte, end bool) {
	r.locked(func() { r.request.data(chunk, end) })
}

// RequestTrailers implements Outlet.
func (r *Recorder) RequestTrailers(h *Headers) {
	r.locked(func() { r.request.Trailers, r.request.End = h.Clone(), true })
}

// ResponseHeaders implements Outlet.
func (r *Recorder) ResponseHeaders(h *Headers, end bool) {
	r.locked(func() { r.response.Headers, r.response.End = h.Clone(), end })
}

// ResponseData implements Outlet.
func (r *Recorder) ResponseData(chunk []byte, end bool) {
	r.locked(func() { r.response.data(chunk, end) })
}

// ResponseTrailers implements Outlet.
func (r *Recorder) ResponseTrailers(h *Headers) {
	r.locked(func() { r.response.Trailers, r.response.End = h.Clone(), true })
}

// ResetUpstream implements Outlet.
func (r *Recorder) ResetUpstream() { r.locked(func() { r.resets = append(r.resets, "upstream") }) }

// ResetDownstream implements Outlet.
func (r *Recorder) ResetDownstream() { r.locked(func() { r.resets = append(r.resets, "downstream") }) }

// HoldRequest implements Outlet.
func (r *Recorder) HoldRequest(hold bool) { r.locked(func() { r.held = hold }) }

// Done implements Outlet.
func (r *Recorder) Done() { r.locked(func() { r.done = true }) }

// Request returns what was let through to the upstream.
func (r *Recorder) Request() Message {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.request
}

// Response returns what was let through to the client.
func (r *Recorder) Response() Message {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.response
}

// Resets returns "upstream" and "downstream" in the order in which they were cut.
func (r *Recorder) Resets() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.resets...)
}

// RequestHeld reports whether the client was told to wait with its body.
func (r *Recorder) RequestHeld() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.held
}

// IsDone reports whether the stream is over.
func (r *Recorder) IsDone() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.done
}
