// Command wasmbuild makes filter.wasm: it builds the filter with a runtime that
// never polls, drops the exports that would cost a call per streamed chunk,
// writes the version into the module, and refuses a result that an Envoy could
// not load.
//
//	go run ./cmd/wasmbuild -o dist/filter.wasm -version v0.1.0 -commit abc1234
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, stdout, stderr io.Writer) int {
	b := build{goTool: "go", stderr: stderr}
	flags := flag.NewFlagSet("wasmbuild", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&b.output, "o", "dist/filter.wasm", "the module to write")
	flags.StringVar(&b.pkg, "pkg", "./wasmfilter", "the package to build")
	flags.StringVar(&b.version, "version", "dev", "release to write into the module")
	flags.StringVar(&b.commit, "commit", "unknown", "source revision to write into the module")
	flags.BoolVar(&b.plainRuntime, "plain-runtime", false, "keep Go's own poller: for showing what it does to a host")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if flags.NArg() > 0 {
		fmt.Fprintf(stderr, "wasmbuild: unexpected argument %q\n", flags.Arg(0))
		return 2
	}
	summary, err := b.run()
	if err != nil {
		fmt.Fprintf(stderr, "wasmbuild: %v\n", err)
		return 1
	}
	fmt.Fprintln(stdout, summary)
	return 0
}
