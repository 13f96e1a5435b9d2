package core

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSubset(t *testing.T) {
	at := func(address string) *Worker { return &Worker{Address: address} }
	var free *Subset
	require.True(t, free.Allows(at("10.0.0.1:80")))
	for hint, allowed := range map[string][]string{
		"":                                   nil,
		" , ,":                               nil,
		"10.0.0.1":                           nil, // no port
		"engine:80":                          nil, // no address
		"10.0.0.1:80":                        {"10.0.0.1:80"},
		" 10.0.0.2:80 ,junk,10.0.0.1:80":     {"10.0.0.1:80", "10.0.0.2:80"},
		"[2001:db8::1]:8000,10.0.0.2:80":     {"10.0.0.2:80", "[2001:db8::1]:8000"},
		strings.Repeat("10.0.0.1:80,", 9999): {"10.0.0.1:80"},
	} {
		s := ParseSubset(hint)
		for _, address := range []string{"10.0.0.1:80", "10.0.0.2:80", "10.0.0.3:80", "[2001:db8::1]:8000", ""} {
			require.Equal(t, slices.Contains(allowed, address), s.Allows(at(address)), "%q and %q", hint, address)
		}
	}
}
