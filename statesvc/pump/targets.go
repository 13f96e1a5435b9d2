package pump

import (
	"net"
	"net/netip"
	"strconv"

	"github.com/pointsman/pointsman/statesvc/config"
	"github.com/pointsman/pointsman/statesvc/engineapi"
)

// target is one rank's socket to follow.
type target struct {
	rank     uint32
	endpoint string
	replay   string
	topic    string
	strength strength
}

// targets are the sockets of an engine.
type targets struct {
	events, load []target
}

// configured are the sockets that the configuration names.
func configured(k *config.WorkerKV) targets {
	var out targets
	for rank := range k.RankCount() {
		if k.Events != "" {
			out.events = append(out.events, target{
				rank: uint32(rank), endpoint: atRank(k.Events, rank), replay: atRank(k.Replay, rank), topic: k.Topic, strength: strengthConfig,
			})
		}
		if k.Load != "" {
			out.load = append(out.load, target{rank: uint32(rank), endpoint: atRank(k.Load, rank), topic: k.LoadTopic, strength: strengthConfig})
		}
	}
	return out
}

// atRank adds a rank to the port of an endpoint that was checked before.
func atRank(endpoint string, rank int) string {
	if endpoint == "" {
		return ""
	}
	host, port, err := config.SplitEndpoint(endpoint)
	if err != nil {
		return endpoint
	}
	return "tcp://" + net.JoinHostPort(host, strconv.Itoa(port+rank))
}

// told are the sockets that an engine at an address names.
func told(s *engineapi.Sources, own netip.Addr) targets {
	var out targets
	for _, list := range []struct {
		from []engineapi.Source
		to   *[]target
	}{{s.Events, &out.events}, {s.Load, &out.load}} {
		for _, src := range list.from {
			t := target{
				rank: uint32(src.Rank), endpoint: src.Endpoint(own.String()), replay: src.ReplayEndpoint(own.String()), topic: src.Topic,
			}
			if src.Host == "" || src.Host == own.String() {
				t.strength = strengthOwn
			}
			*list.to = append(*list.to, t)
		}
	}
	return out
}
