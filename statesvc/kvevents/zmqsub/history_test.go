package zmqsub_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/pointsman/pointsman/statesvc/kvevents/zmqsub"
	"github.com/pointsman/pointsman/statesvc/kvevents/zmqtest"
)

// Whatever happens to a publisher, as long as it answers replays in the end, the sink has
// exactly what its last process published, and the stream is trusted.
func TestStream_randomHistories(t *testing.T) {
	for seed := range uint64(25) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(seed, 1))
			r := &rig{T: t, pub: zmqtest.Start(t, "kv-events"), sink: &sink{}}
			if random.IntN(2) == 0 {
				r.publish(r.some(random)...)
			}
			r.open(true, func(o *zmqsub.Options) { o.Limits.QueueMessages = 1 + random.IntN(50) })
			for range 30 {
				r.befall(random)
			}
			r.pub.SetReplays(zmqtest.Replays{NoTopic: random.IntN(2) == 0})
			r.holds(zmqsub.ReasonNone)
		})
	}
}

// some are a few texts that no other batch of the test has.
func (r *rig) some(random *rand.Rand) []string {
	list := make([]string, 1+random.IntN(20))
	for i := range list {
		list[i] = fmt.Sprintf("batch %x", random.Uint64())
	}
	return list
}

func (r *rig) befall(random *rand.Rand) {
	switch random.IntN(12) {
	case 0, 1, 2, 3:
		r.publish(r.some(random)...)
	case 4, 5:
		r.lose(r.some(random)...)
	case 6:
		r.pub.Cut()
	case 7:
		r.pub.Kill()
		r.sent = nil
		time.Sleep(time.Duration(random.IntN(20)) * time.Millisecond)
		r.pub.Restart()
	case 8:
		for i, text := range r.sent[max(len(r.sent)-10, 0):] {
			r.pub.SendAs(int64(max(len(r.sent)-10, 0)+i), []byte(text))
		}
	case 9:
		r.pub.SetReplays(zmqtest.Replays{Limit: random.IntN(6), Skip: random.IntN(3), NoTopic: random.IntN(2) == 0})
	case 10:
		r.pub.SetReplays(zmqtest.Replays{Delay: time.Duration(random.IntN(3)) * time.Millisecond})
	case 11:
		time.Sleep(time.Duration(random.IntN(50)) * time.Millisecond)
	}
}
