package simulate

import (
	"strconv"
	"time"

	"github.com/pointsman/pointsman/hostsim"
	"github.com/pointsman/pointsman/hostsim/traffic"
)

// exchange is one request on its way through a filter to an engine and back.
type exchange struct {
	run        *run
	party      *traffic.Party
	request    traffic.Request
	connection int
	began      time.Time
	out        hostsim.Recorder
	stream     *hostsim.Stream
}

// open hands the request to the filter of its connection.
func (x *exchange) open() {
	x.began = x.run.Clock.Now()
	x.stream = x.run.filters[x.connection%len(x.run.filters)].NewStream(&x.out, hostsim.StreamOptions{})
	x.stream.RequestHeaders(hostsim.NewHeaders(
		[2]string{":method", "POST"}, [2]string{":path", "/v1/chat/completions"}, [2]string{":authority", "simulated"},
		[2]string{"content-type", "application/json"}, [2]string{"content-length", strconv.Itoa(len(x.request.Body))},
		[2]string{"x-session-id", x.request.Session},
	), false)
	x.stream.RequestData(x.request.Body, true)
}

// sent sends the request to its engine once the filter has let it go, and reports
// whether it is on its way, or answered by the filter.
func (x *exchange) sent() bool {
	if headers := x.out.Response().Headers; headers != nil {
		x.run.failed++
		x.over()
		return true
	}
	headers := x.out.Request().Headers
	if headers == nil {
		return false
	}
	address, _ := headers.First("x-pointsman-endpoint")
	e := x.run.byAddress[address]
	if e == nil {
		x.run.failed++
		x.stream.Reset()
		x.over()
		return true
	}
	e.take(&job{request: x.request, done: x.answer}, x.run.after)
	return true
}

// answer brings the engine's answer back.
func (x *exchange) answer() {
	x.run.times = append(x.run.times, x.run.Clock.Now().Sub(x.began))
	x.stream.ResponseHeaders(hostsim.NewHeaders([2]string{":status", "200"}), false)
	x.stream.ResponseData([]byte("{}"), true)
	x.over()
}

// over frees the connection and lets the party think.
func (x *exchange) over() {
	r := x.run
	r.free = append(r.free, x.connection)
	if pause, more := r.Workload.Answered(x.party); more {
		r.after(pause, func() { r.Workload.Ready(x.party) })
	}
}
