package pump

import (
	"github.com/pointsman/pointsman/statesvc/kvevents/zmqsub"
)

// Reasons for no trust besides those of a stream.
const (
	reasonNoSource = "no_source"        // the engine names no socket, or was not asked yet
	reasonClaimed  = "endpoint_claimed" // another engine has the socket
)

// Distrusts names every reason why a rank may not be trusted fully.
func Distrusts() []string {
	return append(zmqsub.Distrusts(), reasonNoSource, reasonClaimed)
}

// Engine is one engine as the pump follows it.
type Engine struct {
	Worker string
	// Error says why its sockets are not known, empty when they are or need not be.
	Error   string
	Streams []Stream // of KV events, by rank
	Feeds   []Feed   // of load reports, by rank
	Load    LoadCounts
}

// Stream is one rank's KV events.
type Stream struct {
	Rank     uint32
	Endpoint string
	Replay   string // empty when there is none
	Topic    string
	Trust    zmqsub.Trust
	Reason   string // why trust is not full, "none" when it is
	Status   zmqsub.Status
	Events   EventCounts
}

// Feed is one rank's load reports.
type Feed struct {
	Rank     uint32
	Endpoint string
	Status   zmqsub.Status
}

// Engines lists the engines of the fleet by ID.
func (p *Pump) Engines() []Engine {
	list := []Engine{}
	for _, f := range p.followers() {
		list = append(list, f.status())
	}
	return list
}

func (f *follower) status() Engine {
	f.mu.Lock()
	defer f.mu.Unlock()
	e := Engine{Worker: f.id, Error: f.err, Load: f.loads.loadCounts(), Streams: []Stream{}, Feeds: []Feed{}}
	for _, r := range f.ranks {
		e.Streams = append(e.Streams, r.status())
	}
	for _, l := range f.feeds {
		e.Feeds = append(e.Feeds, Feed{Rank: l.target.rank, Endpoint: l.target.endpoint, Status: l.feed.Status()})
	}
	return e
}

func (r *rank) status() Stream {
	s := Stream{Rank: r.owner.Rank, Endpoint: r.target.endpoint, Replay: r.target.replay, Topic: r.target.topic, Events: r.eventCounts()}
	s.Trust, s.Reason = r.trust()
	if stream := r.stream.Load(); stream != nil {
		s.Status = stream.Status()
	}
	return s
}

func (r *rank) trust() (zmqsub.Trust, string) {
	stream := r.stream.Load()
	if stream == nil {
		return zmqsub.TrustNone, reasonClaimed
	}
	reason := stream.Reason()
	return reason.Trust(), reason.String()
}

// trust is that of the least trusted rank.
func (f *follower) trust() (least zmqsub.Trust, why string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	least, why = zmqsub.TrustNone, reasonNoSource
	for i, r := range f.ranks {
		if t, reason := r.trust(); i == 0 || t < least {
			least, why = t, reason
		}
	}
	return least, why
}
