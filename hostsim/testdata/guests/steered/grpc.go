//go:build wasip1

package main

import (
	"bytes"
	"strconv"
	"strings"
	"unsafe"

	"github.com/proxy-wasm/proxy-wasm-go-sdk/proxywasm"
)

// The SDK knows nothing of gRPC.

//go:wasmimport env proxy_grpc_stream
func grpcStream(service unsafe.Pointer, serviceSize int32, name unsafe.Pointer, nameSize int32,
	method unsafe.Pointer, methodSize int32, metadata unsafe.Pointer, metadataSize int32, token *uint32) uint32

//go:wasmimport env proxy_grpc_send
func grpcSend(token uint32, message unsafe.Pointer, size int32, last uint32) uint32

//go:wasmimport env proxy_grpc_close
func grpcClose(token uint32) uint32

//go:wasmimport env proxy_grpc_cancel
func grpcCancel(token uint32) uint32

//go:wasmimport env proxy_get_buffer_bytes
func getBufferBytes(kind uint32, start, size int32, data unsafe.Pointer, n *uint32) uint32

//go:wasmimport env proxy_get_header_map_value
func getMapValue(kind uint32, key unsafe.Pointer, keySize int32, data unsafe.Pointer, n *uint32) uint32

//go:wasmimport env proxy_get_status
func getStatus(code *uint32, data unsafe.Pointer, n *uint32) uint32

// streams are the tokens of all streams, in the order in which they were opened; steered is the plugin whose
// configuration says what to do at a message ("message") and at the end of a stream ("closed").
var (
	streams []uint32
	steered *plugin
)

func pointer(s string) (data unsafe.Pointer, size int32) {
	return unsafe.Pointer(unsafe.StringData(s)), int32(len(s))
}

// given reads what the host wrote into memory that it had the guest allocate. The host writes the 32 bits of an
// address, which is all that Go's 64 have.
func given(data *byte, n uint32) string {
	if n == 0 {
		return ""
	}
	return string(unsafe.Slice(data, n))
}

// pairsOf puts one pair into the host's form.
func pairsOf(name, value string) string {
	return "\x01\x00\x00\x00" + string([]byte{byte(len(name)), 0, 0, 0, byte(len(value)), 0, 0, 0}) + name + "\x00" + value + "\x00"
}

// open opens a stream at a cluster, named as a GrpcService or plainly.
func open(cluster string, plain bool) {
	service := "\x0a" + string([]byte{byte(len(cluster) + 2)}) + "\x0a" + string([]byte{byte(len(cluster))}) + cluster
	if plain {
		service = cluster
	}
	var token uint32
	a, an := pointer(service)
	b, bn := pointer("test.Echo")
	c, cn := pointer("Talk")
	d, dn := pointer(pairsOf("authorization", "Bearer x"))
	st := grpcStream(a, an, b, bn, c, cn, d, dn, &token)
	proxywasm.LogInfo("open -> " + strconv.Itoa(int(st)))
	if st == 0 {
		streams = append(streams, token)
	}
}

// tokenAt is the token of a stream by its number, or one by itself when it begins with "#".
func tokenAt(text string) uint32 {
	if word, ok := strings.CutPrefix(text, "#"); ok {
		n, _ := strconv.Atoi(word)
		return uint32(n)
	}
	n, _ := strconv.Atoi(text)
	return streams[n]
}

func doGRPC(st step, name, value string) bool {
	last, result := uint32(0), uint32(0)
	switch st.verb {
	case "open":
		open(name, false)
		return true
	case "openplain":
		open(name, true)
		return true
	case "close":
		result = grpcClose(tokenAt(name))
	case "cancel":
		result = grpcCancel(tokenAt(name))
	case "send", "sendlast", "sendbig":
		if st.verb == "sendlast" {
			last = 1
		}
		if st.verb == "sendbig" {
			n, _ := strconv.Atoi(value)
			value = string(bytes.Repeat([]byte("x"), n))
		}
		data, size := pointer(value)
		result = grpcSend(tokenAt(name), data, size, last)
	default:
		return false
	}
	if result != 0 {
		proxywasm.LogInfo(st.verb + " -> " + strconv.Itoa(int(result)))
	}
	return true
}

// told logs a callback, with the number of its stream; one that the guest was not given is "?".
func told(token uint32, text string) {
	number := "?"
	for i, t := range streams {
		if t == token {
			number = strconv.Itoa(i)
		}
	}
	proxywasm.LogInfo("stream " + number + ": " + text)
}

func mapValue(kind uint32, name string) string {
	var data *byte
	var n uint32
	key, size := pointer(name)
	if st := getMapValue(kind, key, size, unsafe.Pointer(&data), &n); st != 0 {
		return "error " + strconv.Itoa(int(st))
	}
	return given(data, n)
}

//go:wasmexport proxy_on_grpc_receive_initial_metadata
func onInitialMetadata(_, token, count uint32) {
	told(token, "initial "+strconv.Itoa(int(count))+" "+mapValue(4, "x-mark"))
}

//go:wasmexport proxy_on_grpc_receive
func onMessage(_, token, size uint32) {
	var data *byte
	var n uint32
	getBufferBytes(5, 0, int32(size), unsafe.Pointer(&data), &n)
	text := given(data, n)
	if len(text) > 100 {
		text = strconv.Itoa(len(text)) + " bytes"
	}
	told(token, "message "+text)
	run(steered, nil, steered.onTick, "message")
}

//go:wasmexport proxy_on_grpc_receive_trailing_metadata
func onTrailingMetadata(_, token, count uint32) {
	told(token, "trailing "+strconv.Itoa(int(count))+" "+mapValue(5, "grpc-status"))
}

//go:wasmexport proxy_on_grpc_close
func onClose(_, token, status uint32) {
	var data *byte
	var code, n uint32
	getStatus(&code, unsafe.Pointer(&data), &n)
	told(token, "closed "+strconv.Itoa(int(int32(status)))+" "+given(data, n))
	run(steered, nil, steered.onTick, "closed")
}
