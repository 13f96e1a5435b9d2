package hostsim

// Host is what the VMs of one process share, whatever worker they run on: shared data, shared queues and metrics
// (envoy.md 6, 7). It is safe for concurrent use.
type Host struct {
	data    *sharedData
	queues  *sharedQueues
	metrics *Metrics
}

// NewHost makes an empty Host.
func NewHost() *Host {
	return &Host{data: newSharedData(), queues: newSharedQueues(), metrics: newMetrics()}
}

// Metrics returns the metrics that guests defined.
func (h *Host) Metrics() *Metrics { return h.metrics }

// SharedData returns a copy of a shared value of one vm_id, for tests and tools.
func (h *Host) SharedData(vmID, key string) (value []byte, ok bool) {
	value, _, ok = h.data.get(vmID, key)
	return value, ok
}

// PutSharedData puts a value under a key of one vm_id, over whatever is there, as another plugin of that vm_id would. It
// reports false when no VM of the vm_id lives.
func (h *Host) PutSharedData(vmID, key string, value []byte) bool {
	return h.data.set(vmID, key, value, 0) == StatusOK
}

// RefuseSharedData answers later writes of guests with a status, such as StatusCasMismatch; StatusOK ends that.
func (h *Host) RefuseSharedData(with Status) { h.data.refuse(with) }
