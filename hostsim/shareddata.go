package hostsim

import (
	"slices"
	"sync"
)

// sharedData is the process-wide key-value store: one mutex for all vm_ids, values copied in and out (envoy.md 6.1).
type sharedData struct {
	mu      sync.Mutex
	lastCAS uint32
	spaces  map[string]*dataSpace
	refused Status // of guests' writes; StatusOK takes them
}

// dataSpace holds the values of one vm_id for as long as it has users.
type dataSpace struct {
	users  int
	values map[string]dataValue
}

type dataValue struct {
	bytes []byte
	cas   uint32
}

func newSharedData() *sharedData { return &sharedData{spaces: map[string]*dataSpace{}} }

// acquire counts one more VM that uses vmID.
func (d *sharedData) acquire(vmID string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.spaces[vmID]
	if s == nil {
		s = &dataSpace{values: map[string]dataValue{}}
		d.spaces[vmID] = s
	}
	s.users++
}

// release undoes acquire; the values go with the last user.
func (d *sharedData) release(vmID string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if s := d.spaces[vmID]; s != nil {
		if s.users--; s.users == 0 {
			delete(d.spaces, vmID)
		}
	}
}

func (d *sharedData) refuse(with Status) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.refused = with
}

// write is set for a guest.
func (d *sharedData) write(vmID, key string, value []byte, cas uint32) Status {
	d.mu.Lock()
	refused := d.refused
	d.mu.Unlock()
	if refused != StatusOK {
		return refused
	}
	return d.set(vmID, key, value, cas)
}

func (d *sharedData) get(vmID, key string) (value []byte, cas uint32, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.spaces[vmID]
	if s == nil {
		return nil, 0, false
	}
	v, ok := s.values[key]
	return slices.Clone(v.bytes), v.cas, ok
}

// set stores a copy of value. A cas of 0 is unconditional, unlike in the SDK's mock; another must be the current one
// when the key exists.
func (d *sharedData) set(vmID, key string, value []byte, cas uint32) Status {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.spaces[vmID]
	if s == nil {
		return StatusInternalFailure
	}
	if old, exists := s.values[key]; exists && cas != 0 && cas != old.cas {
		return StatusCasMismatch
	}
	d.lastCAS++
	if d.lastCAS == 0 {
		d.lastCAS++
	}
	s.values[key] = dataValue{bytes: slices.Clone(value), cas: d.lastCAS}
	return StatusOK
}
