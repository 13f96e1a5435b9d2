package tree_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pointsman/pointsman/hostsim/doctor/tree"
)

// one reads a text with one document.
func one(t *testing.T, text string) tree.At {
	documents, err := tree.Read([]byte(text))
	require.NoError(t, err)
	require.Len(t, documents, 1)
	return tree.Root("f", documents[0].Root)
}

const yamlText = `# a comment
name: x
limit: 0x10
time: 1.5s
on: true
none: null
list:
  - {a_long_key: 1}
  - aLongKey: 2
`

// The same document reads the same as YAML and as JSON, but for its lines.
func TestAt(t *testing.T) {
	for text, lines := range map[string][3]int{
		yamlText: {2, 8, 9},
		"{\"name\": \"x\",\n\"limit\": 16, \"time\": \"1.5s\", \"on\": true, \"none\": null,\n\"list\": [\n{\"a_long_key\": 1},\n{\"aLongKey\": 2}]}": {1, 4, 5},
	} {
		root := one(t, text)
		require.Equal(t, "x", root.Get("name").Text())
		require.Equal(t, tree.At{File: "f", Path: "name", Line: lines[0]}, placeOf(root.Get("name")))
		n, ok := root.Get("limit").Uint()
		require.True(t, ok)
		require.EqualValues(t, 16, n)
		d, ok := root.Get("time").Duration()
		require.True(t, ok)
		require.Equal(t, 1500*time.Millisecond, d)
		require.True(t, root.Get("on").True())
		require.False(t, root.Get("none").Exists())
		require.False(t, root.Get("name", "deeper", "still").Exists())
		require.Equal(t, "name.deeper.still", root.Get("name", "deeper", "still").Path)
		items := root.Get("list").Items()
		require.Len(t, items, 2)
		for i, item := range items {
			at := item.Get("a_long_key")
			require.True(t, at.Exists())
			require.Equal(t, lines[i+1], at.Line)
			require.Equal(t, at, root.Find(at.Path), "a path leads back")
		}
		require.Equal(t, "list[1].aLongKey", items[1].Get("a_long_key").Path)
	}
}

func placeOf(a tree.At) tree.At {
	a.Node = nil
	return a
}

// Keys that a path cannot be read with are quoted, and found again.
func TestFind_quoted_keys(t *testing.T) {
	root := one(t, `{"a.b": {"c d": [1, {"": 2, "x\"y": 3}]}}`)
	at := root.Get("a.b", "c d", "1", `x"y`)
	require.Equal(t, `["a.b"]["c d"][1]["x\"y"]`, at.Path)
	require.Equal(t, "3", root.Find(at.Path).Text())
	require.Equal(t, "2", root.Find(`["a.b"]["c d"][1][""]`).Text())
	for _, strange := range []string{"[", "]", `["`, "a[", "..", "[]]", "[9].x"} {
		require.False(t, root.Find(strange).Exists(), strange)
	}
}

func TestRead_aliases_and_merges(t *testing.T) {
	root := one(t, "base: &b {a: 1, b: 2}\nuse:\n  <<: *b\n  b: 3\nmany:\n  <<: [*b, {c: 4}]\ncopy: *b\n")
	require.JSONEq(t, `{"base":{"a":1,"b":2},"use":{"b":3,"a":1},"many":{"a":1,"b":2,"c":4},"copy":{"a":1,"b":2}}`, string(root.Node.JSON()))
}

func TestRead_duplicates(t *testing.T) {
	for _, text := range []string{"a:\n  b: 1\n  b: 2\n", "{\"a\":\n{\"b\": 1,\n\"b\": 2}}"} {
		documents, err := tree.Read([]byte(text))
		require.NoError(t, err)
		require.Len(t, documents[0].Duplicates, 1)
		require.Equal(t, "a.b", documents[0].Duplicates[0].Path)
		require.Equal(t, 3, documents[0].Duplicates[0].Line)
		require.JSONEq(t, `{"a":{"b":1}}`, string(documents[0].Root.JSON()))
	}
}

// A key that stands twice is found among few and among many.
func TestRead_duplicates_among_many(t *testing.T) {
	for n := range 40 {
		text := "{"
		for i := range n + 1 {
			text += fmt.Sprintf("\"k%d\": %d, ", i, i)
		}
		documents, err := tree.Read([]byte(text + `"k0": 1}`))
		require.NoError(t, err)
		require.Len(t, documents[0].Duplicates, 1)
		require.Len(t, documents[0].Root.Fields, n+1)
	}
}

func TestRead_documents(t *testing.T) {
	documents, err := tree.Read([]byte("a: 1\n---\n---\n# nothing\n---\nb: 2\n"))
	require.NoError(t, err)
	require.Len(t, documents, 2)
	require.Equal(t, 6, documents[1].Root.Line)
	documents, err = tree.Read([]byte("{\"a\": 1}\n{\"b\": 2}\n"))
	require.NoError(t, err)
	require.Len(t, documents, 2)
}

func TestRead_scalars(t *testing.T) {
	for text, want := range map[string]string{
		"a: 1_000": `{"a":1000}`, "a: 0o17": `{"a":15}`, "a: 1e3": `{"a":1e3}`, "a: .inf": `{"a":".inf"}`, "a: 0x1F": `{"a":31}`,
		"a: ~": `{"a":null}`, "a: True": `{"a":true}`, "a: yes": `{"a":"yes"}`, `a: "1"`: `{"a":"1"}`, "a: 2026-01-02": `{"a":"2026-01-02"}`,
		"a: \"\\e\"": `{"a":"\u001b"}`,
	} {
		require.Equal(t, want, string(one(t, text).Node.JSON()), text)
	}
}

func TestEmbedded(t *testing.T) {
	root := one(t, "x:\n  block: |\n    {\n      \"a\": 1\n    }\n  quoted: '{\"a\":\n    1}'\n  bad: |\n    {\n")
	for key, line := range map[string]int{"block": 4, "quoted": 6} {
		documents, err := tree.Embedded(root.Get("x", key))
		require.NoError(t, err)
		require.Equal(t, line, documents[0].Root.Fields[0].Line, key)
	}
	_, err := tree.Embedded(root.Get("x", "bad"))
	require.Error(t, err)
}

// Any text is read or refused, and what was read is written as JSON that reads the same.
func FuzzRead(f *testing.F) {
	for _, text := range []string{yamlText, "{}", "[1, {\"a\": null}]", "a: &a [*a]", "<<: {a: 1}", "? x\n: y\n", "--- |\n x\n...\n", "- - - -"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		documents, err := tree.Read(data)
		if err != nil {
			return
		}
		for _, d := range documents {
			text := d.Root.JSON()
			again, err := tree.ReadJSON(text)
			require.NoError(t, err, "%s", text)
			require.Equal(t, string(text), string(again[0].Root.JSON()))
		}
	})
}
