package claims_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/pointsman/pointsman/statesvc/config"
	"github.com/pointsman/pointsman/statesvc/fleet/claims"
	"github.com/stretchr/testify/require"
)

func claim(ip string, change func(*claims.Claim)) claims.Claim {
	c := claims.Claim{Worker: config.Worker{Endpoint: config.Addressed(ip, 8000)}}
	if change != nil {
		change(&c)
	}
	return c
}

func named(ip, id string) claims.Claim {
	return claim(ip, func(c *claims.Claim) { c.Worker.ID = id })
}

func TestBook_oneAddressIsOneWorker(t *testing.T) {
	var b claims.Book
	b.Say(claims.DNS, []claims.Claim{claim("10.0.0.1", func(c *claims.Claim) {
		c.Worker.Models, c.Worker.Role, c.Worker.Services = []string{"dns"}, "decode", []string{"p/a", "p/b"}
	})})
	b.Say(claims.Kubernetes, []claims.Claim{claim("10.0.0.1", func(c *claims.Claim) {
		c.Worker.ID, c.Incarnation, c.Unready, c.Worker.Draining = "p/uid", "uid", true, true
		c.Worker.VersionGroup, c.Worker.Services = "v7", []string{"p/a"}
	})})
	b.Say(claims.Static, []claims.Claim{claim("10.0.0.1", func(c *claims.Claim) {
		c.Worker.ID, c.Worker.Models = "e1", []string{"own"}
	}), named("10.0.0.2", "e2")})
	b.Order([]string{"e1", "gone"})
	list, conflicts := b.Merge()
	require.Empty(t, conflicts)
	require.Len(t, list, 2)
	w := list[0]
	require.Equal(t, "e1", w.Config.ID)
	require.Equal(t, []string{"own"}, w.Config.Models)
	require.Equal(t, "decode", w.Config.Role)
	require.Equal(t, "v7", w.Config.VersionGroup)
	require.Equal(t, []string{"p/a", "p/b"}, w.Config.Services)
	require.Equal(t, "uid", w.Incarnation)
	require.True(t, w.Unready)
	require.True(t, w.Config.Draining)
	require.Equal(t, []claims.Source{claims.Static, claims.Kubernetes, claims.DNS}, w.Sources)
	require.Equal(t, []string{"kubernetes", claims.Operator}, w.DrainedBy)
	require.False(t, list[1].Config.Draining)

	b.Say(claims.Static, nil)
	list, _ = b.Merge()
	require.Len(t, list, 1, "the others still name it")
	require.Equal(t, "p/uid", list[0].Config.ID)
	require.Equal(t, []string{"dns"}, list[0].Config.Models)
	b.Say(claims.Kubernetes, nil)
	list, _ = b.Merge()
	require.Equal(t, "10.0.0.1:8000", list[0].Config.ID)
	b.Say(claims.DNS, nil)
	list, _ = b.Merge()
	require.Empty(t, list)
}

func TestBook_conflicts(t *testing.T) {
	var b claims.Book
	b.Say(claims.File, []claims.Claim{named("10.0.0.1", "a"), named("10.0.0.9", "b"), named("10.0.0.9", "c")})
	b.Say(claims.HTTP, []claims.Claim{named("10.0.0.2", "a"), claim("10.0.0.3", nil)})
	b.Say(claims.DNS, []claims.Claim{named("10.0.0.4", "10.0.0.3:8000")})
	list, conflicts := b.Merge()
	require.Len(t, list, 3)
	require.Equal(t, []claims.Conflict{
		{Source: claims.File, Address: "10.0.0.9:8000", Reason: "the source names the address twice; the first entry counts"},
		{Source: claims.HTTP, Address: "10.0.0.2:8000", Reason: `the id "a" is that of 10.0.0.1:8000 (file)`},
		{Source: claims.DNS, Address: "10.0.0.4:8000", Reason: `the id "10.0.0.3:8000" is that of 10.0.0.3:8000 (http)`},
	}, conflicts)
}

func TestBook_isBounded(t *testing.T) {
	var b claims.Book
	var many []claims.Claim
	for i := range config.MaxWorkers {
		many = append(many, claim(fmt.Sprintf("10.1.%d.%d", i/256, i%256), nil))
	}
	b.Say(claims.DNS, many)
	b.Say(claims.Static, []claims.Claim{named("10.0.0.1", "mine")})
	list, conflicts := b.Merge()
	require.Len(t, list, config.MaxWorkers)
	require.Len(t, conflicts, 1)
	require.Equal(t, claims.DNS, conflicts[0].Source)
	require.Contains(t, conflicts[0].Reason, "10000 workers already")
}

// What comes out depends on what sources say and not on who spoke first or what was said
// before: replicas that heard the same agree.
func TestBook_orderOfSpeakingDoesNotMatter(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		said := map[claims.Source][]claims.Claim{}
		for _, source := range claims.Sources() {
			for range r.IntN(5) {
				c := claim(fmt.Sprintf("10.0.0.%d", r.IntN(4)), nil)
				c.Worker.ID = []string{"", "a", "b", "10.0.0.1:8000"}[r.IntN(4)]
				c.Worker.Draining = r.IntN(3) == 0
				said[source] = append(said[source], c)
			}
		}
		var one, other claims.Book
		for _, source := range claims.Sources() {
			one.Say(source, said[source])
		}
		other.Say(claims.File, []claims.Claim{named("10.0.0.1", "former")})
		for _, i := range r.Perm(5) {
			other.Say(claims.Sources()[i], said[claims.Sources()[i]])
		}
		workers, conflicts := one.Merge()
		again, alike := other.Merge()
		require.Equal(t, workers, again)
		require.Equal(t, conflicts, alike)
		addresses := map[string]bool{}
		for i, w := range workers {
			require.NotEmpty(t, w.Sources)
			require.Equal(t, len(w.DrainedBy) > 0, w.Config.Draining)
			require.False(t, addresses[w.Config.Endpoint.HostPort()])
			addresses[w.Config.Endpoint.HostPort()] = true
			require.True(t, i == 0 || workers[i-1].Config.ID < w.Config.ID, "sorted, and no ID twice")
		}
	}
}
