package fakes

import (
	"context"
	"net"
	"time"

	"github.com/pointsman/pointsman/hostsim/fakes/kvfeed"
	"github.com/pointsman/pointsman/hostsim/fakes/kvwire"
)

// retry is how often a port that is taken is tried again.
const retry = 50 * time.Millisecond

// KVPorts are the ports of rank 0; each rank adds its number. 0 is a socket that is not there.
type KVPorts struct{ Events, Replay, Load int }

// KVPorts returns where the running process publishes, or the last one did. They stay the same over restarts.
func (e *Engine) KVPorts() KVPorts {
	e.life.Lock()
	defer e.life.Unlock()
	return e.kvPorts
}

// Feed returns the publisher of a rank's KV events, to make gaps, repeats and worse. ok is false when no process runs or
// it publishes nothing. It ends with its process.
func (e *Engine) Feed(rank int) (feed *kvfeed.Feed, ok bool) {
	p := e.proc.Load()
	if p == nil || p.kv == nil || rank < 0 || rank >= len(p.kv.ranks) || p.kv.ranks[rank].feed == nil {
		return nil, false
	}
	return p.kv.ranks[rank].feed, true
}

// openKV makes the caches and opens the publishers' ports: those of the process before, or any.
func (p *process) openKV(ports *KVPorts) error {
	if p.cfg.KV == nil {
		return nil
	}
	ctx, stop := context.WithCancel(context.Background())
	k := &prefixCache{cfg: *p.cfg.KV, stop: stop}
	p.kv = k
	for rank := range p.cfg.Ranks {
		k.ranks = append(k.ranks, newRankCache(p.cfg, rank))
	}
	host, _, err := net.SplitHostPort(p.addr)
	if err == nil {
		err = k.open(host, ports)
	}
	if err == nil {
		err = k.openLoad(ctx, p, host, ports)
	}
	if err != nil {
		k.close()
		return err
	}
	k.ports = *ports
	if k.cfg.StartAfter > 0 {
		k.work.Go(func() { k.late(ctx, p.cfg.Clock, host) })
	}
	return nil
}

// open opens the ports of KV events.
func (k *prefixCache) open(host string, ports *KVPorts) error {
	if !k.cfg.Publish {
		return nil
	}
	for _, r := range k.ranks {
		r.feed = kvfeed.Open(kvfeed.Config{
			Topic: k.cfg.Topic, Buffer: k.cfg.Buffer, Queue: k.cfg.Queue,
			ReplayTopic: r.enc.VLLM == kvwire.Release{} || r.enc.VLLM.ReplayTopic(),
		})
	}
	pub, port, err := kvfeed.Listen(host, ports.Events, len(k.ranks))
	if err != nil {
		return err
	}
	ports.Events = port
	replay := make([]net.Listener, len(k.ranks))
	if !k.cfg.NoReplay {
		if replay, port, err = kvfeed.Listen(host, ports.Replay, len(k.ranks)); err != nil {
			shut(pub)
			return err
		}
		ports.Replay = port
	}
	if k.cfg.StartAfter > 0 {
		shut(pub)
		shut(replay)
		return nil
	}
	k.serve(pub, replay)
	return nil
}

func shut(list []net.Listener) {
	for _, l := range list {
		if l != nil {
			_ = l.Close()
		}
	}
}

func (k *prefixCache) serve(pub, replay []net.Listener) {
	for i, r := range k.ranks {
		r.feed.Serve(pub[i], replay[i])
	}
}

// late opens the ports of a slow start. A port that somebody took meanwhile is tried again.
func (k *prefixCache) late(ctx context.Context, clock Clock, host string) {
	for wait := k.cfg.StartAfter; clock.Sleep(ctx, wait) == nil; wait = retry {
		pub, _, err := kvfeed.Listen(host, k.ports.Events, len(k.ranks))
		if err != nil {
			continue
		}
		replay := make([]net.Listener, len(k.ranks))
		if !k.cfg.NoReplay {
			if replay, _, err = kvfeed.Listen(host, k.ports.Replay, len(k.ranks)); err != nil {
				shut(pub)
				continue
			}
		}
		k.serve(pub, replay)
		return
	}
}

// close ends the publishers. A nil cache has none.
func (k *prefixCache) close() {
	if k == nil {
		return
	}
	k.stop()
	for _, r := range k.ranks {
		if r.feed != nil {
			r.feed.Close()
		}
		if r.load != nil {
			r.load.Close()
		}
	}
	k.work.Wait()
}
