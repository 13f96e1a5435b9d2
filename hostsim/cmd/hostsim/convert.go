package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/pointsman/pointsman/hostsim/convert"
)

type convertCmd struct {
	Pair  []string `help:"Entries of --bucket-config that are one prefill/decode pair; repeat for each." placeholder:"PREFILL_ID=DECODE_ID" sep:"none"`
	Flags bool     `help:"List the flags of sgl-router and what becomes of each, and exit."`
	Args  []string `arg:"" optional:"" name:"sgl-router-flags" help:"After --: the flags, as sgl-router takes them."`
}

// Help says where output goes, with examples.
func (convertCmd) Help() string {
	return `The configuration goes to stdout, notes on what to do by hand to stderr. Exit code 1 means that something cannot be
honoured: every refusal is a line on stderr with its flag, the reason and what to use instead, and nothing is printed
to stdout. Exit code 2 means that the flags cannot be read.

Examples:
  hostsim convert -- --model-id demo --worker-urls http://10.0.0.7:8000 http://10.0.0.8:8000
  hostsim convert -- --model-id demo --service-discovery --selector app=engine --policy load_based --filter overloaded --max-in-flight 64
  hostsim convert -- --model-id demo --service-discovery --bucket-config buckets.json
  hostsim convert --flags`
}

// Run converts a command line.
func (c *convertCmd) Run(con console) error {
	if c.Flags {
		_, err := fmt.Fprint(con.out, convert.Table())
		return err
	}
	options := convert.Options{ReadFile: os.ReadFile}
	for _, p := range c.Pair {
		prefill, decode, ok := strings.Cut(p, "=")
		if !ok || prefill == "" || decode == "" {
			return usageError{fmt.Errorf("--pair %s: write --pair PREFILL_ID=DECODE_ID", p)}
		}
		options.Pairs = append(options.Pairs, convert.Pair{Prefill: prefill, Decode: decode})
	}
	if slices.Contains(c.Args, "--help") || slices.Contains(c.Args, "-h") {
		_, err := fmt.Fprintf(con.out, "Usage: hostsim convert [flags] -- <sgl-router flags>\n\n%s\n\nThe flags of sgl-router:\n\n%s", c.Help(), convert.Table())
		return err
	}
	if len(c.Args) == 0 {
		return usageError{errors.New("no flags to convert: write them after --, as in hostsim convert -- --model-id demo --worker-urls http://10.0.0.7:8000")}
	}
	result, err := convert.Convert(c.Args, options)
	if err != nil {
		return usageError{err}
	}
	for _, n := range result.Notes {
		fmt.Fprintf(con.err, "note: %s\n", n)
	}
	if len(result.Refusals) == 0 {
		_, err = con.out.Write(result.Config)
		return err
	}
	for _, r := range result.Refusals {
		fmt.Fprintf(con.err, "refused: %s\n", r)
	}
	return fmt.Errorf("not converted, refusals: %d", len(result.Refusals))
}
