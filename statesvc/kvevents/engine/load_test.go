package engine_test

import (
	"path/filepath"
	"testing"

	"github.com/pointsman/pointsman/statesvc/kvevents/engine"
	"github.com/stretchr/testify/require"
)

func TestDecodeLoad_recorded(t *testing.T) {
	dir := filepath.Join(recordings, "sglang-0.5.23/radix")
	stream, decoded := messages(t, filepath.Join(dir, "load.frames.jsonl")), views(t, filepath.Join(dir, "load.decoded.jsonl"))
	require.Len(t, stream, 4)
	for i, m := range stream {
		live, err := engine.Live(m.Raw())
		require.NoError(t, err)
		require.Equal(t, "load", string(live.Topic))
		got, err := engine.DecodeLoad(live.Payload)
		require.NoError(t, err)
		at := func(j int) uint64 { return uint64(uint32Of(t, decoded[i]["payload"].([]any)[j])) }
		require.Equal(t, engine.LoadStat{
			Running: at(1), Waiting: at(2), KVUsed: at(3), KVCapacity: at(4), Rank: uint32(at(5)), RankKnown: true, HasNative: true,
			Native: engine.NativeLoad{
				WaitingUncached: at(6), KVTotal: at(7), MaxRunning: at(8), PrefillTokens: at(9), PrefillMicros: at(10),
			},
		}, got)
	}
}

// report is a load report with a tag and the values given.
func report(values ...[]byte) []byte { return arr(append([][]byte{str("LoadStat")}, values...)...) }

func TestDecodeLoad(t *testing.T) {
	n := num
	basic := engine.LoadStat{Running: 1, Waiting: 2, KVUsed: 3, KVCapacity: 4}
	ranked := basic
	ranked.Rank, ranked.RankKnown = 5, true
	native := ranked
	native.HasNative, native.Native = true, engine.NativeLoad{WaitingUncached: 6, KVTotal: 7, MaxRunning: 8, PrefillTokens: 9, PrefillMicros: 10}
	all := [][]byte{n(1), n(2), n(3), n(4), n(5), n(6), n(7), n(8), n(9), n(10)}
	full := func(i int, v []byte) []byte {
		changed := append([][]byte(nil), all...)
		changed[i-1] = v
		return report(changed...)
	}
	for what, c := range map[string]struct {
		payload []byte
		want    engine.LoadStat
		reason  engine.Reason
	}{
		"native":               {report(all...), native, 0},
		"more":                 {report(append(all[:10:10], str("x"), nested(100_000))...), native, 0},
		"basic":                {report(all[:4]...), basic, 0},
		"basic with rank":      {report(all[:5]...), ranked, 0},
		"basic, rank nil":      {report(append(all[:4:4], null())...), basic, 0},
		"basic, rank a string": {report(append(all[:4:4], str("x"))...), basic, 0},
		"native all nil":       {report(append(all[:5:5], null(), null(), null(), null(), null())...), ranked, 0},
		"other widths":         {report(unsigned(1), raw(0xcc, 2), raw(0xd3, 0, 0, 0, 0, 0, 0, 0, 3), raw(4)), basic, 0},

		"nothing":         {nil, engine.LoadStat{}, engine.ReasonNotMsgpack},
		"cut":             {report(all...)[:14], engine.LoadStat{}, engine.ReasonNotMsgpack},
		"a batch":         {batchBytes(removed()), engine.LoadStat{}, engine.ReasonNotLoad},
		"a map":           {obj(), engine.LoadStat{}, engine.ReasonNotLoad},
		"empty":           {arr(), engine.LoadStat{}, engine.ReasonNotLoad},
		"other tag":       {arr(str("LoadStats"), n(1), n(2), n(3), n(4)), engine.LoadStat{}, engine.ReasonNotLoad},
		"no tag":          {arr(all...), engine.LoadStat{}, engine.ReasonNotLoad},
		"tag only":        {report(), engine.LoadStat{}, engine.ReasonShortLoad},
		"three counts":    {report(all[:3]...), engine.LoadStat{}, engine.ReasonShortLoad},
		"count nil":       {full(3, null()), engine.LoadStat{}, engine.ReasonShortLoad},
		"count negative":  {full(1, n(-1)), engine.LoadStat{}, engine.ReasonNotLoad},
		"count a float":   {full(2, float(2)), engine.LoadStat{}, engine.ReasonNotLoad},
		"count a string":  {full(4, str("4")), engine.LoadStat{}, engine.ReasonNotLoad},
		"native a string": {full(6, str("6")), engine.LoadStat{}, engine.ReasonNotLoad},
		"native negative": {full(10, n(-1)), engine.LoadStat{}, engine.ReasonNotLoad},
		"one native":      {report(all[:6]...), engine.LoadStat{}, engine.ReasonPartialLoad},
		"four native":     {report(all[:9]...), engine.LoadStat{}, engine.ReasonPartialLoad},
		"one native nil":  {full(8, null()), engine.LoadStat{}, engine.ReasonPartialLoad},
		"bytes after it":  {append(report(all...), 0), engine.LoadStat{}, engine.ReasonNotLoad},
	} {
		t.Run(what, func(t *testing.T) {
			got, err := engine.DecodeLoad(c.payload)
			require.Equal(t, c.want, got)
			if c.reason == 0 {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, &engine.Error{Reason: c.reason})
		})
	}
}
