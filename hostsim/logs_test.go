package hostsim_test

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
)

// lockedLogs collects log lines from many goroutines.
type lockedLogs struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lockedLogs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *lockedLogs) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

func (l *lockedLogs) all() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

func (l *lockedLogs) has(text string) bool { return strings.Contains(l.all(), text) }

func (l *lockedLogs) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.buf.Reset()
}
