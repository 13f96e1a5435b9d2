package core

import (
	"strconv"
	"strings"
)

// LiteralAddress reports whether s is a literal ip:port, [ip]:port for IPv6:
// the only form a host's endpoint header takes, and one that no header can be
// split with. It reads the form, not the reachability; an IPv6 address is held
// to its alphabet only.
func LiteralAddress(s string) bool {
	colon := strings.LastIndexByte(s, ':')
	if colon < 0 {
		return false
	}
	host, port := s[:colon], s[colon+1:]
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return false
	}
	if len(host) > 2 && host[0] == '[' && host[len(host)-1] == ']' {
		return ipv6(host[1 : len(host)-1])
	}
	return ipv4(host)
}

func ipv4(s string) bool {
	octets := 0
	for part := range strings.SplitSeq(s, ".") {
		octets++
		n, err := strconv.ParseUint(part, 10, 16)
		if err != nil || n > 255 || (len(part) > 1 && part[0] == '0') {
			return false
		}
	}
	return octets == 4
}

func ipv6(s string) bool {
	colons := strings.Count(s, ":")
	return colons >= 2 && colons <= 7 && strings.Trim(s, "0123456789abcdefABCDEF:.") == ""
}

// ServiceName reports whether a text names a Kubernetes Service as namespace/name
// (engine-selection.md 2.1).
func ServiceName(s string) bool {
	namespace, name, ok := strings.Cut(s, "/")
	return ok && label(namespace) && label(name)
}

// label reports whether a text is a DNS label (RFC 1123): lower-case letters,
// digits and hyphens inside, 63 at most.
func label(s string) bool {
	return s != "" && len(s) <= 63 && s[0] != '-' && s[len(s)-1] != '-' &&
		strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
}
