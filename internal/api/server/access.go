package server

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"

	"gaffer/internal/api/credential"
)

// credentialKind says where in a request the client's token is: in a header (bearer), in the URL
// (query) or in a cookie.
type credentialKind int

const (
	none credentialKind = iota
	bearer
	query
	cookie
)

// accessControl decides which requests the server handles and which it refuses.
type accessControl struct {
	tokens    *credential.TokenStore
	limiter   *rateLimiter
	hosts     map[string]bool // host names of this server
	openReads bool            // clients on this machine may read without a token
}

// admit returns an error for a request that names an unknown host, comes from a web page of another
// site, or lacks the permission that the request's route requires.
func (a *accessControl) admit(c *request) error {
	// A health check may use any host name, unless it has the header Origin, which web pages send.
	if !c.route.anyHost || c.r.Header.Get("Origin") != "" {
		if err := a.checkHost(c); err != nil {
			return err
		}
	}
	if err := c.checkOrigin(); err != nil {
		return err
	}
	if c.route.access == open {
		return nil
	}
	if err := a.authenticate(c); err != nil {
		return err
	}
	if c.by.Limited() && !c.route.limited {
		return refuse(http.StatusForbidden, "limited", fmt.Sprintf("the token %s is limited to %s: it takes and reports tasks of those, and is no good for anything else", c.by.ID, c.by.Text()))
	}
	if !c.route.access.permits(c.by.Role) {
		return refuse(http.StatusForbidden, "forbidden", fmt.Sprintf("the role %s may not do this", c.by.Role))
	}
	return nil
}

// authenticate identifies the client by its token, applies the token's rate limit, and checks for
// cross-site request forgery. A client without a token gets an error, except that clients on this
// machine may read if openReads is set.
func (a *accessControl) authenticate(c *request) error {
	text, how := c.token()
	if how == none {
		if a.openReads && c.onThisMachine() && c.route.access == look && c.route.method == http.MethodGet {
			c.by = credential.Identity{Name: "anyone", Role: credential.Viewer}
			return nil
		}
		return a.unauthorized("a token is needed: Authorization: Bearer TOKEN, or X-Api-Key: TOKEN")
	}
	ctx, cancel := c.context()
	defer cancel()
	by, err := a.tokens.Check(ctx, text)
	if anyError(err, (*credential.Error).Unknown) {
		return a.unauthorized(err.Error())
	}
	if err != nil {
		return fmt.Errorf("check a token: %w", err)
	}
	c.by, c.how = by, how
	markAuthenticated(c.r.Context())
	if !a.limiter.allow(by.Root) {
		return tooMany()
	}
	return c.checkForgery()
}

// token returns the token of a request and where it was found. A token in the URL is accepted only
// for GET and HEAD requests. The header X-Api-Key and the query parameter api_key are accepted,
// because third-party clients use these names.
func (c *request) token() (string, credentialKind) {
	if scheme, text, ok := strings.Cut(c.r.Header.Get("Authorization"), " "); ok && strings.EqualFold(scheme, "Bearer") {
		return strings.TrimSpace(text), bearer
	}
	if text := strings.TrimSpace(c.r.Header.Get("X-Api-Key")); text != "" {
		return text, bearer
	}
	if c.r.Method == http.MethodGet || c.r.Method == http.MethodHead {
		for _, name := range []string{"token", "api_key"} {
			if text := c.r.URL.Query().Get(name); text != "" {
				return text, query
			}
		}
	}
	if k, err := c.r.Cookie(c.cookieName()); err == nil && k.Value != "" {
		return k.Value, cookie
	}
	return "", none
}

// unauthorized returns the error for a client without a valid token. All these clients share one
// rate limit; if they exceed it, the error is "too many requests".
func (a *accessControl) unauthorized(message string) error {
	if !a.limiter.allow(unauthenticated) {
		return tooMany()
	}
	p := refuse(http.StatusUnauthorized, "unauthorized", message)
	p.header = map[string]string{"WWW-Authenticate": `Bearer realm="gaffer"`}
	return p
}

func tooMany() error {
	p := refuse(http.StatusTooManyRequests, "rate_limited", "too many requests: wait a second")
	p.header = map[string]string{"Retry-After": "1"}
	return p
}

// HostsOf lists the host names by which clients may address a server that listens on address. The
// list contains the names in extra and, except for an unspecified address such as 0.0.0.0, the IP
// address itself. For a loopback address it also contains the loopback names, such as localhost.
// For an unspecified address it contains the loopback names, this machine's name and all of this
// machine's addresses.
func HostsOf(address net.Addr, extra []string) ([]string, error) {
	tcp, ok := address.(*net.TCPAddr)
	if !ok {
		return nil, errors.New("the server listens on no TCP address")
	}
	hosts := slices.Clone(extra)
	if !tcp.IP.IsUnspecified() {
		hosts = append(hosts, tcp.IP.String())
	}
	if tcp.IP.IsLoopback() || tcp.IP.IsUnspecified() {
		hosts = append(hosts, "localhost", "127.0.0.1", "::1")
	}
	if !tcp.IP.IsUnspecified() {
		return hosts, nil
	}
	if name, err := os.Hostname(); err == nil {
		hosts = append(hosts, name)
	}
	all, err := net.InterfaceAddrs()
	if err != nil {
		return nil, fmt.Errorf("the addresses of this machine: %w", err)
	}
	for _, a := range all {
		if n, ok := a.(*net.IPNet); ok {
			hosts = append(hosts, n.IP.String())
		}
	}
	return hosts, nil
}

func hostSet(hosts []string) map[string]bool {
	set := map[string]bool{}
	for _, h := range hosts {
		if net.ParseIP(h) == nil {
			h = hostname(h)
		}
		set[h] = true
	}
	return set
}

// checkHost rejects requests for unknown host names. This prevents DNS rebinding, in which a web
// page's own host name resolves to this machine. The Host header is checked even if the request
// comes from the address of a trusted proxy: the client may be a browser on the proxy's machine,
// and a web page in that browser can send any X-Forwarded-Host.
func (a *accessControl) checkHost(c *request) error {
	for _, name := range c.hosts {
		if !a.hosts[hostname(name)] {
			return refuse(http.StatusForbidden, "foreign_host", fmt.Sprintf("this coordinator is not called %.100q: --host names more", name))
		}
	}
	return nil
}

func hostname(host string) string {
	u := url.URL{Host: host}
	return strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
}

// checkOrigin rejects requests from web pages of other origins: the host in the header Origin must
// be the host that the client requested. The scheme may differ, because TLS may end at a proxy that
// this server does not know as a trusted proxy.
func (c *request) checkOrigin() error {
	for _, origin := range c.r.Header.Values("Origin") {
		u, err := url.Parse(origin)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || !strings.EqualFold(u.Host, c.host) {
			return refuse(http.StatusForbidden, "foreign_origin", "pages of other places may not ask this coordinator")
		}
	}
	return nil
}

// checkForgery guards against cross-site request forgery. If only a cookie authenticates a request
// that changes something, the request must prove that a page of this server sent it, because
// browsers add the cookie to requests of other pages too.
func (c *request) checkForgery() error {
	if c.how != cookie || c.r.Method == http.MethodGet || c.r.Method == http.MethodHead {
		return nil
	}
	if c.r.Header.Get("Origin") != "" || c.r.Header.Get("Sec-Fetch-Site") == "same-origin" {
		return nil // the Origin, if set, is this server's: checkOrigin has checked it
	}
	return refuse(http.StatusForbidden, "forgery", "a change by cookie needs the Origin of this server's own page")
}
