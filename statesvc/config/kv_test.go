package config_test

import (
	"testing"

	"github.com/pointsman/pointsman/statesvc/config"
	"github.com/stretchr/testify/require"
)

func TestParse_kvProblems(t *testing.T) {
	for name, c := range map[string]struct{ kv, worker, says string }{
		"misplaced":       {"{block_size: 16}", "{}", "kv.block_size: unknown key"},
		"mistyped":        {"{budget: 1}", "{}", "kv.budget: unknown key; did you mean budget_bytes?"},
		"small budget":    {"{budget_bytes: 5}", "{}", "kv.budget_bytes: 5 is out of range; write 1048576 to"},
		"times crossed":   {"{replay_total_ms: 100}", "{}", "kv.replay_total_ms: 100 is below"},
		"pending":         {"{pending_ms: 2000}", "{}", "kv.pending_ms: unknown key"},
		"no scheme":       {"{}", "{events: '127.0.0.1:5557'}", "fleet.static[0].kv.events"},
		"wildcard":        {"{}", "{events: 'tcp://*:5557'}", "write the host to connect to"},
		"no port":         {"{}", "{events: 'tcp://h'}", `has no port from 1 to 65535; write tcp://h:5557`},
		"path":            {"{}", "{load: 'tcp://h:1/x'}", "fleet.static[0].kv.load"},
		"ranks":           {"{}", "{events: 'tcp://h:1', ranks: 65}", "fleet.static[0].kv.ranks: 65 is out of range"},
		"no ranks":        {"{}", "{events: 'tcp://h:1', ranks: 0}", "fleet.static[0].kv.ranks: 0 is out of range"},
		"ports at end":    {"{}", "{events: 'tcp://h:65535', ranks: 2}", "rank 1 would have port 65536; write a port up to 65534"},
		"ranks collide":   {"{}", "{events: 'tcp://h:5557', replay: 'tcp://h:5558', ranks: 2}", "also that of fleet.static[0].kv.events; write ports at least 2 apart"},
		"replay alone":    {"{}", "{replay: 'tcp://h:1'}", "kv.replay: goes with events"},
		"load topic":      {"{}", "{load_topic: x}", "kv.load_topic: goes with load"},
		"ranks alone":     {"{}", "{ranks: 2}", "kv.ranks: goes with events or load"},
		"off and named":   {"{}", "{disabled: true, events: 'tcp://h:1'}", "kv.disabled: true, yet sockets are named"},
		"another's":       {"{}", "{events: 'tcp://h:7000'}", "fleet.static[1].kv.events: port 7000 of h"},
		"list for a text": {"{}", "{events: [1]}", "fleet.static[0].kv.events: want a text"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := config.Parse([]byte("version: 1\nkv: "+c.kv+`
fleet:
  static:
    - {address: 127.0.0.1:1, kv: `+c.worker+`}
    - {address: 127.0.0.1:2, kv: {events: "tcp://h:7000"}}
`), func(string) string { return "" })
			require.ErrorContains(t, err, c.says)
		})
	}
}

func TestParse_kvOfAWorker(t *testing.T) {
	cfg, err := config.Parse([]byte(`version: 1
kv: {enabled: false}
fleet:
  static:
    - address: 127.0.0.1:1
      kv: {events: "tcp://h:7000", replay: "tcp://h:7100", topic: kv, ranks: 3, load: "tcp://[::1]:7200"}
    - {address: 127.0.0.1:2, kv: {disabled: true}}
`), func(string) string { return "" })
	require.NoError(t, err)
	require.False(t, cfg.KV.Enabled)
	require.EqualValues(t, 1<<30, cfg.KV.BudgetBytes)
	require.Equal(t, 3, cfg.Fleet.Static[0].KV.RankCount())
	require.True(t, cfg.Fleet.Static[0].KV.Told())
	require.Equal(t, 1, cfg.Fleet.Static[1].KV.RankCount())
	require.False(t, cfg.Fleet.Static[1].KV.Told())
}
