// Package proc runs the processes that are measured and reads what they use.
package proc

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// outputDelay bounds the wait for the output of a process that has ended.
const outputDelay = 5 * time.Second

// keepOutput bounds what is kept of a process's output, for error messages.
const keepOutput = 16 << 10

// Process is a running child. It dies with this process.
type Process struct {
	name string
	cmd  *exec.Cmd
	out  tail
	done chan struct{}
}

// Start runs a program. A nil env is this process's own.
func Start(name, program string, args, env []string) (*Process, error) {
	p := &Process{name: name, cmd: exec.Command(program, args...), done: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr, p.cmd.Env = &p.out, &p.out, env
	return p, p.start()
}

// StartPiped is Start with the child's standard output for the caller to read and
// close.
func StartPiped(name, program string, args, env []string) (*Process, io.ReadCloser, error) {
	p := &Process{name: name, cmd: exec.Command(program, args...), done: make(chan struct{})}
	p.cmd.Stderr, p.cmd.Env = &p.out, env
	r, w, err := os.Pipe()
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	p.cmd.Stdout = w
	err = p.start()
	_ = w.Close() // the child has its own
	if err != nil {
		_ = r.Close()
		return nil, nil, err
	}
	return p, r, nil
}

func (p *Process) start() error {
	p.cmd.WaitDelay = outputDelay
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := p.cmd.Start(); err != nil {
		return fmt.Errorf("%s: %w", p.name, err)
	}
	go func() {
		defer close(p.done)
		_ = p.cmd.Wait()
	}()
	return nil
}

// PID is the process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Name is the name it was started under.
func (p *Process) Name() string { return p.name }

// Exited reports whether the process has ended.
func (p *Process) Exited() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// Output is the last of what the process wrote.
func (p *Process) Output() string { return p.out.String() }

// Stop kills the process and all that descend from it, and waits for its end.
func (p *Process) Stop() {
	if !p.Exited() {
		for _, pid := range Family(p.PID()) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	<-p.done
}

// tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex
	text []byte
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, b...)
	if over := len(t.text) - keepOutput; over > 0 {
		t.text = append(t.text[:0], t.text[over:]...)
	}
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(string(t.text))
}
