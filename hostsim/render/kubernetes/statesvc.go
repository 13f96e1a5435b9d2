package kubernetes

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/pointsman/pointsman/hostsim/render"
)

// Statesvc is a state service's configuration and what its manifests depend on. The
// caller has checked the configuration itself.
type Statesvc struct {
	// Text is the configuration as it was written.
	Text []byte
	// Port is where it listens, Loopback whether only on the pod's own loopback.
	Port     uint16
	Loopback bool
	// GraceSeconds is how long it may take to stop.
	GraceSeconds int64
	// Secrets are environment variables that hold tokens.
	Secrets []string
	// CertFile and KeyFile are its TLS files, empty without TLS.
	CertFile, KeyFile string
	// TokenEnv is the variable of the token that proxies send, empty for none.
	TokenEnv string
	// Kubernetes reports whether it follows EndpointSlices, in EngineNamespace or, where
	// that is empty, in all. Kubeconfig is the file it would use for that.
	Kubernetes      bool
	EngineNamespace string
	Kubeconfig      string
	// Addresses reports whether engines come from elsewhere too.
	Addresses bool
	// Files are further files that it reads, by the path of their setting.
	Files map[string]string
	// StateFile is the file it writes, empty for none.
	StateFile string
}

// Where pods find what is mounted.
const (
	tlsFolder        = "/etc/pointsman-tls"
	workersFolder    = "/etc/pointsman-workers"
	tokenizersFolder = "/var/lib/pointsman/tokenizers"
)

// mount is a volume of the pods.
type mount struct {
	Name, Path string
	Source     string // a line of YAML
	Why        string
}

// mounts gives the volumes for the files of the configuration, and refuses files that
// no volume has.
func (s *Statesvc) mounts(refused *render.Refusals) []mount {
	var list []mount
	if s.CertFile != "" {
		if s.CertFile != tlsFolder+"/tls.crt" || s.KeyFile != tlsFolder+"/tls.key" {
			refused.Add("--statesvc tls", fmt.Sprintf("cert_file: %s/tls.crt and key_file: %s/tls.key, which come from the Secret pointsman-state-tls", tlsFolder, tlsFolder), "%s and %s are not in the pod", s.CertFile, s.KeyFile)
		}
		list = append(list, mount{"tls", tlsFolder, "secret: {secretName: pointsman-state-tls}", "Certificate and key, as of kind kubernetes.io/tls."})
	}
	settings := make([]string, 0, len(s.Files))
	for setting := range s.Files {
		settings = append(settings, setting)
	}
	slices.Sort(settings)
	for _, setting := range settings {
		m, ok := volume(s.Files[setting])
		switch {
		case !ok:
			refused.Add("--statesvc "+setting, fmt.Sprintf("a path in %s (ConfigMap pointsman-workers) or %s (PersistentVolumeClaim pointsman-tokenizers)", workersFolder, tokenizersFolder), "%s is not in the pod", s.Files[setting])
		case !slices.Contains(list, m):
			list = append(list, m)
		}
	}
	if s.StateFile != "" {
		refused.Add("--statesvc discovery.http.state_file", "no state_file: registrations are kept while the pod runs", "the pod's file system is read-only")
	}
	return list
}

// volume gives the volume that has a file.
func volume(file string) (mount, bool) {
	file = path.Clean(file)
	switch {
	case strings.HasPrefix(file, workersFolder+"/"):
		return mount{"workers", workersFolder, "configMap: {name: pointsman-workers}", "The watched file of workers."}, true
	case strings.HasPrefix(file, tokenizersFolder+"/"):
		return mount{"tokenizers", tokenizersFolder, "persistentVolumeClaim: {claimName: pointsman-tokenizers, readOnly: true}", "Folders of tokenizers."}, true
	}
	return mount{}, false
}

// check refuses a configuration that would not work in a pod.
func (s *Statesvc) check(in *render.Input, refused *render.Refusals) {
	if s.Loopback {
		refused.Add("--statesvc listen", fmt.Sprintf("listen: 0.0.0.0:%d", s.Port), "is on loopback, where neither probes nor proxies reach it")
	}
	if s.Kubeconfig != "" {
		refused.Add("--statesvc discovery.kubernetes.kubeconfig", "no kubeconfig: the pod has a service account", "%s is not in the pod", s.Kubeconfig)
	}
	if !s.Kubernetes && !s.Addresses {
		refused.Add("--statesvc discovery", "discovery.kubernetes with a selector, or fleet.static", "the configuration names no engines")
	}
	switch state := in.Filter.State; {
	case state == nil:
		refused.Add("state", `"state": {"cluster": "pointsman_state"} in the configuration`, "the filter would not ask the state service")
	case state.TokenEnv == "" && s.TokenEnv != "":
		refused.Add("state.token_env", `"token_env": "`+s.TokenEnv+`" in state`, "is not set, and the state service asks for a token")
	case state.TokenEnv != "" && s.TokenEnv == "":
		refused.Add("--statesvc token_env", "token_env: "+state.TokenEnv, "is not set, and the filter sends a token")
	}
}
