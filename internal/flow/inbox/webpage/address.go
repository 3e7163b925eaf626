package webpage

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"
)

// RefusedError reports an address that gaffer refuses to fetch. Either it is not a valid http or
// https address, or it contains a user name or password, or it is not on the public internet.
type RefusedError struct {
	Address string
	Problem string
}

func (e *RefusedError) Error() string { return e.Address + " " + e.Problem }

// dial connects to a host. It resolves the host's name only once, checks all resulting addresses,
// and connects to one of them. A second lookup for the connection could return another address,
// which was not checked (DNS rebinding).
func (f Fetcher) dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	addresses, err := f.lookup(ctx, host)
	if err != nil {
		return nil, err
	}
	for _, a := range addresses {
		if err := checkAddress(host, a); err != nil {
			return nil, err
		}
	}
	var failures []error
	for _, a := range addresses {
		conn, err := f.open(ctx, network, net.JoinHostPort(a.String(), port))
		if err == nil {
			return conn, nil
		}
		failures = append(failures, err)
	}
	return nil, errors.Join(failures...)
}

func (f Fetcher) lookup(ctx context.Context, host string) ([]netip.Addr, error) {
	if a, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{a}, nil
	}
	resolve := f.resolve
	if resolve == nil {
		resolve = func(ctx context.Context, host string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		}
	}
	addresses, err := resolve(ctx, host)
	if err == nil && len(addresses) == 0 {
		err = fmt.Errorf("%s has no address", host)
	}
	return addresses, err
}

func (f Fetcher) open(ctx context.Context, network, address string) (net.Conn, error) {
	if f.connect != nil {
		return f.connect(ctx, network, address)
	}
	dialer := net.Dialer{Control: checkDial}
	return dialer.DialContext(ctx, network, address)
}

// checkDial checks an address once more, immediately before the dialer connects to it.
func checkDial(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return &RefusedError{address, "is not an address on the network"}
	}
	return checkAddress(address, at.Addr())
}

func checkAddress(host string, a netip.Addr) error {
	if Public(a) {
		return nil
	}
	name := host
	if host != a.String() {
		name = fmt.Sprintf("%s (%s)", host, a)
	}
	return &RefusedError{name, "is not on the public internet; only public pages are fetched"}
}

// reserved lists the address ranges that are not on the public internet: all such ranges of IPv4,
// and those of IPv6 that are within globalIPv6.
var reserved = prefixes(
	"0.0.0.0/8",       // this network
	"10.0.0.0/8",      // private
	"100.64.0.0/10",   // carrier-grade NAT
	"127.0.0.0/8",     // loopback
	"169.254.0.0/16",  // link-local; cloud metadata
	"172.16.0.0/12",   // private
	"192.0.0.0/24",    // protocol assignments
	"192.0.2.0/24",    // documentation
	"192.88.99.0/24",  // relays to IPv6
	"192.168.0.0/16",  // private
	"198.18.0.0/15",   // benchmarks
	"198.51.100.0/24", // documentation
	"203.0.113.0/24",  // documentation
	"224.0.0.0/3",     // multicast, reserved and broadcast
	"2001::/23",       // protocol assignments, such as Teredo tunnels to IPv4 addresses
	"2001:db8::/32",   // documentation
	"2002::/16",       // 6to4: tunnels to IPv4 addresses
	"3fff::/20",       // documentation
)

// globalIPv6 is the IPv6 range of the public internet. Ranges such as 64:ff9b::/96, whose addresses
// contain an IPv4 address, are outside of it.
var globalIPv6 = netip.MustParsePrefix("2000::/3")

func prefixes(all ...string) []netip.Prefix {
	parsed := make([]netip.Prefix, len(all))
	for i, text := range all {
		parsed[i] = netip.MustParsePrefix(text)
	}
	return parsed
}

// Public reports whether an address is on the public internet.
func Public(a netip.Addr) bool {
	if !a.IsValid() || a.Zone() != "" {
		return false
	}
	a = a.Unmap()
	if a.Is6() && !globalIPv6.Contains(a) {
		return false
	}
	for _, p := range reserved {
		if p.Contains(a) {
			return false
		}
	}
	return true
}
