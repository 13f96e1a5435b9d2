package kubernetes

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"regexp"
	"strings"

	"github.com/pointsman/pointsman/hostsim/render"
)

//go:embed templates/*.yaml
var templates embed.FS

// Defaults of what [Options] leaves out.
const (
	Namespace = "pointsman"
	Engines   = "app=engine"
)

// Image is the image of the kustomize base, for overlays to replace.
const Image = "registry.example/pointsman/statesvc:dev"

// Options are what manifests depend on besides the filter's configuration.
type Options struct {
	// Statesvc is the state service's configuration; nil for [DefaultStatesvc].
	Statesvc *Statesvc
	// Image is the state service's container image; required.
	Image string
	// EnginePods is a label of the engines' pods, key=value.
	EnginePods string
}

// label is a key and its value.
type label struct{ Key, Value string }

// manifests is what the templates show.
type manifests struct {
	Namespace       string
	Image           string
	Statesvc        string
	Filter          string
	Checksum        string // of the configuration; empty in the base, where overlays may change it
	Port            uint16
	TLS             bool
	CallStream      bool // the filter keeps a stream of calls
	GraceSeconds    int64
	Secrets         []string
	Mounts          []mount
	Discovery       bool
	AllNamespaces   bool
	EngineNamespace string
	EngineLabel     label
	Addresses       bool
}

// baseFiles are the files of the kustomize base, in the order in which they are
// applied.
func baseFiles() []string {
	return []string{"serviceaccount", "rbac", "configmap", "deployment", "service", "poddisruptionbudget", "networkpolicy"}
}

// DefaultStatesvc follows the EndpointSlices of a namespace that have the label
// app=engine.
func DefaultStatesvc(namespace string) *Statesvc {
	text := fmt.Sprintf(`version: 1
listen: 0.0.0.0:9090
discovery:
  kubernetes:
    enabled: true
    namespace: %s
    # Of the Services of the engines: EndpointSlices have the labels of their Service.
    selector: app=engine
tokenize:
  # Engines count prompts, for buckets with bounds and for cache_aware, until
  # tokenize.models names a tokenizer.
  ask_engines: true
shutdown:
  # Answered as not ready for so long, until proxies have looked the name up again.
  drain_ms: 10000
`, namespace)
	return &Statesvc{Text: []byte(text), Port: 9090, GraceSeconds: 30, Kubernetes: true, EngineNamespace: namespace}
}

// Render gives the state service's manifests and the filter's configuration.
func Render(in *render.Input, o Options) ([]render.File, error) {
	m, err := read(in, o)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(m.Statesvc))
	m.Checksum = hex.EncodeToString(sum[:])
	names := append([]string{"filter"}, baseFiles()...)
	if !m.Discovery {
		names = without(names, "rbac")
	}
	return m.files(names)
}

// Base gives the files of the kustomize base but for kustomization.yaml.
func Base() ([]render.File, error) {
	m := &manifests{}
	m.statesvc(DefaultStatesvc(Namespace), Namespace)
	m.Image, m.EngineLabel = Image, label{"app", "engine"}
	return m.files(baseFiles())
}

// files fills in templates and checks what comes of them.
func (m *manifests) files(names []string) ([]render.File, error) {
	files := make([]string, 0, len(names))
	for _, name := range names {
		files = append(files, name+".yaml")
	}
	folder, err := fs.Sub(templates, "templates")
	if err != nil {
		return nil, err
	}
	return render.Fill(folder, files, m, Check)
}

// namespaceName is what Kubernetes takes for the name of a namespace (RFC 1123).
var namespaceName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)

// labelPart is a label's value or the name of its key.
var labelPart = regexp.MustCompile(`^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$`)

// imageName is a reference to a container image, roughly.
var imageName = regexp.MustCompile(`^[a-z0-9][a-z0-9._:/-]*(:[A-Za-z0-9_][A-Za-z0-9._-]*)?(@sha256:[0-9a-f]{64})?$`)

// read turns the input into what the templates show, or refuses it.
func read(in *render.Input, o Options) (*manifests, error) {
	var refused render.Refusals
	m := &manifests{Filter: string(in.Text), Image: o.Image}
	namespace := or(in.Options.Namespace, Namespace)
	if !namespaceName.MatchString(namespace) {
		refused.Add("--namespace", "a name of lower-case letters, digits and -", "%q is no name of a namespace", namespace)
	}
	s := o.Statesvc
	if s == nil {
		s = DefaultStatesvc(namespace)
	}
	m.CallStream = in.Filter.State != nil && in.Filter.State.CallStream
	m.statesvc(s, namespace)
	m.Mounts = s.mounts(&refused)
	s.check(in, &refused)
	switch like := "a reference like registry.example/pointsman/statesvc:1.0"; {
	case m.Image == "":
		refused.Add("--image", like, "is not given: build it from configs/kubernetes/Containerfile")
	case !imageName.MatchString(m.Image):
		refused.Add("--image", like, "%q is no image", m.Image)
	}
	pods := or(o.EnginePods, Engines)
	key, value, ok := strings.Cut(pods, "=")
	if !ok || !labelPart.MatchString(value) || !labelPart.MatchString(key[strings.LastIndexByte(key, '/')+1:]) {
		refused.Add("--engine-pods", "a label like app=engine", "%q is no label", pods)
	}
	m.EngineLabel = label{key, value}
	return m, refused.Err()
}

// statesvc takes over what the manifests show of a configuration.
func (m *manifests) statesvc(s *Statesvc, namespace string) {
	m.Namespace, m.Statesvc, m.Port, m.TLS = namespace, string(s.Text), s.Port, s.CertFile != ""
	m.GraceSeconds, m.Secrets, m.Addresses = s.GraceSeconds, s.Secrets, s.Addresses
	m.Discovery, m.EngineNamespace = s.Kubernetes, s.EngineNamespace
	m.AllNamespaces = s.Kubernetes && s.EngineNamespace == ""
}

func or(text, instead string) string {
	if text == "" {
		return instead
	}
	return text
}

func without(names []string, name string) []string {
	var rest []string
	for _, n := range names {
		if n != name {
			rest = append(rest, n)
		}
	}
	return rest
}
