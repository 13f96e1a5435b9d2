// Command release builds everything a release consists of into one folder: the
// filter as a file and as an OCI image that Istio and Envoy Gateway pull, the
// state service as an OCI image, the tools for each platform, bills of
// material, and one file of checksums. The same commit and the same Go give the
// same bytes, wherever they are built.
//
//	go run ./cmd/release -o dist/release -version v0.1.0 -commit abc1234
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, stdout, stderr io.Writer) int {
	r := release{goTool: "go", stdout: stdout, stderr: stderr}
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&r.dir, "o", "dist/release", "the folder to write; what it held is replaced")
	flags.StringVar(&r.version, "version", "dev", "name of the release")
	flags.StringVar(&r.commit, "commit", "unknown", "source revision")
	only := flags.Bool("filter-only", false, "leave out the state service and the tools")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if flags.NArg() > 0 {
		fmt.Fprintf(stderr, "release: unexpected argument %q\n", flags.Arg(0))
		return 2
	}
	if !*only {
		r.platforms = platforms()
	}
	if err := r.run(); err != nil {
		fmt.Fprintf(stderr, "release: %v\n", err)
		return 1
	}
	return 0
}
