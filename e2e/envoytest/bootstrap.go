package envoytest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"strconv"

	"github.com/goccy/go-yaml"
	"github.com/pointsman/pointsman/configs"
)

// document is a decoded bootstrap.
type document = map[string]any

// bootstrap reads a shipped bootstrap and puts a test's ports, endpoints and
// filter configuration in the place of the shipped ones. All else stays as
// people get it.
func bootstrap(o Options, listen, admin string) ([]byte, error) {
	source, err := configs.FS.ReadFile("envoy/" + string(o.Bootstrap) + ".yaml")
	if err != nil {
		return nil, err
	}
	if o.EndpointHeader != "" {
		source = bytes.ReplaceAll(source, []byte("x-pointsman-endpoint"), []byte(o.EndpointHeader))
	}
	var doc document
	if err := yaml.Unmarshal(source, &doc); err != nil {
		return nil, err
	}
	e := editor{options: o}
	e.address(doc["admin"].(document), admin)
	resources := doc["static_resources"].(document)
	for _, l := range resources["listeners"].([]any) {
		e.listener(l.(document), listen)
	}
	for _, c := range resources["clusters"].([]any) {
		e.cluster(c.(document))
	}
	if e.err != nil {
		return nil, e.err
	}
	return json.Marshal(doc)
}

// editor changes a bootstrap in place and keeps the first error.
type editor struct {
	options Options
	err     error
}

func (e *editor) fail(err error) {
	if e.err == nil {
		e.err = err
	}
}

func (e *editor) address(holder document, addr string) {
	holder["address"] = e.socket(addr)
}

func (e *editor) socket(addr string) document {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		e.fail(err)
		return nil
	}
	n, err := strconv.Atoi(port)
	if err != nil {
		e.fail(err)
	}
	return document{"socket_address": document{"address": host, "port_value": n}}
}

func (e *editor) listener(l document, addr string) {
	e.address(l, addr)
	chain := l["filter_chains"].([]any)[0].(document)
	hcm := chain["filters"].([]any)[0].(document)["typed_config"].(document)
	maps.Copy(hcm, e.options.Manager)
	for _, f := range hcm["http_filters"].([]any) {
		filter := f.(document)
		if filter["name"] == "pointsman" {
			e.wasm(filter["typed_config"].(document)["config"].(document))
		}
	}
	all := make([]any, 0, len(e.options.Before)+len(hcm["http_filters"].([]any)))
	for _, f := range e.options.Before {
		all = append(all, f)
	}
	hcm["http_filters"] = append(all, hcm["http_filters"].([]any)...)
}

func (e *editor) wasm(config document) {
	o := e.options
	config["configuration"].(document)["value"] = string(o.Filter)
	vm := config["vm_config"].(document)
	vm["code"].(document)["local"].(document)["filename"] = o.Module
	if o.NoHeaderPause {
		delete(config, "allow_on_headers_stop_iteration")
	}
	if len(o.Env) > 0 {
		vm["environment_variables"] = document{"key_values": o.Env}
	}
}

func (e *editor) cluster(c document) {
	switch name := c["name"].(string); name {
	case "pointsman_state":
		e.endpoints(c, []string{e.options.State})
		if CallStream(e.options.Filter) && !e.options.StateHTTP1 {
			speakHTTP2(c)
		}
	case "engines", "engines_any":
		if c["type"] == "STATIC" {
			e.endpoints(c, e.options.Engines)
		}
	default:
		e.fail(fmt.Errorf("bootstrap has a cluster %q the tests do not know", name))
	}
}

// CallStream reports whether a filter's configuration asks for a stream to the state
// service, whose cluster then speaks HTTP/2.
func CallStream(config []byte) bool {
	var filter struct {
		State struct {
			CallStream bool `json:"call_stream"`
		} `json:"state"`
	}
	// A test may hand the filter what it is to refuse.
	_ = json.Unmarshal(config, &filter)
	return filter.State.CallStream
}

// speakHTTP2 makes a cluster speak HTTP/2, as a stream to the state service needs it.
func speakHTTP2(c document) {
	for _, options := range c["typed_extension_protocol_options"].(document) {
		options.(document)["explicit_http_config"] = document{"http2_protocol_options": document{
			"connection_keepalive": document{"interval": "5s", "timeout": "2s"},
		}}
	}
}

func (e *editor) endpoints(c document, addrs []string) {
	list := make([]any, 0, len(addrs))
	for _, a := range addrs {
		list = append(list, document{"endpoint": document{"address": e.socket(a)}})
	}
	assignment := c["load_assignment"].(document)
	assignment["endpoints"].([]any)[0].(document)["lb_endpoints"] = list
}
