package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/pointsman/pointsman/statesvc/kvreplay"
)

const replayCommand = "kv replay"

// kvArguments are the commands about KV events.
type kvArguments struct {
	Replay replayArguments `cmd:"" help:"Replay recorded frames and say what each message meant."`
}

// replayArguments is what a replay is run with.
type replayArguments struct {
	Frames string `required:"" placeholder:"FILE" help:"Recorded messages of event sockets, one JSON object per line: {\"port\": 5557, \"frames\": [topic, sequence, payload]}, frames in hex."`
	Cases  string `placeholder:"FILE" help:"What the engine found in its cache, one JSON object per line, in the order of batches_seen_before."`
}

// Help is shown below the flags.
func (replayArguments) Help() string {
	return `Prints one JSON object per line: each batch with its events and what its sequence number says, each message that
could not be decoded and why, each case with predicted and true cached tokens, the blocks held by each stream, the counts
of the index, and a summary.

Keys of a case, all required: name; prompt_token_ids; port, that of the engine's frames, 0 where they have none;
batches_seen_before, how many messages of the frames came before it; engine_cached_tokens. Keys that may be left out:
reset_not_yet_announced, true where the engine had emptied its cache and not yet said so; cache_salt and lora_name, where
the request had them; block_size, to be told where the index has another. Other keys are ignored.

Cases that came between an engine's reset and its announcement are marked and counted apart: nobody who follows events
can predict them.

Examples:

  statesvc kv replay --frames frames.jsonl | tail -1

  statesvc kv replay --frames frames.jsonl --cases overlap_cases.jsonl | grep '"equal":false'

Exit codes: 0 everything was decoded and predicted as it was, 1 something was not or a file is not usable, 2 wrong usage.`
}

// run prints the replay. The summary is printed also when a file ends badly.
func (a *replayArguments) run(stdout, stderr io.Writer) int {
	frames, err := openRecording(a.Frames, "frames.jsonl")
	if err != nil {
		return complain(stderr, fmt.Errorf("frames: %w", err), exitBad)
	}
	defer func() { _ = frames.Close() }()
	var cases io.Reader
	if a.Cases != "" {
		file, err := openRecording(a.Cases, "overlap_cases.jsonl")
		if err != nil {
			return complain(stderr, fmt.Errorf("cases: %w", err), exitBad)
		}
		defer func() { _ = file.Close() }()
		cases = file
	}
	out := bufio.NewWriter(stdout)
	lines := json.NewEncoder(out)
	sum, err := kvreplay.Run(frames, cases, func(line any) error { return lines.Encode(line) })
	if err = errors.Join(err, out.Flush()); err != nil {
		return complain(stderr, err, exitBad)
	}
	if !sum.Good() {
		return exitBad
	}
	return exitGood
}

// openRecording opens a file; such names the usual one where a folder is given.
func openRecording(path, such string) (*os.File, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if info, err := file.Stat(); err == nil && info.IsDir() {
		_ = file.Close()
		return nil, fmt.Errorf("%s is a directory; name a file in it, such as %s", path, filepath.Join(path, such))
	}
	return file, nil
}
