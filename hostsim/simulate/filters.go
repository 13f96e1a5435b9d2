package simulate

import (
	"bytes"
	"context"
	"encoding/binary"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/pointsman/pointsman/hostsim"
)

// callTime is how long a call to the state service takes.
const callTime = time.Millisecond

// bodyLimit lets the filter's own limit speak first: 32 MiB (design section 3).
const bodyLimit = 33 << 20

// startFilters makes the contexts of one proxy: a VM each, on one host.
func (r *run) startFilters(ctx context.Context) error {
	host := hostsim.NewHost()
	for i := range r.Contexts {
		var seed [32]byte
		binary.LittleEndian.PutUint64(seed[:], r.Seed)
		binary.LittleEndian.PutUint64(seed[8:], uint64(i))
		vm, err := r.Module.NewVM(ctx, hostsim.VMOptions{
			PluginName: "pointsman", VMID: "pointsman", PluginConfig: r.Config, AllowOnHeadersStopIteration: true,
			BodyLimit: bodyLimit, Host: host, Clock: r.Clock, Random: rand.NewChaCha8(seed), Callouts: callouts{r},
		})
		if err != nil {
			return err
		}
		r.filters = append(r.filters, vm)
	}
	return nil
}

// callouts carry the filters' calls to the state service and back.
type callouts struct{ run *run }

// HasCluster implements hostsim.CalloutTransport.
func (callouts) HasCluster(string) bool { return true }

// Send implements hostsim.CalloutTransport.
func (c callouts) Send(call hostsim.Callout, done func(hostsim.CalloutReply)) (cancel func()) {
	path, _ := call.Headers.First(":path")
	request, err := http.NewRequestWithContext(c.run.ctx, http.MethodPost, path, bytes.NewReader(call.Body))
	if err != nil {
		done(hostsim.CalloutReply{Reset: true})
		return nil
	}
	for _, h := range call.Headers.Pairs() {
		if !strings.HasPrefix(h[0], ":") {
			request.Header.Add(h[0], h[1])
		}
	}
	c.run.after(callTime/2, func() {
		a := &answer{status: http.StatusOK, header: http.Header{}}
		c.run.Service.ServeHTTP(a, request)
		c.run.after(callTime/2, func() {
			done(hostsim.CalloutReply{
				Headers: hostsim.NewHeaders([2]string{":status", strconv.Itoa(a.status)}),
				Body:    a.body.Bytes(),
			})
		})
	})
	return nil
}

// answer is what the state service answers (http.ResponseWriter).
type answer struct {
	status int
	header http.Header
	body   bytes.Buffer
}

func (a *answer) Header() http.Header         { return a.header }
func (a *answer) WriteHeader(status int)      { a.status = status }
func (a *answer) Write(b []byte) (int, error) { return a.body.Write(b) }
