package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// The runtime's files that the overlay stands in for, and the sums of the
// originals it was written against. Another Go release needs a look at both
// files before its sums go here (envoy.md 1.4).
const (
	netpollFile = "netpoll_wasip1.go"
	osFile      = "os_wasip1.go"
	netpollSum  = "5462ad1c05a38ba052d77b3795fb284e2606471585ef5faef4f99cc27f400082"
	osSum       = "be2ff1b65991ed4a763a07b05c03a379072a3f7f60368f175ba160ff47e1b889"
)

// netpollSource is a poller for a guest that has no file descriptors: nothing
// is ever ready, and no host call is made to find that out.
const netpollSource = `//go:build wasip1

package runtime

func netpollinit()                              {}
func netpollIsPollDescriptor(fd uintptr) bool   { return false }
func netpollopen(fd uintptr, pd *pollDesc) int32 { return 0 }
func netpollclose(fd uintptr) int32             { return 0 }
func netpollarm(pd *pollDesc, mode int)         {}
func netpollBreak()                             {}
func netpoll(delay int64) (gList, int32)        { return gList{}, 0 }
`

// usleepSource waits on the monotonic clock, the one call a host allows
// everywhere. Nothing in the filter sleeps.
const usleepSource = `func usleep(usec uint32) {
	for deadline := nanotime1() + int64(usec)*1000; nanotime1() < deadline; {
	}
}
`

// writeOverlay writes the replacement files and the overlay file that names
// them into dir, and returns the overlay's path.
func writeOverlay(goroot, dir string) (string, error) {
	runtime := filepath.Join(goroot, "src", "runtime")
	if _, err := original(filepath.Join(runtime, netpollFile), netpollSum); err != nil {
		return "", err
	}
	source, err := original(filepath.Join(runtime, osFile), osSum)
	if err != nil {
		return "", err
	}
	source, err = withoutPoll(source)
	if err != nil {
		return "", err
	}
	replace := map[string]string{}
	for name, text := range map[string]string{netpollFile: netpollSource, osFile: source} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return "", err
		}
		replace[filepath.Join(runtime, name)] = path
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "overlay.json")
	return path, os.WriteFile(path, overlay, 0o600)
}

func original(path, sum string) (string, error) {
	source, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("go runtime: %w", err)
	}
	got := sha256.Sum256(source)
	if hex.EncodeToString(got[:]) != sum {
		return "", fmt.Errorf("%s is not the file the overlay was written for: build with Go 1.26, or check the file and record its sum %x", path, got)
	}
	return string(source), nil
}

// withoutPoll deletes the import of poll_oneoff and replaces its one caller.
func withoutPoll(source string) (string, error) {
	source, err := cut(source, "//go:wasmimport wasi_snapshot_preview1 poll_oneoff\n", "\n\n", "\n\n")
	if err != nil {
		return "", err
	}
	return cut(source, "func usleep(usec uint32) {\n", "\n}\n", usleepSource)
}

// cut replaces the text from the first mark to the end mark after it, both
// included.
func cut(source, from, to, replacement string) (string, error) {
	start := strings.Index(source, from)
	if start < 0 {
		return "", fmt.Errorf("go runtime: %q not found", from)
	}
	length := strings.Index(source[start:], to)
	if length < 0 {
		return "", fmt.Errorf("go runtime: no end of %q", from)
	}
	return source[:start] + replacement + source[start+length+len(to):], nil
}
