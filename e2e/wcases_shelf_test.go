package e2e

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/pointsman/pointsman/hostsim"
	"github.com/stretchr/testify/require"
)

const (
	shelfConfig = `{"version":1,"proxy":"w","seed":1,"endpoint_mode":"override_host","state":{"cluster":"pointsman_state"},` +
		`"workers":[{"id":"a","address":"10.0.0.1:80","models":["m"]},{"id":"b","address":"10.0.0.2:80","models":["m"]}],` +
		`"models":` + historyModels + `}`

	// What wasmfilter/internal/host/shelf.go keeps: slots of a fixed number, each with
	// the hash of a prompt, a generation and a worker.
	shelfSlots = 1 << 14
	shelfHead  = 16

	sharedTurns = "pointsman_history_shared_total"
)

// shelves are VMs of one proxy, whose contexts share a shelf.
type shelves struct {
	t      *testing.T
	module *hostsim.Module
	host   *hostsim.Host
}

func newShelves(t *testing.T) *shelves {
	t.Helper()
	return &shelves{t: t, module: loadModule(t, module.Module(t), hostsim.Envoy139), host: hostsim.NewHost()}
}

// vm starts one more VM, which knows the fleet.
func (s *shelves) vm() *wasmVM {
	s.t.Helper()
	w := newVMOf(s.t, s.module, "", func(o *hostsim.VMOptions) {
		o.PluginConfig, o.Host = []byte(shelfConfig), s.host
	})
	w.tick()
	w.reply(fleetReply)
	return w
}

// dialogue is a conversation with so many turns asked, of which all but the last
// are answered.
func dialogue(name string, turns int) string {
	var b strings.Builder
	fmt.Fprintf(&b, `{"model":"m","messages":[{"role":"user","content":"%s %s"}`, name, strings.Repeat("word ", 1000))
	for i := 1; i < turns; i++ {
		fmt.Fprintf(&b, `,{"role":"assistant","content":"%d%s"},{"role":"user","content":"more %d"}`, i, strings.Repeat(" token", 500), i)
	}
	return b.String() + "]}"
}

// turn plays one exchange of a conversation and gives the engine that it went to.
func (w *wasmVM) turn(name string, turns int) string {
	w.t.Helper()
	x := w.chat(dialogue(name, turns))
	engine := x.endpoint()
	require.NotEmpty(w.t, engine, "%s is not routed", name)
	x.answer("200")
	return engine
}

// taken is how many conversations were taken over from the shelf so far.
func (w *wasmVM) taken() int64 {
	w.t.Helper()
	w.inflight() // counters are published with a tick
	require.NoError(w.t, w.vm.Failure())
	return w.metric(sharedTurns)
}

// slots gives the keys of all slots in use with their values.
func (s *shelves) slots() map[string][]byte {
	used := map[string][]byte{}
	for i := range shelfSlots {
		key := fmt.Sprintf("pointsman.sent.%04x", i)
		if value, ok := s.host.SharedData("pointsman", key); ok {
			used[key] = value
		}
	}
	return used
}

// W27: a VM is replaced while others of its kind live, as after a reload: its
// successor finds on the shelf where conversations are.
func TestW27_a_replaced_vm_finds_the_shelf(t *testing.T) {
	s := newShelves(t)
	first, stays := s.vm(), s.vm()
	homes := map[string]string{}
	for _, name := range named("talk", 20) {
		homes[name] = first.turn(name, 1)
	}
	require.NoError(t, first.vm.Close())
	next := s.vm()
	for name, home := range homes {
		require.Equal(t, home, next.turn(name, 2), name)
	}
	require.EqualValues(t, 20, next.taken())
	require.NoError(t, stays.vm.Failure())
	require.Empty(t, next.inflight())
}

// W27: with the last VM the shelf vanishes, as when an environment variable of the
// VM is changed. Nothing is known then, and conversations begin again where they
// are sent next.
func TestW27_the_shelf_vanishes_with_its_vms(t *testing.T) {
	s := newShelves(t)
	first := s.vm()
	for _, name := range named("talk", 20) {
		first.turn(name, 1)
	}
	require.Len(t, s.slots(), 20)
	require.NoError(t, first.vm.Close())
	require.Empty(t, s.slots())

	next, other := s.vm(), s.vm()
	for _, name := range named("talk", 20) {
		home := next.turn(name, 2)
		require.Equal(t, home, other.turn(name, 3), "%s begins again", name)
		require.Equal(t, home, next.turn(name, 4))
	}
	require.EqualValues(t, 20, other.taken(), "by the other one, of what the next one wrote")
	require.Empty(t, next.inflight())
}

// foreign are values that are none of the prompt whose slot they are found in, by
// what they are; own is what was there.
func foreign() map[string]func(own []byte) []byte {
	edit := func(change func([]byte) []byte) func([]byte) []byte {
		return func(own []byte) []byte { return change(append([]byte(nil), own...)) }
	}
	return map[string]func([]byte) []byte{
		"nothing":    func([]byte) []byte { return nil },
		"short":      edit(func(v []byte) []byte { return v[:5] }),
		"no worker":  edit(func(v []byte) []byte { return v[:shelfHead] }),
		"text":       func([]byte) []byte { return []byte(`{"somebody":"else's", "value":1}`) },
		"large":      edit(func(v []byte) []byte { return append(v, make([]byte, 1<<20)...) }),
		"other hash": edit(func(v []byte) []byte { v[0] ^= 1; return v }),
		"another worker's name": edit(func(v []byte) []byte {
			return append(v[:shelfHead], "nobody"...)
		}),
		"binary name": edit(func(v []byte) []byte { return append(v[:shelfHead], "\x00\xff\"\n"...) }),
		"another life of the engine": edit(func(v []byte) []byte {
			binary.LittleEndian.PutUint64(v[8:], 99)
			return v
		}),
	}
}

// W27: what lies in a slot is somebody else's: it is not believed, the request is
// routed, and the slot is put right by it.
func TestW27_foreign_bytes_are_not_believed(t *testing.T) {
	for what, forge := range foreign() {
		t.Run(what, func(t *testing.T) {
			s := newShelves(t)
			first, other := s.vm(), s.vm()
			first.turn("talk", 1)
			slots := s.slots()
			require.Len(t, slots, 1)
			for key, own := range slots {
				require.True(t, s.host.PutSharedData("pointsman", key, forge(own)))
			}
			home := other.turn("talk", 2)
			require.Zero(t, other.taken(), "it was believed")
			require.Zero(t, other.logged("panic"))
			require.Equal(t, home, first.turn("talk", 3), "the next turn finds the last one")
			require.EqualValues(t, 1, first.taken())
			require.Empty(t, first.inflight())
		})
	}
}

// W27: writes are lost, to another writer's or to the host. Turns are routed, the
// context that sent a conversation still knows it, and another one begins it anew.
func TestW27_lost_writes(t *testing.T) {
	for name, with := range map[string]hostsim.Status{
		"CAS lost": hostsim.StatusCasMismatch, "host failure": hostsim.StatusInternalFailure,
	} {
		t.Run(name, func(t *testing.T) {
			s := newShelves(t)
			first, other := s.vm(), s.vm()
			s.host.RefuseSharedData(with)
			for _, name := range named("talk", 10) {
				home := first.turn(name, 1)
				require.Equal(t, home, first.turn(name, 2), "its own memory")
				other.turn(name, 3)
			}
			require.Empty(t, s.slots())
			require.Zero(t, other.taken())
			s.host.RefuseSharedData(hostsim.StatusOK)
			home := first.turn("after", 1)
			require.Equal(t, home, other.turn("after", 2))
			require.EqualValues(t, 1, other.taken())
			require.Empty(t, other.inflight())
		})
	}
}

// W27: two conversations meet in one slot; the last one has it, whole, and the
// other is a miss: a value is never put together of two.
func TestW27_the_last_writer_has_the_slot(t *testing.T) {
	s := newShelves(t)
	first, other := s.vm(), s.vm()
	first.turn("talk", 1)
	var key string
	for k := range s.slots() {
		key = k
	}
	first.turn("rival", 1)
	for k, value := range s.slots() {
		if k != key {
			require.True(t, s.host.PutSharedData("pointsman", key, value))
		}
	}
	other.turn("talk", 2)
	require.Zero(t, other.taken())
	other.turn("rival", 2)
	require.EqualValues(t, 1, other.taken())
}
