package abi

import "strconv"

// Status is how a host call ended. StatusOK is success; every other one is an
// error.
type Status uint32

// The statuses of the ABI.
const (
	StatusOK              Status = 0
	StatusNotFound        Status = 1
	StatusBadArgument     Status = 2
	StatusEmpty           Status = 7
	StatusInternalFailure Status = 10
	StatusUnimplemented   Status = 12
)

// Error implements error.
func (s Status) Error() string {
	switch s {
	case StatusOK:
		return "ok"
	case StatusNotFound:
		return "not found"
	case StatusBadArgument:
		return "bad argument"
	case StatusEmpty:
		return "empty"
	case StatusInternalFailure:
		return "internal failure"
	case StatusUnimplemented:
		return "unimplemented"
	}
	return "status " + strconv.Itoa(int(s))
}

// err is the status as an error, nil for success.
func (s Status) err() error {
	if s == StatusOK {
		return nil
	}
	return s
}
