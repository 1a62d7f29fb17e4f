package outbound

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"github.com/slipboxhq/slipbox/internal/clip"
)

// All is the entry for every host.
const All = "*"

// maxHosts bounds a list of hosts.
const maxHosts = 1_000

// Hosts is a list of hosts. The zero value has none.
type Hosts struct{ entries []entry }

// entry is a host with a port ("": every port). A name that begins with a dot stands for all names below it.
type entry struct{ host, port string }

// ParseHosts parses entries: "example.com", "example.com:8443", "*.example.com" for the names below it, "192.0.2.1",
// "[2001:db8::1]:8443", or All.
func ParseHosts(list ...string) (Hosts, error) {
	var h Hosts
	if len(list) > maxHosts {
		return h, fmt.Errorf("at most %d hosts are possible", maxHosts)
	}
	for _, s := range list {
		if s = strings.TrimSpace(s); s == "" {
			continue
		}
		e, ok := parseEntry(s)
		if !ok {
			return Hosts{}, fmt.Errorf("%q is no host; write it as example.com, example.com:8443, *.example.com, 192.0.2.1 or *", clip.Bytes(s, 100))
		}
		h.entries = append(h.entries, e)
	}
	return h, nil
}

func parseEntry(s string) (e entry, ok bool) {
	if s == All {
		return entry{host: All}, true
	}
	if ip, err := netip.ParseAddr(strings.Trim(s, "[]")); err == nil {
		return entry{host: canonical(ip.String())}, true
	}
	host, port := s, ""
	if strings.Contains(s, ":") {
		var err error
		if host, port, err = net.SplitHostPort(s); err != nil {
			return e, false
		}
		if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 || strconv.Itoa(n) != port {
			return e, false
		}
	}
	name, below := strings.CutPrefix(host, "*.")
	if _, err := netip.ParseAddr(name); err != nil && !isName(name) || below && err == nil {
		return e, false
	}
	if name = canonical(name); below {
		name = "." + name
	}
	return entry{host: name, port: port}, true
}

// canonical returns the one form of a host: lower case, no final dot, an address without its zone and without IPv6
// around IPv4.
func canonical(host string) string {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.Unmap().WithZone("").String()
	}
	return host
}

// isName reports whether a text is a name of a host, in ASCII.
func isName(s string) bool {
	s = strings.TrimSuffix(s, ".")
	if s == "" || len(s) > 253 {
		return false
	}
	for label := range strings.SplitSeq(s, ".") {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
		for _, c := range []byte(label) {
			if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_' {
				return false
			}
		}
	}
	return true
}

// Has reports whether the list has a host with a port.
func (h Hosts) Has(host, port string) bool {
	host = canonical(host)
	for _, e := range h.entries {
		if e.port != "" && e.port != port {
			continue
		}
		if e.host == All || e.host == host || strings.HasPrefix(e.host, ".") && strings.HasSuffix(host, e.host) {
			return true
		}
	}
	return false
}

// HasAll reports whether the list has the entry for every host.
func (h Hosts) HasAll() bool {
	for _, e := range h.entries {
		if e.host == All {
			return true
		}
	}
	return false
}
