package core_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pointsman/pointsman/core"
)

func TestErrors_classes_stage_and_text(t *testing.T) {
	d1 := core.Rejection{Worker: "d1", Limit: "max_kv_tokens", Value: 9, Cap: 8}
	d2 := core.Rejection{Worker: "d2", Limit: "max_running_requests", Value: 64, Cap: 64}
	tests := []struct {
		err        error
		class      error
		advance    bool
		stage      core.Stage
		rejections []core.Rejection
		text       string
	}{
		{
			err: &core.NoCandidatesError{Bucket: "short", Stage: core.StagePrefill}, class: core.ErrUnavailable, advance: true,
			stage: core.StagePrefill, text: `bucket "short": prefill: no candidates`,
		},
		{
			err: &core.AdmissionError{Bucket: "short", Stage: core.StageDecode, Rejection: d1}, class: core.ErrRejected, advance: true,
			stage: core.StageDecode, rejections: []core.Rejection{d1},
			text: `bucket "short": decode: rejected d1: max_kv_tokens 9 of 8`,
		},
		{
			err:   &core.NoAdmissibleError{Bucket: "short", Stage: core.StagePlain, Rejections: []core.Rejection{d1, d2}},
			class: core.ErrRejected, advance: true, stage: core.StagePlain, rejections: []core.Rejection{d1, d2},
			text: `bucket "short": plain: no admissible engine of 2 [d1: max_kv_tokens 9 of 8 d2: max_running_requests 64 of 64]`,
		},
		{err: &core.InvalidSignalError{Detail: "peak below input"}, class: core.ErrInvalid, text: "invalid signal: peak below input"},
		{err: &core.ConfigError{Detail: "no buckets"}, class: core.ErrInvalid, text: "invalid configuration: no buckets"},
		{err: core.ErrOutsideCandidates, class: core.ErrOutsideCandidates, text: "policy picked an engine outside its candidates"},
		{err: errors.New("anything else"), text: "anything else"},
	}
	classes := []error{core.ErrUnavailable, core.ErrRejected, core.ErrInvalid, core.ErrOutsideCandidates}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			require.EqualError(t, tt.err, tt.text)
			for _, err := range []error{tt.err, fmt.Errorf("request 7: %w", tt.err)} {
				for _, class := range classes {
					require.Equal(t, errors.Is(class, tt.class), errors.Is(err, class), "%v", class)
				}
				require.Equal(t, tt.advance, core.Advance(err))
				require.Equal(t, tt.stage, core.StageOf(err))
				require.Equal(t, tt.rejections, core.Rejections(err))
			}
		})
	}
}

func TestAdvance_nothing_failed(t *testing.T) {
	require.False(t, core.Advance(nil))
	require.Equal(t, core.StageNone, core.StageOf(nil))
	require.Empty(t, core.Rejections(nil))
}
