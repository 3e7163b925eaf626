package server

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// ParseProxies parses the addresses of proxies. Each is an IP address, or a range such as
// 10.0.0.0/24. A range of all addresses is an error, because then any client could claim to be a
// proxy.
func ParseProxies(list []string) (proxies []netip.Prefix, err error) {
	for _, text := range list {
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			address, wrong := netip.ParseAddr(text)
			if wrong != nil || address.Zone() != "" {
				return nil, fmt.Errorf("proxy %q: want an IP address such as 10.0.0.2, or a range such as 10.0.0.0/24", text)
			}
			prefix = netip.PrefixFrom(address.Unmap(), address.Unmap().BitLen())
		}
		if prefix.Bits() == 0 {
			return nil, fmt.Errorf("proxy %q: names every address, so that every client could say where it comes from", text)
		}
		proxies = append(proxies, prefix.Masked())
	}
	return proxies, nil
}

// arrival describes how a request has reached the server: the client's address, the requested host,
// and whether the client's connection is encrypted. If a trusted proxy forwarded the request, the
// data comes from the proxy's headers and describes the proxy's client.
type arrival struct {
	from             string     // the client's address as text, for the log
	client           netip.Addr // the client's address; not valid if it cannot be parsed
	host             string     // host name that the client requested
	hosts            []string   // every host name in the request's headers; a request with an unknown one is refused
	tls              bool
	proxied          bool // the request comes from a trusted proxy and has X-Forwarded headers
	untrustedHeaders bool // the request has X-Forwarded headers, but not from a trusted proxy
	sitePort         string
}

// forwardedBy are the headers in which proxies describe the client.
var forwardedBy = []string{"X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"}

func (s *Server) arrivalOf(r *http.Request) arrival {
	a := arrival{from: r.RemoteAddr, client: addressOf(r.RemoteAddr), host: r.Host, hosts: []string{r.Host}, tls: s.opts.TLS != nil}
	if local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok {
		_, a.sitePort, _ = net.SplitHostPort(local.String()) // never fails for a TCP address
	}
	forwarded := slices.ContainsFunc(forwardedBy, func(name string) bool { return r.Header.Get(name) != "" })
	if !s.trusted(a.client) {
		a.untrustedHeaders = forwarded
		return a
	}
	// Each proxy appends the address of its client. Read the list from the right: the first address
	// that is not a trusted proxy is the client. Ignore the addresses to the left of it, because
	// the client may have forged them.
	hops := listed(r.Header, "X-Forwarded-For")
	for i := len(hops) - 1; i >= 0; i-- {
		hop := addressOf(hops[i])
		if !hop.IsValid() {
			break
		}
		a.client, a.from = hop, hop.String()
		if !s.trusted(hop) {
			break
		}
	}
	if protocols := listed(r.Header, "X-Forwarded-Proto"); len(protocols) > 0 {
		a.tls = strings.EqualFold(protocols[len(protocols)-1], "https")
	}
	hosts := listed(r.Header, "X-Forwarded-Host")
	if len(hosts) > 0 {
		a.host, a.hosts = hosts[0], append(a.hosts, hosts...)
	}
	if a.proxied = forwarded; a.proxied {
		a.sitePort = portOf(a.host, a.tls)
	}
	return a
}

func (s *Server) trusted(address netip.Addr) bool {
	return address.IsValid() && slices.ContainsFunc(s.opts.Proxies, func(p netip.Prefix) bool { return p.Contains(address) })
}

// listed returns the values of a header that may be repeated and may contain several
// values separated by commas.
func listed(h http.Header, name string) (list []string) {
	for _, line := range h.Values(name) {
		for value := range strings.SplitSeq(line, ",") {
			if value = strings.TrimSpace(value); value != "" {
				list = append(list, value)
			}
		}
	}
	return list
}

// addressOf parses an address with or without a port. The result is not valid if the text
// is not an address.
func addressOf(text string) netip.Addr {
	if with, err := netip.ParseAddrPort(text); err == nil {
		return with.Addr().Unmap().WithZone("")
	}
	address, _ := netip.ParseAddr(strings.Trim(text, "[]"))
	return address.Unmap().WithZone("")
}

// portOf returns the port of a host such as "example.org:81", or the default port if it has none:
// 443 with tls, else 80.
func portOf(host string, tls bool) string {
	if _, port, err := net.SplitHostPort(host); err == nil && port != "" {
		return port
	}
	if tls {
		return "443"
	}
	return "80"
}

// onThisMachine reports whether the client is a program on this machine. It returns false if a
// proxy that is not trusted forwarded the request, because then the client may be anywhere.
func (a arrival) onThisMachine() bool { return a.client.IsLoopback() && !a.untrustedHeaders }
