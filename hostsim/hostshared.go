package hostsim

func sharedFuncs() []hostFunc {
	return []hostFunc{
		{"proxy_get_shared_data", "iiiii", hostGetShared},
		{"proxy_set_shared_data", "iiiii", status(hostSetShared)},
		{"proxy_register_shared_queue", "iii", hostRegisterQueue},
		{"proxy_resolve_shared_queue", "iiiii", hostResolveQueue},
		{"proxy_enqueue_shared_queue", "iii", status(hostEnqueue)},
		{"proxy_dequeue_shared_queue", "iii", hostDequeue},
	}
}

func hostGetShared(c *hostCall) uint32 {
	key, ok := c.in(0)
	if !ok {
		return uint32(StatusInvalidMemoryAccess)
	}
	value, cas, ok := c.vm.opts.Host.data.get(c.vm.opts.VMID, string(key))
	if !ok {
		return uint32(StatusNotFound)
	}
	if st := c.give(value, 2, 3); st != 0 {
		return st
	}
	return c.out32(4, cas)
}

func hostSetShared(c *hostCall) Status {
	key, value, ok := c.in2(0, 2)
	if !ok {
		return StatusInvalidMemoryAccess
	}
	return c.vm.opts.Host.data.write(c.vm.opts.VMID, string(key), value, c.u32(4))
}

func hostRegisterQueue(c *hostCall) uint32 {
	name, ok := c.in(0)
	if !ok {
		return uint32(StatusInvalidMemoryAccess)
	}
	vm := c.vm
	token := vm.opts.Host.queues.register(vm.opts.VMID, string(name), func(token uint32) {
		vm.post(func() { vm.call(vm.root, exportQueueReady, uint64(vm.root.id), uint64(token)) })
	})
	return c.out32(2, token)
}

func hostResolveQueue(c *hostCall) uint32 {
	vmID, name, ok := c.in2(0, 2)
	if !ok {
		return uint32(StatusInvalidMemoryAccess)
	}
	token, ok := c.vm.opts.Host.queues.resolve(string(vmID), string(name))
	if !ok {
		return uint32(StatusNotFound)
	}
	return c.out32(4, token)
}

func hostEnqueue(c *hostCall) Status {
	item, ok := c.in(1)
	if !ok {
		return StatusInvalidMemoryAccess
	}
	return c.vm.opts.Host.queues.enqueue(c.u32(0), item)
}

func hostDequeue(c *hostCall) uint32 {
	item, st := c.vm.opts.Host.queues.dequeue(c.u32(0))
	if st != StatusOK {
		return uint32(st)
	}
	return c.give(item, 1, 2)
}

func metricFuncs() []hostFunc {
	return []hostFunc{
		{"proxy_define_metric", "iiii", hostDefineMetric},
		{"proxy_increment_metric", "iI", status(func(c *hostCall) Status {
			return c.vm.opts.Host.metrics.increment(c.u32(0), c.i64(1))
		})},
		{"proxy_record_metric", "iI", status(func(c *hostCall) Status {
			return c.vm.opts.Host.metrics.record(c.u32(0), uint64(c.i64(1)))
		})},
		{"proxy_get_metric", "ii", func(c *hostCall) uint32 {
			value, st := c.vm.opts.Host.metrics.get(c.u32(0))
			if st != StatusOK {
				return uint32(st)
			}
			return c.out64(1, value)
		}},
	}
}

func hostDefineMetric(c *hostCall) uint32 {
	name, ok := c.in(1)
	if !ok {
		return uint32(StatusInvalidMemoryAccess)
	}
	id, st := c.vm.opts.Host.metrics.define(MetricType(c.u32(0)), string(name))
	if st != StatusOK {
		return uint32(st)
	}
	return c.out32(3, id)
}
