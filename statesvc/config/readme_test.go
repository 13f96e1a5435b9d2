package config_test

import (
	"os"
	"regexp"
	"testing"

	"github.com/pointsman/pointsman/statesvc/config"
	"github.com/stretchr/testify/require"
)

// Every configuration that the README shows is one that is taken.
func TestReadme_examples(t *testing.T) {
	text, err := os.ReadFile("../README.md")
	require.NoError(t, err)
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllSubmatch(text, -1)
	require.NotEmpty(t, blocks)
	for _, block := range blocks {
		cfg, err := config.Parse(block[1], noEnv)
		require.NoError(t, err, "%s", block[1])
		require.True(t, cfg.Discovery.Any())
	}
}
