package segcache_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pointsman/pointsman/statesvc/tokenize/segcache"
)

func TestRemembersAndForgets(t *testing.T) {
	c := segcache.New(64 << 10)
	ids, ok := c.Append([]uint32{7}, "a")
	require.False(t, ok)
	require.Equal(t, []uint32{7}, ids)
	text := []uint32{1, 2}
	c.Put("a", text)
	text[0] = 9
	ids, ok = c.Append([]uint32{7}, "a")
	require.True(t, ok)
	require.Equal(t, []uint32{7, 1, 2}, ids)
	c.Put("a", []uint32{3})
	ids, _ = c.Append(nil, "a")
	require.Equal(t, []uint32{3}, ids)
	for i := range 10_000 {
		c.Put(fmt.Sprint("text ", i), []uint32{1})
		require.LessOrEqual(t, c.Stats().Bytes, int64(64<<10))
	}
	_, ok = c.Append(nil, "a")
	require.False(t, ok, "the oldest goes first")
	_, ok = c.Append(nil, "text 9999")
	require.True(t, ok)
}

func TestWhatIsTooLargeIsNotKept(t *testing.T) {
	c := segcache.New(64 << 10)
	c.Put(strings.Repeat("x", 2000), nil)
	require.Zero(t, c.Stats().Entries)
}

func TestUseGoesBeforeAge(t *testing.T) {
	c := segcache.New(64 << 10)
	c.Put("used", []uint32{1})
	for i := range 1000 {
		c.Put(fmt.Sprint("text ", i), nil)
		_, ok := c.Append(nil, "used")
		require.True(t, ok)
	}
}

func TestConcurrentUse(t *testing.T) {
	c := segcache.New(16 << 10)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for i := range 2000 {
				text := fmt.Sprint(i % 100)
				if ids, ok := c.Append(nil, text); ok && len(ids) != len(text) {
					t.Errorf("%q has %d tokens", text, len(ids))
				}
				c.Put(text, make([]uint32, len(text)))
			}
		})
	}
	wg.Wait()
}
