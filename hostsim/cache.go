package hostsim

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/tetratelabs/wazero"
)

// CacheDirEnv is the environment variable that names the directory of compiled modules.
const CacheDirEnv = "HOSTSIM_CACHE"

// Cache keeps compiled modules, on disk and within the process. Compiling a filter takes seconds, reading it back
// takes milliseconds. It is safe for concurrent use and may be given to any number of modules.
type Cache struct {
	compilation wazero.CompilationCache
}

// DefaultCacheDir returns $HOSTSIM_CACHE, else a folder in the user's cache directory.
func DefaultCacheDir() (string, error) {
	if dir := os.Getenv(CacheDirEnv); dir != "" {
		return dir, nil
	}
	base, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("set %s to a directory for compiled modules: %w", CacheDirEnv, err)
	}
	return filepath.Join(base, "pointsman", "hostsim"), nil
}

// OpenCache opens the cache in dir, which is created when missing. With an empty dir it lives in memory only.
func OpenCache(dir string) (*Cache, error) {
	if dir == "" {
		return &Cache{compilation: wazero.NewCompilationCache()}, nil
	}
	c, err := wazero.NewCompilationCacheWithDir(dir)
	if err != nil {
		return nil, fmt.Errorf("compilation cache %s: %w", dir, err)
	}
	return &Cache{compilation: c}, nil
}

// openDefaultCache opens the cache in the default directory, or in memory where there is no usable one.
func openDefaultCache() (*Cache, error) {
	if dir, err := DefaultCacheDir(); err == nil {
		if c, err := OpenCache(dir); err == nil {
			return c, nil
		}
	}
	return OpenCache("")
}

// Close frees the compiled code. Close all modules that use the cache first.
func (c *Cache) Close(ctx context.Context) error { return c.compilation.Close(ctx) }
