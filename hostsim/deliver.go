package hostsim

import (
	"errors"
	"net/http"
	"strconv"
	"time"
)

// deliver writes the response to the client as it comes out of the stream. It returns when the stream is over, and
// false when the connection must be cut.
func (x *exchange) deliver(w http.ResponseWriter) (whole bool) {
	rc := http.NewResponseController(w)
	gone := x.client.Context().Done()
	whole = true
	begun := false
	for {
		select {
		case <-x.out.wake:
		case <-gone:
			gone = nil
			x.reset()
		}
		over := false
		for _, it := range x.out.take() {
			over = over || it.done
			begun = begun || it.headers != nil
			whole = whole && !it.cut
			if err := x.deliverItem(w, it); err != nil {
				whole = false
				x.reset()
			}
			x.out.written(len(it.data))
		}
		if over && whole {
			if begun && w.Header().Get("Content-Length") == "" {
				_ = rc.Flush() // Keeps net/http from announcing a length that the upstream did not.
			}
			return gone != nil
		}
		// What came before a cut reaches the client. A failed flush shows in the next write, or as the end of the
		// client's context.
		if begun {
			_ = rc.Flush()
		}
		if over {
			return false
		}
	}
}

// deliverItem writes one step. Without a status line nothing can be written, so an item before it is dropped.
func (x *exchange) deliverItem(w http.ResponseWriter, it outItem) error {
	switch {
	case it.headers != nil:
		setFields(w.Header(), it.headers, "")
		if _, ok := it.headers.First("content-type"); !ok {
			w.Header()["Content-Type"] = nil // Keeps net/http from guessing one.
		}
		code := statusCode(it.headers)
		if _, ok := it.headers.First("content-length"); !ok && it.bare && code != 204 && code != 304 {
			w.Header().Set("Content-Length", "0")
		}
		w.WriteHeader(code)
	case it.trailers != nil:
		// A flushed response is chunked, which alone can carry trailers.
		if err := http.NewResponseController(w).Flush(); err != nil {
			return err
		}
		setFields(w.Header(), it.trailers, http.TrailerPrefix)
	case len(it.data) > 0:
		if _, err := w.Write(it.data); err != nil && !errors.Is(err, http.ErrBodyNotAllowed) {
			return err
		}
	}
	return nil
}

// statusCode reads the status of a response; one that no client could read becomes 502.
func statusCode(h *Headers) int {
	status, _ := h.First(":status")
	code, err := strconv.Atoi(status)
	if err != nil || code < 200 || code > 999 {
		return http.StatusBadGateway
	}
	return code
}

// close ends what still runs for the exchange. After a whole response, a body that is still coming in is dropped for a
// moment; after a broken one it is not waited for.
func (x *exchange) close(w http.ResponseWriter, pumped <-chan struct{}, whole bool) {
	x.cancel()
	x.pipe.abort()
	x.out.close()
	select {
	case <-pumped:
	default:
		rc := http.NewResponseController(w)
		wait := time.Duration(0)
		if whole {
			_ = rc.Flush()
			wait = lingerTime
		}
		_ = rc.SetReadDeadline(time.Now().Add(wait))
		<-pumped
	}
	x.wg.Wait()
}
