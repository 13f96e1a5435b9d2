package fakes

import (
	"context"
	"time"

	"github.com/pointsman/pointsman/hostsim/fakes/kvfeed"
	"github.com/pointsman/pointsman/hostsim/fakes/kvwire"
)

const (
	// loadTick is how often a rank looks at its load: about five steps of a scheduler, which is how often SGLang's does
	// (engine-selection.md 5.3).
	loadTick = 20 * time.Millisecond
	// loadHeartbeat is how often a load that does not change is sent (same section).
	loadHeartbeat = time.Second
	// loadQueue is SGLang's high-water mark of these sockets (same section).
	loadQueue = 8
)

// openLoad opens the load sockets and sends until ctx ends.
func (k *prefixCache) openLoad(ctx context.Context, p *process, host string, ports *KVPorts) error {
	if !k.cfg.Load {
		return nil
	}
	pub, port, err := kvfeed.Listen(host, ports.Load, len(k.ranks))
	if err != nil {
		return err
	}
	ports.Load = port
	for i, r := range k.ranks {
		r.load = kvfeed.Open(kvfeed.Config{Topic: kvwire.LoadTopic, Buffer: 1, Queue: loadQueue})
		r.load.Serve(pub[i], nil)
	}
	k.work.Go(func() { k.sendLoads(ctx, p) })
	return nil
}

// sendLoads sends what changed, at once, and everything once a second.
func (k *prefixCache) sendLoads(ctx context.Context, p *process) {
	last := make([]kvwire.Load, len(k.ranks))
	due := make([]time.Time, len(k.ranks))
	for {
		now, s := p.cfg.Clock.Now(), p.snapshot()
		for i, r := range k.ranks {
			l := p.loadOf(r, s)
			if l == last[i] && now.Before(due[i]) {
				continue
			}
			r.load.Publish(l.Payload())
			last[i], due[i] = l, now.Add(loadHeartbeat)
		}
		if p.cfg.Clock.Sleep(ctx, loadTick) != nil {
			return
		}
	}
}

// loadOf is a rank's reading. The busy time is the whole process's, as is /v1/loads'.
func (p *process) loadOf(r *rankCache, s snapshot) kvwire.Load {
	l := s.ranks[r.rank]
	return kvwire.Load{
		Running: l.Running, Waiting: l.Waiting, KVUsed: l.UsedTokens, KVCapacity: p.cfg.KVBlocks * p.cfg.BlockSize,
		Rank: r.rank, WaitingUncached: l.WaitingTokens, KVTotal: l.UsedTokens + l.WaitingTokens, MaxRunning: p.cfg.Slots,
		PrefillTokens: r.uncached.Load(), PrefillMicros: s.prefillBusy.Microseconds(),
	}
}
