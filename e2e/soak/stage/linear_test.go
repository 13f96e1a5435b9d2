package stage

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A linear memory is writable with the guard behind it; heaps, stacks and small
// gaps are not.
func TestSumLinear(t *testing.T) {
	const maps = `201d00000000-205ce0000000 ---p 00000000 00:00 0
5624ca800000-5624cae00000 rw-p 00000000 00:00 0    [heap]
7f043d150000-7f043d9b0000 rw-p 00000000 00:00 0
7f043d9b0000-7f063d150000 ---p 00000000 00:00 0
7f064d180000-7f066d140000 rwxp 00000000 00:00 0
7f066d15d000-7f066d95d000 rw-p 00000000 00:00 0
7f066d95d000-7f066d95e000 ---p 00000000 00:00 0
7f089f160000-7f089f520000 rw-p 00000000 00:00 0
7f089f520000-7f0a9f160000 ---p 00000000 00:00 0
7f0aa0000000-7f0aa0010000 rw-p 00000000 00:00 0
7f0aa0020000-7f0ca0020000 ---p 00000000 00:00 0
`
	sum, err := sumLinear(strings.NewReader(maps))
	require.NoError(t, err)
	require.Equal(t, int64(0x860000+0x3c0000), sum)
	_, err = sumLinear(strings.NewReader("nonsense\n"))
	require.Error(t, err)
}

func TestOlderThan139(t *testing.T) {
	require.True(t, olderThan139("1.36.4"))
	require.False(t, olderThan139("1.40.0"))
	require.False(t, olderThan139("latest"))
}
