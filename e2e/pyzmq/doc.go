// Package pyzmq holds the tests that follow real publishers: pyzmq sockets of a Python
// process, as the engines have them, and the state service as it is run.
package pyzmq
