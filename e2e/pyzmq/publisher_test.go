package pyzmq_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// publisher is an engine's sockets in a Python process.
type publisher struct {
	t           *testing.T
	arguments   []string
	cmd         *exec.Cmd
	in          io.WriteCloser
	out         *bufio.Reader
	events      int
	replays     int
	generations int
}

// answer is what the process says to a command.
type answer struct {
	Ports []int
	Next  int
	Paths []path
}

// path is a prompt that was cached once, and how much of it still is.
type path struct {
	Tokens []uint32
	Depth  int
}

// python is the interpreter with pyzmq, which make pyzmq installs.
func python(t *testing.T) string {
	t.Helper()
	file, err := filepath.Abs("../../.venv-pyzmq/bin/python")
	require.NoError(t, err)
	require.FileExists(t, file, "run make pyzmq")
	return file
}

// publish starts a publisher; it ends with the test.
func publish(t *testing.T, arguments ...string) *publisher {
	t.Helper()
	p := &publisher{t: t, arguments: arguments}
	p.start()
	t.Cleanup(p.kill)
	return p
}

// start starts a process, at the ports of the one before.
func (p *publisher) start() {
	p.t.Helper()
	p.generations++
	arguments := append([]string{
		"testdata/publisher.py", fmt.Sprintf("--port=%d", p.events), fmt.Sprintf("--replay-port=%d", p.replays), fmt.Sprintf("--seed=%d", p.generations),
	}, p.arguments...)
	p.cmd = exec.Command(python(p.t), arguments...)
	p.cmd.Stderr = os.Stderr
	var err error
	p.in, err = p.cmd.StdinPipe()
	require.NoError(p.t, err)
	out, err := p.cmd.StdoutPipe()
	require.NoError(p.t, err)
	p.out = bufio.NewReader(out)
	require.NoError(p.t, p.cmd.Start())
	a := p.read()
	p.events, p.replays = a.Ports[0], a.Ports[1]
}

// kill ends the process without a word to anybody.
func (p *publisher) kill() {
	if p.cmd == nil {
		return
	}
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
	p.cmd = nil
}

func (p *publisher) read() (a answer) {
	p.t.Helper()
	line, err := p.out.ReadBytes('\n')
	require.NoError(p.t, err, "the publisher ended")
	require.NoError(p.t, json.Unmarshal(line, &a))
	return a
}

// do gives a command and returns what it did.
func (p *publisher) do(format string, args ...any) answer {
	p.t.Helper()
	_, err := fmt.Fprintf(p.in, format+"\n", args...)
	require.NoError(p.t, err)
	return p.read()
}

func (p *publisher) steps(n int) { p.do(`{"do":"steps","n":%d}`, n) }
func (p *publisher) lose(n int)  { p.do(`{"do":"steps","n":%d,"lose":true}`, n) }
func (p *publisher) how(as string) {
	p.do(`{"do":"replays","how":%s}`, as)
}

func (p *publisher) endpoint() string { return fmt.Sprintf("tcp://127.0.0.1:%d", p.events) }
func (p *publisher) replay() string   { return fmt.Sprintf("tcp://127.0.0.1:%d", p.replays) }
