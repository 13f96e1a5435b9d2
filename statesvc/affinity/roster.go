package affinity

import "github.com/pointsman/pointsman/core"

// roster gives each engine that has bindings a small number, so that a binding need
// not hold its name. A number is used again once its engine has none left.
type roster struct {
	numbers map[core.WorkerID]uint32
	engines []engine
	free    []uint32
}

type engine struct {
	name     core.WorkerID
	bindings int
}

// take counts one more binding to an engine.
func (r *roster) take(name core.WorkerID) uint32 {
	n, ok := r.numbers[name]
	if !ok {
		n = r.add(name)
	}
	r.engines[n].bindings++
	return n
}

func (r *roster) add(name core.WorkerID) uint32 {
	if r.numbers == nil {
		r.numbers = map[core.WorkerID]uint32{}
	}
	n := uint32(len(r.engines))
	if last := len(r.free) - 1; last >= 0 {
		n, r.free = r.free[last], r.free[:last]
	} else {
		r.engines = append(r.engines, engine{})
	}
	r.engines[n].name = name
	r.numbers[name] = n
	return n
}

// leave counts one binding less.
func (r *roster) leave(n uint32) {
	e := &r.engines[n]
	e.bindings--
	if e.bindings > 0 {
		return
	}
	delete(r.numbers, e.name)
	*e = engine{}
	r.free = append(r.free, n)
}

func (r *roster) name(n uint32) core.WorkerID { return r.engines[n].name }

func (r *roster) find(name core.WorkerID) (uint32, bool) {
	n, ok := r.numbers[name]
	return n, ok
}
