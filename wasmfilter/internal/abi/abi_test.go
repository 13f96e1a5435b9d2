package abi

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

func TestTable_follows_a_map(t *testing.T) {
	var table table
	naive := map[uint32]Stream{}
	r := rand.New(rand.NewPCG(1, 2))
	next := uint32(1<<32 - 3000) // ids go around the end
	for range 20_000 {
		if r.IntN(2) == 0 || len(naive) == 0 {
			next += uint32(1 + r.IntN(3))
			if next == 0 {
				next = 1
			}
			s := &recorder{}
			table.put(next, s)
			naive[next] = s
			continue
		}
		for id := range naive { // any one
			require.Same(t, naive[id], table.remove(id))
			require.Nil(t, table.remove(id))
			delete(naive, id)
			break
		}
		require.Equal(t, len(naive), table.used)
	}
	for id, s := range naive {
		require.Same(t, s, table.get(id))
	}
	require.LessOrEqual(t, 2*table.used, len(table.slots))
}

func TestTable_replaces_the_same_id(t *testing.T) {
	var table table
	require.Nil(t, table.get(7))
	require.Nil(t, table.remove(7))
	first, second := &recorder{}, &recorder{}
	table.put(7, first)
	table.put(7, second)
	require.Equal(t, 1, table.used)
	require.Same(t, second, table.remove(7))
	require.Nil(t, table.get(7))
}

func TestMemory_gives_room(t *testing.T) {
	var m memory
	body := make([]byte, 100)

	m.expect(body)
	require.Equal(t, unsafe.Pointer(&body[0]), m.take(60), "where it is wanted")
	require.Len(t, m.given(60), 60)
	require.Equal(t, &body[0], unsafe.SliceData(m.given(60)))

	m.expect(body)
	first := m.take(101)
	require.Equal(t, unsafe.Pointer(&m.scratch[0]), first, "too large for the place")
	m.expect(nil)
	second := m.take(8)
	require.Equal(t, unsafe.Pointer(&m.scratch[104]), second, "aligned, behind the first")

	m.expect(nil)
	large := m.take(1 << 20)
	require.Equal(t, large, unsafe.Pointer(unsafe.SliceData(m.given(1<<20))))
	require.Len(t, m.given(1<<20), 1<<20)

	m.reset()
	m.expect(nil)
	require.Equal(t, first, m.take(1), "anew")
	require.NotNil(t, m.take(0), "room for nothing is an address too")
}

func TestMemory_trusts_no_length(t *testing.T) {
	var m memory
	m.expect(nil)
	require.Empty(t, m.given(4), "the host asked for no room")
	m.take(10)
	require.Empty(t, m.given(11), "more than there is room for")
	require.Len(t, m.given(10), 10)
}

func TestPairs(t *testing.T) {
	headers := [][2]string{{":method", "POST"}, {"empty", ""}, {"x", strings.Repeat("v", 300)}}
	encoded := Pairs(AppendPairs(nil, headers))
	require.True(t, encoded.Valid())
	require.Equal(t, headers, list(encoded))

	encoded.All(func(key, _ string) bool {
		require.Equal(t, ":method", key)
		return false
	})

	none := Pairs(AppendPairs(nil, nil))
	require.True(t, none.Valid())
	require.Empty(t, list(none))
	for cut := range len(encoded) {
		require.False(t, encoded[:cut].Valid(), "cut to %d bytes", cut)
	}
}

func FuzzPairs(f *testing.F) {
	f.Add(string(AppendPairs(nil, [][2]string{{"a", "b"}, {"", ""}})))
	f.Add("\xff\xff\xff\xff")
	f.Add("\x01\x00\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff")
	f.Fuzz(func(t *testing.T, blob string) {
		p := Pairs(blob)
		if !p.Valid() {
			return
		}
		size := numberBytes
		for _, h := range list(p) {
			size += lengthBytes + len(h[0]) + len(h[1]) + 2
		}
		require.LessOrEqual(t, size, len(blob))
	})
}

func list(p Pairs) (all [][2]string) {
	p.All(func(key, value string) bool {
		all = append(all, [2]string{key, value})
		return true
	})
	return all
}

func TestVM_sends_callbacks_to_their_context(t *testing.T) {
	var streams []*recorder
	v := vm{plugins: map[uint32]Plugin{}}
	v.newPlugin = func(id uint32) Plugin {
		return &recorder{id: id, open: func(s *recorder) { streams = append(streams, s) }}
	}
	v.contextCreate(1, 0)
	v.contextCreate(2, 0)
	v.contextCreate(3, 2)
	v.contextCreate(5, 6) // before its plugin
	v.contextCreate(6, 0)
	v.contextCreate(7, 6)
	v.contextCreate(4, 9) // of no plugin
	require.True(t, v.configure(1))
	require.False(t, v.configure(9))
	v.tick(2)
	v.tick(9)
	v.callDone(1, 5, 6, 7)
	v.callDone(9, 5, 6, 7)
	v.streamMessage(1, 8, 9)
	v.streamMessage(9, 8, 9)
	v.streamClosed(1, 8, 14)
	v.streamClosed(9, 8, 14)
	v.log(3)
	v.log(4)
	v.delete(3)
	v.delete(3)
	v.delete(2)
	v.tick(2)
	v.contextCreate(8, 2)

	require.Len(t, streams, 2)
	require.EqualValues(t, 7, streams[1].id)
	require.Equal(t, []string{"done", "delete"}, streams[0].calls)
	require.Equal(t, []string{"configure", "call 5 6 7", "message 8 9", "closed 8 14"}, v.plugins[1].(*recorder).calls)
	require.NotContains(t, v.plugins, uint32(2))
}

func TestVM_keeps_memory_until_the_outermost_callback_is_over(t *testing.T) {
	var v vm
	v.enter()
	first := v.memory.take(8)
	v.enter() // the host calls back from within a call
	require.NotEqual(t, first, v.memory.take(8))
	v.leave()
	require.NotEqual(t, first, v.memory.take(8))
	v.leave()
	v.enter()
	require.Equal(t, first, v.memory.take(8))
}

func TestStatus(t *testing.T) {
	require.NoError(t, StatusOK.err())
	require.ErrorIs(t, StatusNotFound.err(), StatusNotFound)
	seen := map[string]bool{}
	for s := range Status(16) {
		require.False(t, seen[s.Error()], s.Error())
		seen[s.Error()] = true
	}
}
