package wasmfile

import (
	"fmt"
	"slices"
	"strings"
)

// Names of the two modules from which a proxy-wasm filter imports.
const (
	EnvModule  = "env"
	WASIModule = "wasi_snapshot_preview1"
)

// envFuncs are the host functions of ABI 0.2.x as Envoy 1.33 links them (envoy.md 1.1), without the proxy_ prefix.
const envFuncs = `continue_stream close_stream send_local_response done set_effective_context get_status
log get_log_level get_current_time_nanoseconds set_tick_period_milliseconds
get_buffer_bytes get_buffer_status set_buffer_bytes
get_header_map_size get_header_map_pairs get_header_map_value set_header_map_pairs
add_header_map_value replace_header_map_value remove_header_map_value
http_call grpc_call grpc_stream grpc_send grpc_cancel grpc_close
get_shared_data set_shared_data register_shared_queue resolve_shared_queue enqueue_shared_queue dequeue_shared_queue
define_metric increment_metric record_metric get_metric
get_property set_property call_foreign_function`

// wasi133Funcs are the WASI functions of Envoy 1.33 to 1.38 (envoy.md 1.3).
const wasi133Funcs = `fd_write fd_read fd_seek fd_close fd_fdstat_get fd_fdstat_set_flags
environ_get environ_sizes_get args_get args_sizes_get clock_time_get random_get sched_yield poll_oneoff proc_exit
path_open fd_prestat_get fd_prestat_dir_name`

// pollOneoff is linkable on Envoy 1.33 but answers "not supported", which kills a Go program (envoy.md 1.4).
const pollOneoff = "poll_oneoff"

// AllowedImports133 lists, sorted, every function that Envoy 1.33 links into a module of ABI 0.2.1. A module whose
// imports are a subset of it, without poll_oneoff, loads on every release from 1.33 on.
func AllowedImports133() []Import {
	var all []Import
	for n := range strings.FieldsSeq(envFuncs) {
		all = append(all, Import{Module: EnvModule, Name: "proxy_" + n, Kind: KindFunc})
	}
	for n := range strings.FieldsSeq(wasi133Funcs) {
		all = append(all, Import{Module: WASIModule, Name: n, Kind: KindFunc})
	}
	slices.SortFunc(all, func(a, b Import) int { return strings.Compare(a.String(), b.String()) })
	return all
}

// CheckImports compares a module's imports with what Envoy 1.33 offers and returns one error per offence, in the
// order of the imports: a function that this host does not have (the module is refused at load), or poll_oneoff (it
// loads, and the first garbage collection after a timer kills the VM on Envoy up to 1.38).
func CheckImports(imports []Import) []error {
	allowed := AllowedImports133()
	var errs []error
	for _, i := range imports {
		switch {
		case !slices.Contains(allowed, i):
			errs = append(errs, fmt.Errorf("import %s (%s) is missing in Envoy 1.33", i, i.Kind))
		case i.Module == WASIModule && i.Name == pollOneoff:
			errs = append(errs, fmt.Errorf("import %s kills the VM on Envoy 1.33 to 1.38: build with the overlay that removes it", i))
		}
	}
	return errs
}
