package e2e

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/admission"
	"github.com/pointsman/pointsman/core/breaker"
	"github.com/pointsman/pointsman/core/bucket"
	"github.com/pointsman/pointsman/core/fleet"
	"github.com/pointsman/pointsman/core/policy"
	"github.com/pointsman/pointsman/core/wire"
	"github.com/pointsman/pointsman/hostsim/fakes"
	"github.com/stretchr/testify/require"
)

// The version_group of the state service's file reaches the pick: over the real
// service's sync, a prefill engine only pairs with decode engines of its group, and
// services and the engines' own word for aborts arrive as well.
func TestVersionGroup_reaches_the_pairs(t *testing.T) {
	roles := []fakes.Role{fakes.Prefill, fakes.Prefill, fakes.Prefill, fakes.Decode, fakes.Decode, fakes.Decode}
	groups := []string{"v1", "v2", "", "v1", "v2", ""}
	var engines []fakes.Config
	for i, role := range roles {
		engines = append(engines, fakes.Config{Name: fmt.Sprintf("e%d", i), Models: []string{"m"}, Dialect: fakes.SGLang, Role: role})
	}
	started, err := fakes.StartFleet(engines...)
	require.NoError(t, err)
	t.Cleanup(started.StopAll)
	state := newState(t, started)
	for i, group := range groups {
		if group != "" {
			id := fmt.Sprintf("{id: e%d,", i)
			state.file = strings.Replace(state.file, id, id+fmt.Sprintf(" version_group: %s, services: [prod/%s],", group, group), 1)
		}
	}
	state.start()
	members := fleet.New(breaker.Config{}, nil)
	context := wire.SyncRequest{Context: 1}
	require.Eventually(t, func() bool {
		state.sync(&context, members)
		return len(members.Serving("m")) == len(roles) && members.Available(members.Serving("m")[5], 0)
	}, 15*time.Second, 20*time.Millisecond)

	choose := func() bucket.Group {
		p, err := policy.NewRandom(admission.Limits{}, members)
		require.NoError(t, err)
		return bucket.Group{Policy: p}
	}
	b, err := bucket.New(bucket.Spec{ID: "pd", Groups: bucket.PD(choose(), choose())})
	require.NoError(t, err)
	pairs := map[string]int{}
	for i := range 300 {
		picked, err := b.Pick(members, &core.BucketRequest{Model: "m", Input: 1, Rand: rand.New(rand.NewPCG(1, uint64(i)))})
		require.NoError(t, err)
		prefill, _ := picked.Pick(core.StagePrefill)
		decode, _ := picked.Pick(core.StageDecode)
		require.Equal(t, prefill.Worker.Version, decode.Worker.Version)
		pairs[prefill.Worker.Version]++
	}
	require.Len(t, pairs, 3, "every group is used: %v", pairs)
	for _, w := range members.Serving("m") {
		require.True(t, w.Aborts, "SGLang says so of itself")
		require.Equal(t, w.Version == "", len(w.Services) == 0)
	}
}

// sync is one sync of a context, as filters do it.
func (s *stateService) sync(request *wire.SyncRequest, members *fleet.Fleet) {
	s.t.Helper()
	request.Seq++
	request.Replica, request.Version = members.Snapshot()
	resp, err := http.Post("http://"+s.addr+wire.SyncPath, wire.ContentType, bytes.NewReader(wire.AppendSyncRequest(nil, request)))
	require.NoError(s.t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(s.t, err)
	if resp.StatusCode != http.StatusOK {
		return // it has not asked its engines yet
	}
	reply, err := wire.DecodeSyncReply(body)
	require.NoError(s.t, err)
	require.NoError(s.t, members.Apply(reply, 0))
}
