package kvreplay_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/pointsman/pointsman/statesvc/kvreplay"
	"github.com/stretchr/testify/require"
)

// message is a line with a batch of no events, or of one clear.
func message(seq int64, clears int) string {
	payload := "93cb3ff0000000000000" + "90" + "00"
	if clears > 0 {
		payload = "93cb3ff0000000000000" + "91" + "81a474797065b0416c6c426c6f636b73436c6561726564" + "00"
	}
	return fmt.Sprintf(`{"port":1,"frames":["","%016x","%s"]}`+"\n", uint64(seq), payload)
}

func notes(o *outcome) (list []string) {
	for _, b := range o.batches {
		list = append(list, b.Note)
	}
	return list
}

func TestRun_saysWhatTheSequenceSays(t *testing.T) {
	o := replay(strings.NewReader(message(3, 0)+message(4, 0)+message(4, 0)+message(4, 1)+message(7, 0)+message(0, 0)+message(-1, 0)+message(0, 0)), nil)
	require.NoError(t, o.err)
	require.Equal(t, []string{
		"the first 3 batches are not in the recording",
		"",
		"the same batch again, not applied",
		"sequence back from 4: the publisher restarted, its blocks are gone",
		"2 batches are missing before it",
		"sequence back from 7: the publisher restarted, its blocks are gone",
		"sequence -1: the stream begins anew",
		"",
	}, notes(o))
	require.EqualValues(t, 5, o.Missing)
	require.Equal(t, 3, o.Restarts)
	require.Equal(t, 1, o.Repeats)
	require.True(t, o.Good(), "a hole is no failure to decode")
}

func TestRun_badMessagesAreCountedAndTheRestApplied(t *testing.T) {
	o := replay(strings.NewReader(message(0, 0)+
		`{"port":1,"frames":["00"]}`+"\n"+
		`{"port":1,"frames":["","00","90"]}`+"\n"+
		`{"port":1,"frames":["","0000000000000001","c1"]}`+"\n"+
		`{"port":1,"frames":["6c6f6164","0000000000000001","91a84c6f616453746174"]}`+"\n"+
		`{"port":1,"frames":["","0000000000000001","93cb3ff0000000000000918000"]}`+"\n"), nil)
	require.NoError(t, o.err)
	require.False(t, o.Good())
	require.Equal(t, 4, o.DecodeFailures)
	require.Equal(t, 1, o.DroppedEvents)
	var reasons []string
	for _, f := range o.failures {
		reasons = append(reasons, fmt.Sprint(f.Message, f.Reason))
	}
	require.Equal(t, []string{"2frame_count", "3sequence_frame", "4not_msgpack", "5short_load_report"}, reasons)
	require.EqualValues(t, 1, o.batches[1].Dropped.Malformed)
}

func TestRun_wrongFilesAreToldApart(t *testing.T) {
	good := message(0, 0)
	oneCase := func(before int) string {
		return fmt.Sprintf(`{"name":"c%d","port":1,"batches_seen_before":%d,"prompt_token_ids":[1],"engine_cached_tokens":0}`+"\n", before, before)
	}
	for name, c := range map[string]struct{ frames, cases, says string }{
		"empty":             {"", "", "frames: the file has no messages"},
		"not JSON":          {"version: 1\n", "", "frames: recording, line 1"},
		"binary":            {"\x1f\x8b\x08\x00", "", "frames: recording, line 1"},
		"another format":    {`{"topic":"kv","seq":0}`, "", "it has no frames"},
		"a list":            {"[1,2]", "", "frames: recording, line 1"},
		"cut off":           {good + good[:30], "", "frames: recording, line 2"},
		"cases, cut off":    {good, oneCase(0) + oneCase(1)[:20], "cases: recording, line 2"},
		"cases are frames":  {good, good, "cases: recording, line 1: name: missing"},
		"cases out of turn": {good, oneCase(1) + oneCase(0), `"c0" comes after 0 messages`},
		"cases of another":  {good, oneCase(2), "the frames end after 1"},
	} {
		t.Run(name, func(t *testing.T) {
			o := replay(strings.NewReader(c.frames), strings.NewReader(c.cases))
			require.ErrorContains(t, o.err, c.says)
			require.Contains(t, o.Error, c.says)
			require.False(t, o.Good())
			require.IsType(t, &kvreplay.Summary{}, o.last, "what was read is summed up all the same")
		})
	}
}

func TestRun_endsWhenNobodyListens(t *testing.T) {
	closed := errors.New("closed")
	calls := 0
	_, err := kvreplay.Run(strings.NewReader(message(0, 0)+message(1, 0)), nil, func(any) error { calls++; return closed })
	require.ErrorIs(t, err, closed)
	require.Equal(t, 2, calls, "a batch and the summary")
}

// A case of a port that no message came from says so: the usual mistake.
func TestRun_caseOfAStreamThatSaidNothing(t *testing.T) {
	o := replay(strings.NewReader(message(0, 0)), strings.NewReader(`{"name":"c","port":9,"batches_seen_before":1,"prompt_token_ids":[1,2],"engine_cached_tokens":1}`))
	require.NoError(t, o.err)
	require.True(t, o.cases[0].UnknownStream)
	require.Equal(t, 1, o.UnknownStream)
	require.False(t, o.Good())
}
