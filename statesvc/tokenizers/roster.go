package tokenizers

import (
	"maps"
	"slices"
	"sync"

	"github.com/pointsman/pointsman/statesvc/fleet"
)

// roster is who serves what, as of the last look at the fleet.
type roster struct {
	mu      sync.RWMutex
	models  []string            // that engines serve under names of their own, sorted
	serving map[string][]string // IDs by the name of a model or adapter
	asked   map[string][]string // base URLs of engines that are up, likewise
	lives   map[string]uint64   // changes with the generations of a model's engines
	turn    map[string]int      // the next base URL to give
	at      map[string]string   // IDs by base URL
	cuts    map[string]cut      // by the name of a model or adapter
}

// cut is how the engines of a model cut prompts into blocks, as far as they say.
type cut struct {
	size   int // 0: none says
	bigram bool
	differ bool // they say different things
}

// and takes in what one more engine says.
func (c cut) and(s *fleet.Status) cut {
	switch {
	case s.BlockSize == 0:
	case c.size == 0:
		c.size, c.bigram = s.BlockSize, s.Bigram
	case c.size != s.BlockSize || c.bigram != s.Bigram:
		c.differ = true
	}
	return c
}

// look takes in the fleet's state.
func (r *roster) look(list []fleet.Status) {
	serving, asked, lives := map[string][]string{}, map[string][]string{}, map[string]uint64{}
	models, at, cuts := map[string]bool{}, map[string]string{}, map[string]cut{}
	for i := range list {
		s := &list[i]
		at[s.URL] = string(s.Worker.ID)
		for _, name := range s.Worker.Models {
			models[name] = true
		}
		names := slices.Clone(s.Worker.Models)
		for _, a := range s.Worker.Adapters {
			names = append(names, a.Name)
		}
		for _, name := range names {
			serving[name] = append(serving[name], string(s.Worker.ID))
			if s.Worker.Healthy {
				asked[name] = append(asked[name], s.URL)
			}
			cuts[name] = cuts[name].and(s)
			lives[name] = lives[name]*31 + s.Worker.Generation
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.models, r.serving, r.asked, r.lives = slices.Sorted(maps.Keys(models)), serving, asked, lives
	r.at, r.cuts = at, cuts
	if r.turn == nil {
		r.turn = map[string]int{}
	}
	maps.DeleteFunc(r.turn, func(name string, _ int) bool { return asked[name] == nil })
}

// of lists the engines that serve a name. Callers do not change the list.
func (r *roster) of(name string) []string {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.serving[name]
}

// idAt gives the engine of a base URL, byte for byte, empty for none.
func (r *roster) idAt(url string) string {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.at[url]
}

// cutOf gives how a model's engines cut prompts.
func (r *roster) cutOf(name string) cut {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.cuts[name]
}

// names lists the models that engines serve under names of their own. Callers do
// not change the list.
func (r *roster) names() []string {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.models
}

// life is a number that changes when an engine of the model begins anew, 0 while none has.
func (r *roster) life(name string) uint64 {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.lives[name]
}

// next gives an engine of the model to ask, each in turn.
func (r *roster) next(name string) (string, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := r.asked[name]
	if len(list) == 0 {
		return "", false
	}
	at := r.turn[name]
	r.turn[name] = at + 1
	return list[at%len(list)], true
}
