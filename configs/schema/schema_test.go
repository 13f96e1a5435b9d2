package schema_test

import (
	"encoding/json"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/pointsman/pointsman/configs/schema"
	validator "github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the schemas and configs/README.md anew")

const root = "../.."

func formats(t *testing.T) []schema.Format {
	t.Helper()
	list, err := schema.Formats(os.DirFS(root))
	require.NoError(t, err)
	return list
}

// TestFiles_areWhatTheCodeSays holds the schemas and the page against the code.
func TestFiles_areWhatTheCodeSays(t *testing.T) {
	intro, err := os.ReadFile("intro.md")
	require.NoError(t, err)
	page := string(intro)
	for _, f := range formats(t) {
		text, err := f.JSON()
		require.NoError(t, err)
		same(t, f.Name+".schema.json", string(text))
		page += f.Page()
	}
	same(t, "../README.md", strings.TrimRight(page, "\n")+"\n")
}

func same(t *testing.T, file, want string) {
	t.Helper()
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(want), 0o600))
	}
	have, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, want, string(have), "run go test ./configs/schema -update")
}

// TestIntro_namesEveryFile keeps the list of examples whole.
func TestIntro_namesEveryFile(t *testing.T) {
	intro, err := os.ReadFile("intro.md")
	require.NoError(t, err)
	examples, err := filepath.Glob("../filter/*.json")
	require.NoError(t, err)
	for _, file := range examples {
		require.Contains(t, string(intro), "`"+filepath.Base(file)+"`")
	}
}

// TestSettings_areAllExplained is for whoever adds one.
func TestSettings_areAllExplained(t *testing.T) {
	var bare []string
	for _, f := range formats(t) {
		bare = append(bare, f.Unexplained()...)
	}
	require.Empty(t, bare, "write a doc comment at the field")
}

// TestSettings_areNamedAsInTheFiles finds names of Go in what is said of settings.
func TestSettings_areNamedAsInTheFiles(t *testing.T) {
	compound := regexp.MustCompile(`\b[A-Z]+[a-z]+[A-Z]\w*`)
	for _, f := range formats(t) {
		for _, name := range compound.FindAllString(f.Page(), -1) {
			require.Contains(t, []string{"EndpointSlices", "MiB", "KiB"}, name)
		}
	}
}

// TestSchemas_takeTheShippedFiles and refuse what the readers refuse for its key or
// its kind.
func TestSchemas_takeTheShippedFiles(t *testing.T) {
	for _, f := range formats(t) {
		compiled := compile(t, f.Name)
		files, err := fs.Glob(os.DirFS(".."), f.Name+"/*")
		require.NoError(t, err)
		require.NotEmpty(t, files)
		for _, file := range files {
			require.NoError(t, compiled.Validate(decode(t, filepath.Join("..", file))), file)
		}
		for _, bad := range []string{`{"version": 1, "verzion": 2}`, `{"version": "one"}`, `{}`, `[]`} {
			var doc any
			require.NoError(t, json.Unmarshal([]byte(bad), &doc))
			require.Error(t, compiled.Validate(doc), bad)
		}
	}
}

func compile(t *testing.T, name string) *validator.Schema {
	t.Helper()
	compiled, err := validator.NewCompiler().Compile(name + ".schema.json")
	require.NoError(t, err)
	return compiled
}

// decode reads YAML, of which JSON is a part, as JSON values.
func decode(t *testing.T, file string) (doc any) {
	t.Helper()
	content, err := os.ReadFile(file)
	require.NoError(t, err)
	text, err := yaml.YAMLToJSON(content)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &doc))
	return doc
}
