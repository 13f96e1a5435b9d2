package hostsim

import (
	"strings"

	"github.com/pointsman/pointsman/hostsim/wasmfile"
)

// Profile is a generation of Envoy's WASI functions and call restrictions (envoy.md 1.3).
type Profile uint8

const (
	// Envoy139 is Envoy 1.39 and later: all 46 preview-1 functions, poll_oneoff succeeds. It is the default.
	Envoy139 Profile = iota
	// Envoy133 is Envoy 1.33 to 1.38: 18 functions, poll_oneoff answers 52, and a module that imports anything else
	// is refused.
	Envoy133
)

// String returns the profile's name.
func (p Profile) String() string {
	if p == Envoy133 {
		return "envoy133"
	}
	return "envoy139"
}

// wasi139 lists preview-1 with parameter types (i is i32, I is i64). All but proc_exit return an errno.
const wasi139 = `args_get:ii args_sizes_get:ii clock_res_get:ii clock_time_get:iIi environ_get:ii environ_sizes_get:ii
fd_advise:iIIi fd_allocate:iII fd_close:i fd_datasync:i fd_fdstat_get:ii fd_fdstat_set_flags:ii
fd_fdstat_set_rights:iII fd_filestat_get:ii fd_filestat_set_size:iI fd_filestat_set_times:iIIi fd_pread:iiiIi
fd_prestat_dir_name:iii fd_prestat_get:ii fd_pwrite:iiiIi fd_read:iiii fd_readdir:iiiIi fd_renumber:ii fd_seek:iIii
fd_sync:i fd_tell:ii fd_write:iiii path_create_directory:iii path_filestat_get:iiiii path_filestat_set_times:iiiiIIi
path_link:iiiiiii path_open:iiiiiIIii path_readlink:iiiiii path_remove_directory:iii path_rename:iiiiii
path_symlink:iiiii path_unlink_file:iii poll_oneoff:iiii proc_exit:i proc_raise:i random_get:ii sched_yield:
sock_accept:iii sock_recv:iiiiii sock_send:iiiii sock_shutdown:ii`

// Functions that may be called while the guest's allocator runs, and those that may in addition be called during
// start-up. Any other call is a trap.
const (
	allocatorCalls = "proxy_log fd_write clock_time_get"
	startUpCalls   = `args_get args_sizes_get environ_get environ_sizes_get fd_prestat_get fd_prestat_dir_name random_get
fd_fdstat_get fd_fdstat_set_flags`
	polledSince139 = "poll_oneoff"
)

// stage is what kind of guest code runs, as far as it restricts host calls.
type stage uint8

const (
	stageCallback stage = iota
	stageStartUp
	stageAllocator
)

// restrictions tells which functions each restricted stage allows.
type restrictions struct{ startUp, allocator map[string]bool }

func (p Profile) restrictions() restrictions {
	r := restrictions{startUp: map[string]bool{}, allocator: map[string]bool{}}
	allocator := allocatorCalls
	if p == Envoy139 {
		allocator += " " + polledSince139
	}
	for n := range strings.FieldsSeq(allocator) {
		r.allocator[n], r.startUp[n] = true, true
	}
	for n := range strings.FieldsSeq(startUpCalls) {
		r.startUp[n] = true
	}
	return r
}

// wasiFuncs returns the functions that the profile links, with their parameter types.
func (p Profile) wasiFuncs() map[string]string {
	all := map[string]string{}
	for f := range strings.FieldsSeq(wasi139) {
		name, params, _ := strings.Cut(f, ":")
		all[name] = params
	}
	if p == Envoy139 {
		return all
	}
	old := map[string]string{}
	for _, i := range wasmfile.AllowedImports133() {
		if i.Module == wasmfile.WASIModule {
			old[i.Name] = all[i.Name]
		}
	}
	return old
}
