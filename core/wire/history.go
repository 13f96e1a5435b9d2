package wire

import "github.com/pointsman/pointsman/core"

// Run is boundaries of prompts that one engine was sent, one after the other
// (design section 5b). Fields are documented in pointsman.proto.
type Run struct {
	Worker     core.WorkerID
	Generation uint64
	Parent     uint64 // hash of the boundary before the first, 0 for none
	Hashes     []uint64
	Sizes      []uint16 // bytes from each boundary's forerunner to it
}
