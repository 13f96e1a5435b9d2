package hostsim

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tetratelabs/wazero"

	"github.com/pointsman/pointsman/hostsim/wasmfile"
)

// MaxMemoryPages caps the linear memory of a VM: 16,384 pages of 64 KiB are 1 GiB (envoy.md 1.1, 13.3).
const MaxMemoryPages = 16384

// ModuleOptions are the settings of Load. The zero value is valid.
type ModuleOptions struct {
	// Profile is the Envoy generation to imitate.
	Profile Profile
	// Cache of compiled modules. Nil opens the one in DefaultCacheDir for this module alone.
	Cache *Cache
	// MemoryPages caps the linear memory of a VM; 0 means MaxMemoryPages.
	MemoryPages uint32
}

// Module is a compiled filter, ready to make VMs of. It is safe for concurrent use.
type Module struct {
	profile  Profile
	file     *wasmfile.File
	runtime  wazero.Runtime
	compiled wazero.CompiledModule
	ownCache *Cache
	exports  map[string]bool
}

// Load checks and compiles a module. What Envoy of that profile would refuse is refused: bytes that are no module, no
// ABI version, no allocator, an import that the host does not have. The error is one line and lists all such imports.
func Load(ctx context.Context, module []byte, opts ModuleOptions) (*Module, error) {
	file, err := wasmfile.Parse(module)
	if err != nil {
		return nil, fmt.Errorf("wasm module: %w", err)
	}
	if err := checkFile(file, opts.Profile); err != nil {
		return nil, fmt.Errorf("wasm module: %w", err)
	}
	m := &Module{profile: opts.Profile, file: file, exports: map[string]bool{}}
	for _, e := range file.Exports {
		m.exports[e.Name] = e.Kind == wasmfile.KindFunc
	}
	if err := m.compile(ctx, module, opts); err != nil {
		return nil, errors.Join(err, m.Close(ctx))
	}
	return m, nil
}

func checkFile(file *wasmfile.File, p Profile) error {
	abi, ok := file.ABIVersion()
	if !ok {
		return errors.New("not a proxy-wasm filter: no proxy_abi_version_* export")
	}
	if abi != "0.2.0" && abi != "0.2.1" {
		return fmt.Errorf("ABI version %s is not supported, only 0.2.0 and 0.2.1", abi)
	}
	if !file.HasExport(exportMalloc) && !file.HasExport(exportAllocate) {
		return fmt.Errorf("not a proxy-wasm filter: no %s export", exportAllocate)
	}
	wasi := p.wasiFuncs()
	env := envFuncs()
	var missing []string
	for _, i := range file.Imports {
		known := false
		switch i.Module {
		case wasmfile.EnvModule:
			known = slices.ContainsFunc(env, func(f hostFunc) bool { return f.name == i.Name })
			known = known && (abi != "0.2.0" || i.Name != "proxy_get_log_level")
		case wasmfile.WASIModule:
			_, known = wasi[i.Name]
		}
		if !known {
			missing = append(missing, i.String())
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("missing import on %s: %s", p, strings.Join(missing, ", "))
	}
	return nil
}

func (m *Module) compile(ctx context.Context, module []byte, opts ModuleOptions) error {
	cache := opts.Cache
	if cache == nil {
		var err error
		if cache, err = openDefaultCache(); err != nil {
			return err
		}
		m.ownCache = cache
	}
	pages := opts.MemoryPages
	if pages == 0 {
		pages = MaxMemoryPages
	}
	m.runtime = wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfig().
		WithCompilationCache(cache.compilation).WithMemoryLimitPages(pages))
	if err := m.linkHost(ctx); err != nil {
		return err
	}
	compiled, err := m.runtime.CompileModule(ctx, module)
	if err != nil {
		return fmt.Errorf("wasm module: %s", firstLine(err))
	}
	m.compiled = compiled
	return nil
}

// linkHost makes the two modules that a filter imports from. They serve all VMs: the VM travels in the call's context.
func (m *Module) linkHost(ctx context.Context) error {
	limits := m.profile.restrictions()
	hosts := map[string][]hostFunc{
		wasmfile.EnvModule:  envFuncs(),
		wasmfile.WASIModule: wasiHostFuncs(m.profile),
	}
	for _, name := range slices.Sorted(maps.Keys(hosts)) {
		b := m.runtime.NewHostModuleBuilder(name)
		for _, f := range hosts[name] {
			f.link(b, limits)
		}
		if _, err := b.Instantiate(ctx); err != nil {
			return fmt.Errorf("host module %s: %w", name, err)
		}
	}
	return nil
}

// File returns what the module's container says.
func (m *Module) File() *wasmfile.File { return m.file }

// Profile returns the Envoy generation that the module was loaded for.
func (m *Module) Profile() Profile { return m.profile }

// Close frees the compiled code. Close all VMs first.
func (m *Module) Close(ctx context.Context) error {
	var errs []error
	if m.runtime != nil {
		errs = append(errs, m.runtime.Close(ctx))
	}
	if m.ownCache != nil {
		errs = append(errs, m.ownCache.Close(ctx))
	}
	return errors.Join(errs...)
}

// firstLine returns the first line of an error's text: wazero appends the guest's stack on further lines.
func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}
