//go:build wasip1

package main

import (
	"encoding/binary"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"github.com/proxy-wasm/proxy-wasm-go-sdk/proxywasm"
	"github.com/proxy-wasm/proxy-wasm-go-sdk/proxywasm/types"
)

// run does the steps of a phase and returns the action of the last one that has an opinion.
func run(p *plugin, s *stream, steps []step, phase string) types.Action {
	action := types.ActionContinue
	for _, st := range steps {
		if st.phase == phase {
			do(p, s, st, &action)
		}
	}
	return action
}

func do(p *plugin, s *stream, st step, action *types.Action) {
	name, value, _ := strings.Cut(st.arg, "=")
	switch st.verb {
	case "pause":
		*action = types.ActionPause
	case "watermark":
		*action = 2
	case "panic":
		panic("asked to")
	case "resume":
		must(proxywasm.ResumeHttpRequest())
	case "set":
		logError("set", proxywasm.ReplaceHttpRequestHeader(name, value))
	case "add":
		logError("add", proxywasm.AddHttpRequestHeader(name, value))
	case "del":
		logError("del", proxywasm.RemoveHttpRequestHeader(name))
	case "setresponse":
		logError("setresponse", proxywasm.ReplaceHttpResponseHeader(name, value))
	case "get":
		got, err := proxywasm.GetHttpRequestHeader(name)
		report("get "+name, got, err)
	case "getresponse":
		got, err := proxywasm.GetHttpResponseHeader(name)
		report("getresponse "+name, got, err)
	case "pairs":
		got, err := proxywasm.GetHttpRequestHeaders()
		report("pairs", strconv.Itoa(len(got)), err)
	case "local":
		code, _ := strconv.Atoi(name)
		must(proxywasm.SendHttpResponse(uint32(code), [][2]string{{"x-made-by", "filter"}}, []byte(value), -1))
		*action = types.ActionPause
	case "splice":
		splice(st.arg)
	case "read":
		start, length, _ := strings.Cut(st.arg, ",")
		from, _ := strconv.Atoi(start)
		n, _ := strconv.Atoi(length)
		got, err := proxywasm.GetHttpRequestBody(from, n)
		report("read", string(got), err)
	case "call":
		call(p, s, name, value)
		*action = types.ActionPause
	case "wait":
		p.waiting = append(p.waiting, s.id)
		*action = types.ActionPause
	case "property":
		got, err := proxywasm.GetProperty(strings.Split(st.arg, "."))
		report("property "+st.arg, string(got), err)
	case "number":
		got, err := proxywasm.GetProperty(strings.Split(st.arg, "."))
		if err == nil && len(got) == 8 {
			got = []byte(strconv.FormatInt(int64(binary.LittleEndian.Uint64(got)), 10))
		}
		report("number "+st.arg, string(got), err)
	case "setproperty":
		logError("setproperty", proxywasm.SetProperty([]string{name}, []byte(value)))
	case "log":
		proxywasm.LogWarn(st.arg)
	case "alloc":
		n, _ := strconv.Atoi(st.arg)
		kept = append(kept, make([]byte, n))
	default:
		doShared(st, name, value)
	}
}

var kept [][]byte

func report(what, value string, err error) {
	if err != nil {
		value = "error: " + err.Error()
	}
	proxywasm.LogInfo(what + " -> " + value)
}

func logError(what string, err error) {
	if err != nil {
		proxywasm.LogInfo(what + " -> error: " + err.Error())
	}
}

// splice replaces the bytes [start, start+length) of the request body: "start,length,text".
func splice(arg string) {
	parts := strings.SplitN(arg, ",", 3)
	start, _ := strconv.Atoi(parts[0])
	length, _ := strconv.Atoi(parts[1])
	text := []byte(parts[2])
	st := setBufferBytes(0, int32(start), int32(length), unsafe.Pointer(unsafe.SliceData(text)), int32(len(text)))
	proxywasm.LogInfo("splice -> " + strconv.Itoa(int(st)))
}

// call makes a callout to a cluster with a time limit in ms; the answer resumes the stream that asked.
func call(p *plugin, s *stream, cluster, millis string) {
	timeout, _ := strconv.Atoi(millis)
	headers := [][2]string{{":method", "POST"}, {":path", "/pick"}, {":authority", "state"}}
	_, err := proxywasm.DispatchHttpCall(cluster, headers, []byte("question"), nil, uint32(timeout), func(n, size, _ int) {
		answer, _ := proxywasm.GetHttpCallResponseBody(0, size)
		headers, err := proxywasm.GetHttpCallResponseHeaders()
		code := ""
		for _, h := range headers {
			if h[0] == ":status" {
				code = h[1]
			}
		}
		report("reply", strconv.Itoa(n)+" headers, status "+code+", body "+string(answer), nil)
		logError("reply headers", err)
		if s != nil {
			run(p, s, s.steps, "reply")
			logError("resume", proxywasm.ResumeHttpRequest())
		}
	})
	logError("call", err)
}

func doShared(st step, name, value string) {
	switch st.verb {
	case "share":
		name, cas, _ := strings.Cut(name, "@")
		n, _ := strconv.Atoi(cas)
		logError("share", proxywasm.SetSharedData(name, []byte(value), uint32(n)))
	case "shared":
		got, cas, err := proxywasm.GetSharedData(name)
		report("shared "+name, string(got)+"@"+strconv.Itoa(int(cas)), err)
	case "count":
		proxywasm.DefineCounterMetric(name).Increment(1)
	case "gauge":
		n, _ := strconv.Atoi(value)
		proxywasm.DefineGaugeMetric(name).Add(int64(n))
	case "histogram":
		n, _ := strconv.Atoi(value)
		proxywasm.DefineHistogramMetric(name).Record(uint64(n))
	case "foreign":
		_, err := proxywasm.CallForeignFunction(name, []byte(value))
		logError("foreign "+name, err)
	case "state":
		msg := append([]byte{0x0a, byte(len(name))}, name...)
		msg = append(append(msg, 0x12, byte(len(value))), value...)
		_, err := proxywasm.CallForeignFunction("set_envoy_filter_state", msg)
		logError("state", err)
	case "timer":
		time.AfterFunc(time.Hour, func() {})
	case "gc":
		runtime.GC()
	case "now":
		proxywasm.LogInfo("now -> " + time.Now().UTC().Format(time.RFC3339Nano))
	case "env":
		proxywasm.LogInfo("env -> " + os.Getenv(name))
	case "random":
		proxywasm.LogInfo("random -> " + strconv.FormatUint(rand.Uint64(), 16))
	case "print":
		println(name)
	case "queue":
		id, err := proxywasm.RegisterSharedQueue(name)
		must(err)
		must(proxywasm.EnqueueSharedQueue(id, []byte(value)))
	default:
		if !doGRPC(st, name, value) {
			panic("no such verb: " + st.verb)
		}
	}
}
