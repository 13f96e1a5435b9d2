package spec

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pointsman/pointsman/core"
	"github.com/pointsman/pointsman/core/fleet"
)

// grouped is a configuration with one bucket, whose group has further members.
func grouped(top, group string) string {
	return `{"version": 1, "state": {"cluster": "s"}, ` + top + `"models": {"m": {"buckets": [
		{"id": "all", "groups": {"plain": {` + group + `"policy": {"type": "random"}}}}]}}}`
}

func TestWorkerServices(t *testing.T) {
	cfg := everything(t, grouped(`"workers": [
		{"id": "a", "address": "10.0.0.1:1", "models": ["m"], "services": ["prod/chat", "prod/x"]},
		{"id": "b", "address": "10.0.0.2:1", "models": ["m"], "services": ["prod/chat"]},
		{"id": "c", "address": "10.0.0.3:1", "models": ["m"]}], `,
		`"worker_ids": ["a", "c"], "worker_services": ["prod/chat"], `))
	router, err := Build(Defaults(cfg), stateful())
	require.NoError(t, err)
	target, ok := router.Route("m", noAdapters{})
	require.True(t, ok)
	members := target.Resolver.Buckets()[0].EngineGroups()[0].Members()
	known := fleet.New(cfg.BreakerConfig(), cfg.Static())
	var ids []core.WorkerID
	for _, w := range known.Serving("m") {
		if members.Contains(w) {
			ids = append(ids, w.ID)
		}
	}
	require.Equal(t, []core.WorkerID{"a"}, ids)
	require.Empty(t, router.Missing(known))
	require.Equal(t, "groups name workers the fleet does not have: a, c; groups name services that no worker is behind: prod/chat",
		router.Missing(fleet.New(cfg.BreakerConfig(), nil)))
}

type noAdapters struct{}

func (noAdapters) Base(string) (string, bool) { return "", false }

func TestMembership_is_refused(t *testing.T) {
	const worker = `"workers": [{"address": "10.0.0.1:1", "models": ["m"], `
	for _, tc := range []struct{ top, group, want string }{
		{``, `"worker_services": ["prod"], `, `models.m.buckets[0].groups.plain.worker_services[0]: "prod" is not a Kubernetes Service; write namespace/name`},
		{``, `"worker_services": "prod/x", `, `models.m.buckets[0].groups.plain.worker_services: must be a list, is "prod/x"`},
		{worker + `"services": ["prod/x"]}], `, `"worker_services": ["prod/x", "prod/y"], `, `models.m.buckets[0].groups.plain.worker_services[1]: no worker is behind "prod/y"; add it to the services of a worker or correct it`},
		{``, `"worker_services": ["prod/x", "prod/x"], `, `models.m.buckets[0].groups.plain.worker_services[1]: "prod/x" stands twice; keep one`},
		{worker + `"services": ["prod/x", "prod/x"]}], `, `"worker_services": ["prod/x"], `, `workers[0].services[1]: "prod/x" stands twice; keep one`},
		{worker + `"services": ["prod/x", "prod"]}], `, `"worker_services": ["prod/x"], `, `workers[0].services[1]: "prod" is not a Kubernetes Service; write namespace/name`},
		{`"worker_services": [], `, ``, `worker_services: belongs to a group; write it into "plain", "prefill" or "decode"`},
		{`"version_group": "v1", `, ``, `version_group: belongs to a worker; write it into "workers": [{...}], or into the state service's configuration`},
		{worker + `"version_group": "v1"}], `, ``, `workers[0].version_group: has no effect on a plain engine, which pairs with none; leave it out`},
		{worker + `"services": ["prod/x"]}], `, ``, `workers[0].services: has no effect: no group names one of them; leave it out or use "worker_services" in a group`},
	} {
		require.Equal(t, []string{tc.want}, findings(t, grouped(tc.top, tc.group)))
	}
}
