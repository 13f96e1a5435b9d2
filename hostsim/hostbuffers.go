package hostsim

import (
	"slices"

	"github.com/pointsman/pointsman/hostsim/internal/body"
)

func bufferFuncs() []hostFunc {
	return []hostFunc{
		{"proxy_get_buffer_bytes", "iiiii", hostGetBuffer},
		{"proxy_get_buffer_status", "iii", hostBufferStatus},
		{"proxy_set_buffer_bytes", "iiiii", status(hostSetBuffer)},
	}
}

// messageBuffer returns the body that the guest may see and edit, if any.
func (vm *VM) messageBuffer(kind uint32) *body.Buffer {
	s := vm.effectiveStream()
	switch {
	case s == nil:
		return nil
	case kind == bufferRequestBody:
		return s.request.shownData
	case kind == bufferResponseBody:
		return s.response.shownData
	}
	return nil
}

// plainBuffer returns a buffer that the guest may only read.
func (vm *VM) plainBuffer(kind uint32) ([]byte, bool) {
	switch kind {
	case bufferVMConfig:
		return vm.opts.VMConfig, true
	case bufferPluginConfig:
		return vm.opts.PluginConfig, true
	case bufferCalloutBody:
		if vm.reply != nil {
			return vm.reply.Body, true
		}
	case bufferGRPCMessage:
		return vm.received.message, true // Outside its callback it is there, and empty.
	}
	return nil, false
}

// window cuts the wished range (start, length) to a buffer of size bytes. A start beyond the end is an empty range.
func window(size int, start, length uint32) (from, n int) {
	if uint64(start) >= uint64(size) {
		return size, 0
	}
	return int(start), int(min(uint64(length), uint64(size)-uint64(start)))
}

// hostGetBuffer copies a range out. A body that is empty, or not there at present, answers OK and size 0
// (envoy.md 4.3).
func hostGetBuffer(c *hostCall) uint32 {
	kind, start, length := c.u32(0), c.u32(1), c.u32(2)
	if uint64(start)+uint64(length) > 1<<32-1 {
		return uint32(StatusBadArgument)
	}
	if kind == bufferRequestBody || kind == bufferResponseBody {
		b := c.vm.messageBuffer(kind)
		if b == nil {
			return c.give(nil, 3, 4)
		}
		from, n := window(b.Len(), start, length)
		return c.giveFunc(n, 3, 4, func(dst []byte) { b.CopyTo(dst, from) })
	}
	b, ok := c.vm.plainBuffer(kind)
	if !ok {
		return uint32(StatusNotFound)
	}
	from, n := window(len(b), start, length)
	return c.give(b[from:from+n], 3, 4)
}

func hostBufferStatus(c *hostCall) uint32 {
	kind := c.u32(0)
	size := 0
	if b := c.vm.messageBuffer(kind); b != nil {
		size = b.Len()
	} else if plain, ok := c.vm.plainBuffer(kind); ok {
		size = len(plain)
	} else {
		return uint32(StatusNotFound)
	}
	if st := c.out32(1, uint32(size)); st != 0 {
		return st
	}
	return c.out32(2, 0)
}

func hostSetBuffer(c *hostCall) Status {
	data, ok := c.in(3)
	if !ok {
		return StatusInvalidMemoryAccess
	}
	b := c.vm.messageBuffer(c.u32(0))
	if b == nil {
		return StatusBadArgument
	}
	if !b.Replace(c.u32(1), c.u32(2), slices.Clone(data)) {
		return StatusBadArgument
	}
	return StatusOK
}
