package chattemplate_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tidwall/gjson"

	"github.com/pointsman/pointsman/statesvc/tokenize/chattemplate"
	"github.com/pointsman/pointsman/statesvc/tokenize/tokenizetest"
)

func config(t testing.TB, family string) gjson.Result {
	data, err := os.ReadFile(tokenizetest.File(t, family, "tokenizer_config.json"))
	require.NoError(t, err)
	return gjson.ParseBytes(data)
}

// args makes a template's arguments as the golden answers were made.
func args(t testing.TB, config gjson.Result, raw []byte) *chattemplate.Dict {
	d := chattemplate.NewDict()
	d.Set("tools", nil)
	d.Set("add_generation_prompt", true)
	for _, name := range []string{"bos_token", "eos_token", "pad_token", "unk_token"} {
		v := config.Get(name)
		if v.IsObject() {
			v = v.Get("content")
		}
		if v.Type == gjson.String {
			d.Set(name, v.Str)
		}
	}
	gjson.ParseBytes(raw).ForEach(func(key, v gjson.Result) bool {
		value, err := chattemplate.FromJSON(v)
		require.NoError(t, err)
		d.Set(key.Str, value)
		return true
	})
	return d
}

func TestRendersAsTheReferenceDoes(t *testing.T) {
	for _, family := range []string{"qwen3", "llama3_1", "deepseek_v3"} {
		t.Run(family, func(t *testing.T) {
			config := config(t, family)
			template, err := chattemplate.Compile(config.Get("chat_template").Str)
			require.NoError(t, err)
			for _, g := range tokenizetest.ReadGolden(t, family).Chats {
				got, err := template.Render(t.Context(), args(t, config, g.Args), chattemplate.For(len(g.Args)))
				if g.Error != "" {
					require.Error(t, err, g.Name)
					continue
				}
				require.NoError(t, err, g.Name)
				require.Equal(t, g.Rendered, got, g.Name)
			}
		})
	}
}

func TestGptossComesWithoutATemplate(t *testing.T) {
	require.False(t, config(t, "gptoss").Get("chat_template").Exists(), "its renders could be golden too")
}
