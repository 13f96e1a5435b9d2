package kvcache_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/pointsman/pointsman/hostsim/fakes/kvcache"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

const size = 4 // of a block in these tests

// follower believes what events say, as simply as can be: copies of contents.
type follower struct {
	contents map[kvcache.Namespace]map[kvcache.Hash]string
	copies   [2]map[string]int
}

func newFollower() *follower {
	f := &follower{}
	f.clear()
	return f
}

func (f *follower) clear() {
	f.contents = map[kvcache.Namespace]map[kvcache.Hash]string{}
	f.copies = [2]map[string]int{{}, {}}
}

func (f *follower) apply(events []kvcache.Event) {
	for _, e := range events {
		switch e.Kind {
		case kvcache.Cleared:
			f.clear()
		case kvcache.Removed:
			for _, h := range e.Hashes {
				f.copies[e.Tier][f.find(h)]--
			}
		case kvcache.Stored:
			f.store(e)
		}
	}
}

// find looks a name up in every namespace: no two contents have one name here.
func (f *follower) find(h kvcache.Hash) string {
	for _, m := range f.contents {
		if c, ok := m[h]; ok {
			return c
		}
	}
	return "unknown"
}

func (f *follower) store(e kvcache.Event) {
	if len(e.Tokens) == 0 { // a placeholder: it is known by its name
		for _, h := range e.Hashes {
			f.copies[e.Tier][f.find(h)]++
		}
		return
	}
	content := fmt.Sprint(e.Namespace)
	if e.Parent != nil {
		content = f.find(*e.Parent)
	}
	for i, h := range e.Hashes {
		content += fmt.Sprint(e.Tokens[i*size : (i+1)*size])
		if f.contents[e.Namespace] == nil {
			f.contents[e.Namespace] = map[kvcache.Hash]string{}
		}
		f.contents[e.Namespace][h] = content
		f.copies[e.Tier][content]++
	}
}

// predict is the hit of a prompt in tokens.
func (f *follower) predict(prompt []uint32, ns kvcache.Namespace) int {
	content, hit, device := fmt.Sprint(ns), 0, true
	for i := range max(len(prompt)-1, 0) / size {
		content += fmt.Sprint(prompt[i*size : (i+1)*size])
		device = device && f.copies[kvcache.Device][content] > 0
		if !device && f.copies[kvcache.Host][content] <= 0 {
			break
		}
		hit += size
	}
	return hit
}

type checked interface {
	kvcache.Cache
	Sane([]kvcache.Sequence) error
}

// machine drives a cache at random and predicts each hit from the events alone.
type machine struct {
	cache checked
	f     *follower
	open  []kvcache.Sequence
	fresh bool // after a reset, until it is announced
}

func (m *machine) take() {
	events := m.cache.Take()
	m.fresh = m.fresh && len(events) == 0
	m.f.apply(events)
}

func (m *machine) Admit(t *rapid.T) {
	prompt := rapid.SliceOfN(rapid.Uint32Range(0, 1), 1, 30).Draw(t, "prompt")
	ns := kvcache.Namespace{
		Salt: rapid.SampledFrom([]string{"", "", "salt"}).Draw(t, "salt"),
		LoRA: rapid.SampledFrom([]string{"", "", "lora"}).Draw(t, "lora"),
	}
	m.take()
	want := m.f.predict(prompt, ns)
	if m.fresh {
		want = 0
	}
	require.Equal(t, want, m.cache.Find(prompt, ns))
	seq, cached, ok := m.cache.Admit(prompt, ns)
	if !ok {
		return
	}
	require.Equal(t, want, cached)
	m.open = append(m.open, seq)
	for chunk := rapid.IntRange(1, 20).Draw(t, "chunk"); seq.Schedule(chunk) > 0; {
		seq.Complete()
	}
	seq.Complete()
}

func (m *machine) Append(t *rapid.T) {
	if len(m.open) == 0 {
		t.Skip("nothing runs")
	}
	seq := rapid.SampledFrom(m.open).Draw(t, "sequence")
	for _, tok := range rapid.SliceOfN(rapid.Uint32Range(0, 1), 1, 9).Draw(t, "answer") {
		seq.Append(tok)
	}
}

func (m *machine) Release(t *rapid.T) {
	if len(m.open) == 0 {
		t.Skip("nothing runs")
	}
	i := rapid.IntRange(0, len(m.open)-1).Draw(t, "sequence")
	m.open[i].Release()
	m.open[i].Release() // once more does nothing
	m.open = slices.Delete(m.open, i, i+1)
}

func (m *machine) Reset(t *rapid.T) {
	m.take()
	ok := m.cache.Reset()
	require.True(t, ok || len(m.open) > 0, "nothing is in the way")
	m.fresh = m.fresh || ok
	require.Empty(t, m.cache.Take(), "a clear waits for the next step")
}

func (m *machine) check(t *rapid.T) { require.NoError(t, m.cache.Sane(m.open)) }

func TestCaches_areWhatTheirEventsSay(t *testing.T) {
	for name, make := range map[string]func(kvcache.Config) checked{
		"pool":  func(c kvcache.Config) checked { return kvcache.NewPool(c) },
		"radix": func(c kvcache.Config) checked { return kvcache.NewRadix(c) },
	} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				m := &machine{f: newFollower()}
				m.cache = make(kvcache.Config{
					Blocks: rapid.IntRange(4, 24).Draw(t, "blocks"), BlockSize: size,
					HostBlocks: rapid.SampledFrom([]int{0, 0, 5, 40}).Draw(t, "host"),
				})
				t.Repeat(map[string]func(*rapid.T){
					"admit": m.Admit, "append": m.Append, "release": m.Release, "reset": m.Reset, "": m.check,
				})
			})
		})
	}
}
