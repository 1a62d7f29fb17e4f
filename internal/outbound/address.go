package outbound

import (
	"errors"
	"fmt"
	"net/netip"
	"syscall"
)

// errNotPublic ends a connection to an address that is not public.
var errNotPublic = errors.New("the address is not public")

// control is a net.Dialer.Control that refuses addresses that are not public. It sees the address that is dialed,
// after names were resolved.
func control(network, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("%w: %w", errNotPublic, err)
	}
	if network != "tcp4" && network != "tcp6" || !isPublic(at.Addr()) {
		return errNotPublic
	}
	return nil
}

// global6 is what is assigned for the Internet in IPv6. What else there is, such as loopback, link-local and private
// addresses, IPv4 inside of IPv6 and NAT64 (RFC 6052, RFC 8215), is outside of it.
var global6 = netip.MustParsePrefix("2000::/3")

// reserved are the blocks within IPv4, and within global6, that are not for the Internet: the registries of special
// addresses of IANA (RFC 6890 and its updates), and multicast.
var reserved = parsePrefixes(
	"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24",
	"192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
	"2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20",
)

func parsePrefixes(list ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(list))
	for i, s := range list {
		out[i] = netip.MustParsePrefix(s)
	}
	return out
}

// isPublic reports whether an address is one of the Internet.
func isPublic(ip netip.Addr) bool {
	if ip = ip.Unmap().WithZone(""); ip.Is6() && !global6.Contains(ip) {
		return false
	}
	for _, p := range reserved {
		if p.Contains(ip) {
			return false
		}
	}
	return ip.IsValid()
}
