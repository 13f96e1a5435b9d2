package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/require"

	"github.com/pointsman/pointsman/hostsim/render/kubernetes"
)

const repository = "../../.."

// examples are the command lines of a help text: those below "Examples:", without what
// is said of them in a second column.
func examples(help string) (lines []string) {
	_, below, ok := strings.Cut(help, "Example")
	if !ok {
		return nil
	}
	remark := regexp.MustCompile(`   +\S.*$`)
	for line := range strings.SplitSeq(strings.ReplaceAll(below, "\\\n    ", ""), "\n") {
		if command, ok := strings.CutPrefix(line, "  "); ok {
			lines = append(lines, remark.ReplaceAllString(command, ""))
		}
	}
	return lines
}

// helps are the help texts of the tool and of its commands by their names.
func helps(t *testing.T) map[string]string {
	t.Helper()
	parser, err := kong.New(&cli{}, kong.Vars{"version": version})
	require.NoError(t, err)
	all := map[string]string{"hostsim": description}
	var walk func(*kong.Node)
	walk = func(n *kong.Node) {
		for _, child := range n.Children {
			all[child.FullPath()] = child.Detail
			walk(child)
		}
	}
	walk(parser.Model.Node)
	return all
}

// Whatever a help shows works as it stands, where the files are there that it names.
func TestHelp_examplesWork(t *testing.T) {
	programs := built(t)
	for name, help := range helps(t) {
		lines := examples(help)
		require.NotEmpty(t, lines, "%s shows no example", name)
		for _, line := range lines {
			t.Run(line, func(t *testing.T) {
				switch command, _ := strings.CutPrefix(line, "hostsim "); {
				case strings.HasPrefix(command, "serve"), strings.HasPrefix(command, "simulate"):
					requireParses(t, strings.Fields(command))
				default:
					requireRuns(t, programs, line)
				}
			})
		}
	}
}

// The page of the shipped configurations says how to start from them.
func TestConfigs_commandsWork(t *testing.T) {
	page, err := os.ReadFile(repository + "/configs/README.md")
	require.NoError(t, err)
	programs := built(t)
	commands := regexp.MustCompile("`(bin/[^`]+)`").FindAllStringSubmatch(string(page), -1)
	require.GreaterOrEqual(t, len(commands), 6)
	for _, c := range commands {
		t.Run(c[1], func(t *testing.T) { requireRuns(t, programs, c[1]) })
	}
}

// requireParses is for commands that serve until they are stopped or take minutes.
func requireParses(t *testing.T, args []string) {
	t.Helper()
	var c cli
	parser, err := kong.New(&c, kong.Vars{"version": version})
	require.NoError(t, err)
	_, err = parser.Parse(args)
	require.NoError(t, err)
	if args[0] == "simulate" {
		require.NoError(t, c.Simulate.check())
		for _, policy := range c.Simulate.Policy {
			_, err := policyConfig(policy)
			require.NoError(t, err)
		}
	}
}

// requireRuns runs a command line in a shell, in a folder of its own.
func requireRuns(t *testing.T, programs, line string) {
	t.Helper()
	folder := t.TempDir()
	furnish(t, folder)
	require.NoError(t, os.Symlink(programs, filepath.Join(folder, "bin")))
	cmd := exec.CommandContext(t.Context(), "bash", "-o", "pipefail", "-ec", line)
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), "PATH="+programs+":"+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// built is a folder with the tools, and with what examples pipe from and into that
// would need a proxy or a cluster.
func built(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", folder, "./hostsim/cmd/hostsim", "./statesvc/cmd/statesvc")
	cmd.Dir = repository
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	for name, script := range map[string]string{"curl": "cat envoy.yaml", "jq": "cat > /dev/null", "kubectl": "cat > /dev/null"} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte("#!/bin/sh\n"+script+"\n"), 0o700))
	}
	return folder
}

// furnish puts the files into a folder that examples name.
func furnish(t *testing.T, folder string) {
	t.Helper()
	for _, name := range []string{"configs", "e2e"} {
		path, err := filepath.Abs(filepath.Join(repository, name))
		require.NoError(t, err)
		require.NoError(t, os.Symlink(path, filepath.Join(folder, name)))
	}
	for _, name := range []string{"dist", "manifests"} {
		require.NoError(t, os.Mkdir(filepath.Join(folder, name), 0o700))
	}
	for name, source := range map[string]string{
		"filter.json": demoConfig, "envoy.yaml": goodBootstrap, "bootstrap.yaml": goodBootstrap,
		"dist/filter.wasm": filter.Module(t), "manifests/istio.yaml": "../../../configs/istio/full-mode.yaml",
		"buckets.json": "../../convert/testdata/legacy-plain.json",
	} {
		text, err := os.ReadFile(source)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), text, 0o600))
	}
	for name, text := range map[string]string{
		"statesvc.yaml": string(kubernetes.DefaultStatesvc("pointsman").Text),
		"my.story":      smallStory,
	} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
}
