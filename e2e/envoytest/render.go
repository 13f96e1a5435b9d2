package envoytest

import (
	"fmt"
	"path/filepath"
)

// Render gives a shipped bootstrap as JSON, with the listener and the admin page
// at the given addresses and all else of Options in its place. It is for
// programs that run Envoy without a test.
func Render(o Options, listen, admin string) ([]byte, error) {
	return bootstrap(o, listen, admin)
}

// FindBinary finds the Envoy of a version that `make envoys` has installed below
// the root of the repository.
func FindBinary(root, version string) (string, error) {
	found, err := filepath.Glob(filepath.Join(root, ".venv-envoy-"+version, "lib", "python3*", "site-packages", "envoy", "_bin", "envoy"))
	if err != nil {
		return "", err
	}
	if len(found) == 0 {
		return "", fmt.Errorf("envoy %s is not installed: run make envoys", version)
	}
	return found[0], nil
}
