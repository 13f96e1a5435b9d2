package hostsim_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pointsman/pointsman/hostsim"
)

// steer runs steps in the headers of a stream of a client.
func (b *bench) steer(steps ...string) {
	b.start("headers:"+strings.Join(steps, " headers:"), true)
}

func TestGRPC_messagesBothWays(t *testing.T) {
	b := newBench(t, nil)
	b.takeLogs()
	b.steer("open:state", "open:state", "send:0=a", "send:1=b", "send:0=c")
	streams := b.grpc.All()
	require.Len(t, streams, 2)
	call := streams[0].GRPCCall
	require.Equal(t, "state", call.Cluster)
	require.Equal(t, [][2]string{
		{":method", "POST"}, {":path", "/test.Echo/Talk"}, {":authority", "state"}, {"te", "trailers"},
		{"content-type", "application/grpc"}, {"authorization", "Bearer x"},
	}, call.Metadata.Pairs())
	require.Equal(t, [][]byte{[]byte("a"), []byte("c")}, streams[0].Sent)
	require.Equal(t, [][]byte{[]byte("b")}, streams[1].Sent)

	// The stream that was opened last is answered first.
	streams[1].Deliver(hostsim.GRPCEvent{
		Kind: hostsim.GRPCInitialMetadata, Metadata: hostsim.NewHeaders([2]string{":status", "200"}, [2]string{"x-mark", "m"}),
	})
	streams[1].Reply([]byte("B"))
	streams[0].Deliver(hostsim.GRPCEvent{Kind: hostsim.GRPCInitialMetadata})
	streams[0].Reply([]byte("C"))
	streams[0].Reply(nil)
	b.vm.RunPending()
	require.Equal(t, []string{
		"open -> 0", "open -> 0", "stream 1: initial 2 m", "stream 1: message B",
		"stream 0: initial 0 error 2", "stream 0: message C", "stream 0: message ",
	}, b.takeLogs())
	require.Equal(t, 2, b.trace.Count("proxy_grpc_stream"))
	require.Equal(t, 3, b.trace.Count("proxy_grpc_send"))
	require.Equal(t, 3, b.trace.Count("proxy_on_grpc_receive"))
	require.Contains(t, b.trace.Callbacks(1), "proxy_on_grpc_receive", "the plugin context owns streams")
}

func TestGRPC_theOtherEndCloses(t *testing.T) {
	b := newBench(t, nil)
	b.takeLogs()
	b.steer("open:state")
	s := b.grpc.All()[0]
	s.Close(14, "going away")
	s.Reply([]byte("late"))
	b.vm.RunPending()
	require.Equal(t, []string{"open -> 0", "stream 0: trailing 0 error 2", "stream 0: closed 14 going away"}, b.takeLogs())
	// The token lives on until the guest closes too.
	require.Equal(t, 1, b.vm.OpenGRPCStreams())
	b.steer("send:0=x", "close:0", "send:0=y", "close:0", "cancel:0")
	require.Equal(t, []string{"send -> 1", "close -> 1", "cancel -> 1"}, b.takeLogs())
	require.Empty(t, s.Sent)
	require.Zero(t, b.vm.OpenGRPCStreams())
}

func TestGRPC_theGuestCloses(t *testing.T) {
	b := newBench(t, nil)
	b.takeLogs()
	b.steer("open:state", "send:0=a", "close:0", "send:0=b")
	s := b.grpc.All()[0]
	require.True(t, s.HalfClosed)
	require.Equal(t, [][]byte{[]byte("a")}, s.Sent)
	s.Reply([]byte("A"))
	s.Close(0, "")
	b.vm.RunPending()
	require.Equal(t, []string{
		"open -> 0", "stream 0: message A", "stream 0: trailing 0 error 2", "stream 0: closed 0 ",
	}, b.takeLogs())
	require.Zero(t, b.vm.OpenGRPCStreams())
}

func TestGRPC_sendWithEnd(t *testing.T) {
	b := newBench(t, nil)
	b.steer("open:state", "sendlast:0=a")
	require.True(t, b.grpc.All()[0].HalfClosed)
	require.Equal(t, 1, b.vm.OpenGRPCStreams())
}

func TestGRPC_cancelIsTheLastTheGuestHears(t *testing.T) {
	b := newBench(t, nil)
	b.takeLogs()
	b.steer("open:state", "cancel:0")
	s := b.grpc.All()[0]
	require.True(t, s.Cancelled)
	s.Reply([]byte("late"))
	s.Close(0, "")
	b.vm.RunPending()
	require.Equal(t, []string{"open -> 0"}, b.takeLogs())
	require.Zero(t, b.vm.OpenGRPCStreams())
}

func TestGRPC_guestActsInItsCallbacks(t *testing.T) {
	b := newBench(t, func(o *hostsim.VMOptions) {
		o.PluginConfig = []byte("message:send:0=again closed:close:0 closed:open:state")
	})
	b.takeLogs()
	b.steer("open:state")
	s := b.grpc.All()[0]
	s.Reply([]byte("A"))
	s.Close(14, "")
	b.vm.RunPending()
	require.Equal(t, [][]byte{[]byte("again")}, s.Sent)
	require.Len(t, b.grpc.All(), 2)
	require.Equal(t, 1, b.vm.OpenGRPCStreams())
}

func TestGRPC_unknownClusters(t *testing.T) {
	b := newBench(t, nil)
	b.grpc.Clusters = map[string]bool{"state": true}
	b.takeLogs()
	b.steer("openplain:state", "openplain:nobody")
	require.Equal(t, []string{"open -> 0", "open -> 4"}, b.takeLogs())
	// A service that can be read is refused later, with an end that the guest hears of.
	b.steer("open:nobody")
	require.Equal(t, []string{"open -> 10", "stream ?: closed 14 Cluster not available"}, b.takeLogs())
	require.Equal(t, 1, b.vm.OpenGRPCStreams())
}

func TestGRPC_tokensOfOtherThings(t *testing.T) {
	b := newBench(t, nil)
	b.takeLogs()
	b.steer("send:#4=x", "close:#4", "cancel:#4", "send:#5=x", "close:#5", "cancel:#5", "send:#6=x", "close:#6", "cancel:#6")
	require.Equal(t, []string{
		"send -> 2", "close -> 2", "cancel -> 2", "send -> 2", "close -> 1", "cancel -> 1",
		"send -> 1", "close -> 1", "cancel -> 1",
	}, b.takeLogs())
}

func TestGRPC_endsWithTheVM(t *testing.T) {
	b := newBench(t, nil)
	b.steer("open:state", "open:state")
	require.NoError(t, b.vm.Close())
	for _, s := range b.grpc.All() {
		require.True(t, s.Cancelled)
	}
	require.Zero(t, b.vm.OpenGRPCStreams())

	b = newBench(t, nil)
	b.steer("open:state")
	b.steer("panic")
	require.Error(t, b.vm.Failure())
	require.True(t, b.grpc.All()[0].Cancelled)
}

func TestGRPCFunc_answersOnTheVirtualClock(t *testing.T) {
	clock := hostsim.NewManualClock(epoch)
	b := newBench(t, func(o *hostsim.VMOptions) {
		o.Clock = clock
		o.GRPC = hostsim.GRPCFunc(func(message []byte, s *hostsim.AnsweredGRPC) {
			clock.AfterFunc(time.Second, func() { s.Reply(append([]byte(s.Method+" "), message...)) })
		})
	})
	b.takeLogs()
	b.steer("open:state", "send:0=a")
	require.Equal(t, []string{"open -> 0", "stream 0: initial 2 error 1"}, b.takeLogs())
	clock.Advance(time.Second, b.vm.RunPending)
	b.steer("close:0")
	require.Equal(t, []string{"stream 0: message Talk a", "stream 0: trailing 0 error 2", "stream 0: closed 0 "}, b.takeLogs())
	require.Zero(t, b.vm.OpenGRPCStreams())
}
