package zmqsub_test

import (
	"bytes"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pointsman/pointsman/statesvc/kvevents/zmqsub"
	"github.com/pointsman/pointsman/statesvc/kvevents/zmqtest"
	"github.com/stretchr/testify/require"
)

// diary is a log that a test reads.
type diary struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (d *diary) Write(p []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.text.Write(p)
}

func (d *diary) logger() *slog.Logger { return slog.New(slog.NewTextHandler(d, nil)) }

func (d *diary) lines(with string) (list []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for line := range strings.Lines(d.text.String()) {
		if strings.Contains(line, with) {
			list = append(list, line)
		}
	}
	return list
}

const (
	trustLine   = "trust in KV events changed"
	brokenLine  = "socket is not reached"
	reachedLine = "socket is reached again"
)

// An engine that has published nothing is asked again and again. That is no doubt, and
// no news.
func TestStream_idleEngineKeepsItsTrust(t *testing.T) {
	var log diary
	r := follow(t, true, func(o *zmqsub.Options) { o.Logger, o.Limits.Check = log.logger(), 10*time.Millisecond })
	r.reason(zmqsub.ReasonNone)
	since, asked := r.stream.Status().Since, len(r.pub.Asked())
	r.eventually("asked often", func() bool {
		require.Equal(t, zmqsub.ReasonNone, r.stream.Reason())
		return len(r.pub.Asked()) > asked+8
	})
	require.Equal(t, since, r.stream.Status().Since)
	require.Len(t, log.lines(trustLine), 1)
	require.Contains(t, log.lines(trustLine)[0], "trust=full")

	r.lose("lost at the start")
	r.holds(zmqsub.ReasonNone)
	r.pub.SetReplays(zmqtest.Replays{Mute: true})
	r.reason(zmqsub.ReasonBehind)
}

// A doubt that comes and goes within a second of a line is not what the log ends with.
func TestStream_logEndsWithTheLatestTrust(t *testing.T) {
	var log diary
	r := follow(t, false, func(o *zmqsub.Options) { o.Logger = log.logger() })
	r.publish("first")
	r.holds(zmqsub.ReasonNone)
	ends := func(with string) {
		t.Helper()
		r.eventually("the log ends with "+with, func() bool {
			list := log.lines(trustLine)
			return len(list) > 0 && strings.Contains(list[len(list)-1], with)
		})
	}
	ends("trust=full")
	r.publish("bad")
	r.reason(zmqsub.ReasonUndecodable)
	ends("reason=undecodable")
	r.publish("clear")
	r.reason(zmqsub.ReasonNone)
	ends("trust=full")
}

// refuser answers whoever connects as an HTTP server answers what is no HTTP.
func refuser(t *testing.T) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	served := make(chan struct{})
	go func() {
		defer close(served)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = c.Write([]byte("HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"))
			_ = c.Close()
		}
	}()
	t.Cleanup(func() {
		_ = l.Close()
		<-served
	})
	return l.Addr().String()
}

func TestSockets_brokenOnesAreLoggedOnce(t *testing.T) {
	web := refuser(t)
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, closed.Close())
	router := zmqtest.Start(t, "kv")
	for name, c := range map[string]struct{ endpoint, advice string }{
		"closed port":   {"tcp://" + closed.Addr().String(), "check that the engine runs"},
		"no endpoint":   {"ipc:///dev/null", "check that the engine runs"},
		"HTTP port":     {"tcp://" + web, "not the engine's HTTP port"},
		"replay socket": {router.Replay(), "not the replay socket"},
	} {
		t.Run(name, func(t *testing.T) {
			var log diary
			r := &rig{T: t, pub: router, sink: &sink{}}
			r.stream = zmqsub.Open(zmqsub.Options{Endpoint: c.endpoint, Sink: r.sink, Logger: log.logger()})
			t.Cleanup(r.stream.Close)
			r.eventually("several attempts", func() bool { return r.counts().DialErrors > 3 && len(log.lines(brokenLine)) > 0 })
			require.Len(t, log.lines(""), 1)
			require.Contains(t, log.lines(brokenLine)[0], c.advice)
			require.Contains(t, log.lines(brokenLine)[0], c.endpoint)
		})
	}
}

func TestSockets_recoveryIsLogged(t *testing.T) {
	for name, open := range map[string]func(endpoint string, log *slog.Logger) interface{ Close() }{
		"events": func(endpoint string, log *slog.Logger) interface{ Close() } {
			return zmqsub.Open(zmqsub.Options{Endpoint: endpoint, Sink: &sink{}, Logger: log})
		},
		"load": func(endpoint string, log *slog.Logger) interface{ Close() } {
			return zmqsub.OpenFeed(zmqsub.FeedOptions{Endpoint: endpoint, Logger: log, Take: func([]byte) {}})
		},
	} {
		t.Run(name, func(t *testing.T) {
			var log diary
			r := &rig{T: t, pub: zmqtest.Start(t, "kv")}
			r.pub.Kill()
			s := open(r.pub.Endpoint(), log.logger())
			t.Cleanup(s.Close)
			r.eventually("trouble is logged", func() bool { return len(log.lines(brokenLine)) == 1 })
			r.pub.Restart()
			r.eventually("recovery is logged", func() bool { return len(log.lines(reachedLine)) == 1 })
			require.Len(t, log.lines(brokenLine), 1)
		})
	}
}
