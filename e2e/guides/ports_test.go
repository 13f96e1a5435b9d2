package guides

import (
	"fmt"
	"net"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// ports are those that guides use, in groups that must stay next to each other. A
// run has free ones in their place, so that guides can be tested beside each other
// and beside what listens on this machine.
var ports = [][]int{{8080}, {8081}, {8082}, {9090}, {9091}, {9901}, {9902}, {9101, 9102, 9103, 9104}, {9201, 9202, 9203, 9204}}

var (
	number   = regexp.MustCompile(`\b[0-9]{4}\b`)
	loopback = regexp.MustCompile(`(?:127\.0\.0\.1|localhost|0\.0\.0\.0):([0-9]+)`)
)

// remap gives a function that puts free ports in the place of those of guides.
func remap(t *testing.T) func(string) string {
	t.Helper()
	to := map[string]string{}
	for _, group := range ports {
		first := freeRun(t, len(group))
		for i, port := range group {
			to[strconv.Itoa(port)] = strconv.Itoa(first + i)
		}
	}
	return func(text string) string {
		return number.ReplaceAllStringFunc(text, func(digits string) string {
			if port, ok := to[digits]; ok {
				return port
			}
			return digits
		})
	}
}

// freeRun finds n ports in a row that nobody listens on.
func freeRun(t *testing.T, n int) (first int) {
	t.Helper()
	require.Eventually(t, func() bool {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return false
		}
		held := []net.Listener{l}
		first = l.Addr().(*net.TCPAddr).Port
		for i := 1; i < n && err == nil; i++ {
			if l, err = net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", first+i)); err == nil {
				held = append(held, l)
			}
		}
		for _, l := range held {
			_ = l.Close()
		}
		return err == nil
	}, 15*time.Second, time.Millisecond, "no %d free ports in a row", n)
	return first
}

// strayPorts are ports of this machine in a text that are not remapped.
func strayPorts(text string) []string {
	known := map[string]bool{}
	for _, group := range ports {
		for _, port := range group {
			known[strconv.Itoa(port)] = true
		}
	}
	var stray []string
	for _, match := range loopback.FindAllStringSubmatch(text, -1) {
		if !known[match[1]] {
			stray = append(stray, match[0])
		}
	}
	return stray
}
