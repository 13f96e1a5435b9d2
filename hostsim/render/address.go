package render

import (
	"errors"
	"net"
	"net/netip"
	"regexp"
	"strconv"
)

// Address is a host and a port.
type Address struct {
	Host string // an IP literal without brackets, or a DNS name
	Port uint16
}

// Literal reports whether the host is an IP address.
func (a Address) Literal() bool {
	_, err := netip.ParseAddr(a.Host)
	return err == nil
}

func (a Address) String() string {
	return net.JoinHostPort(a.Host, strconv.Itoa(int(a.Port)))
}

// hostName is a DNS name as Kubernetes and Envoy take it.
var hostName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)

// ParseAddress reads host:port, with IPv6 addresses in brackets.
func ParseAddress(text string) (Address, error) {
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		return Address{}, errors.New("is not host:port")
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 {
		return Address{}, errors.New("has no port from 1 to 65535")
	}
	a := Address{Host: host, Port: uint16(n)}
	if !a.Literal() && (len(host) > 253 || !hostName.MatchString(host)) {
		return Address{}, errors.New("has a host that is neither an IP address nor a DNS name in lower case")
	}
	return a, nil
}

// ReadAddress reads the host:port of a flag or a setting, and refuses what is none.
func ReadAddress(path, text string, refused *Refusals) (Address, bool) {
	a, err := ParseAddress(text)
	if err != nil {
		refused.Add(path, "an address like 10.0.0.7:8000", "%q %v", text, err)
	}
	return a, err == nil
}

// ReadListen is ReadAddress of where a proxy listens, which is an IP address.
func ReadListen(path, text string, refused *Refusals) (Address, bool) {
	a, ok := ReadAddress(path, text, refused)
	if ok && !a.Literal() {
		refused.Add(path, "an address like 0.0.0.0:8080", "%q is a name, and proxies listen on IP addresses", text)
		return Address{}, false
	}
	return a, ok
}
