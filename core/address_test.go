package core

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLiteralAddress(t *testing.T) {
	for _, s := range []string{"127.0.0.1:8000", "10.255.0.1:1", "[::1]:8000", "[2001:db8::1]:65535", "[::ffff:10.0.0.1]:80"} {
		require.True(t, LiteralAddress(s), s)
	}
	for _, s := range []string{
		"", ":", "127.0.0.1", "127.0.0.1:", "127.0.0.1:0", "127.0.0.1:65536", "127.0.0.1:-1", "127.0.0.1:80 ",
		"localhost:8000", "256.0.0.1:80", "1.2.3:80", "1.2.3.4.5:80", "1.2.3.0004:80", "10.0.0.010:80", "::1:8000", "[]:80", "[::1]", "[1.2.3.4]:80",
		"127.0.0.1:80,127.0.0.2:80", "127.0.0.1:80\r\nx-evil: 1", "http://127.0.0.1:80",
	} {
		require.False(t, LiteralAddress(s), "%q", s)
	}
}

func TestServiceName(t *testing.T) {
	for _, s := range []string{"prod/chat", "a/b", "team-7/llm-0"} {
		require.True(t, ServiceName(s), s)
	}
	long := strings.Repeat("x", 64)
	for _, s := range []string{"", "/", "chat", "prod/", "/chat", "prod/chat/x", "Prod/chat", "prod/chat ", "-a/b", "a/b-", "a.b/c", long + "/a", "a/" + long} {
		require.False(t, ServiceName(s), "%q", s)
	}
}
