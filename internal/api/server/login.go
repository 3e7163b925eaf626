package server

import (
	"crypto/sha256"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"gaffer/internal/api/credential"
	"gaffer/internal/text/truncate"
)

const (
	codeLife    = time.Minute
	sessionLife = 12 * time.Hour
	maxCodes    = 1000 // maximum number of unused codes
	maxName     = 25   // maximum length of the name of a browser's token, in characters
)

// loginCodes holds the one-time login codes that were not used yet. It stores only the hashes of
// the codes, and only in memory.
type loginCodes struct {
	now    func() time.Time
	random io.Reader

	mu    sync.Mutex
	codes map[[sha256.Size]byte]login
	used  int // number of codes that browsers have exchanged for a cookie
}

// login describes the token that a browser gets in exchange for a login code, and says when the
// code expires.
type login struct {
	name    string
	role    credential.Role
	parent  string
	expires time.Time
}

// add creates a one-time login code. A browser can exchange it for a token with this name and role.
// The parameter parent is the id of the token that the new one depends on; it may be empty. add
// returns the code and when the code expires, or an error if there are already maxCodes unused
// codes.
func (l *loginCodes) add(name string, role credential.Role, parent string) (string, time.Time, error) {
	code, err := credential.Secret(l.random)
	if err != nil {
		return "", time.Time{}, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	if l.codes == nil {
		l.codes = map[[sha256.Size]byte]login{}
	}
	for sum, old := range l.codes {
		if !now.Before(old.expires) {
			delete(l.codes, sum)
		}
	}
	if len(l.codes) >= maxCodes {
		return "", time.Time{}, tooMany()
	}
	expires := now.Add(codeLife)
	l.codes[sha256.Sum256([]byte(code))] = login{name, role, parent, expires}
	return code, expires, nil
}

// use returns the login for which a code was created, and deletes the code. It returns false if the
// code is unknown, expired or already used.
func (l *loginCodes) use(code string) (login, bool) {
	sum := sha256.Sum256([]byte(code))
	l.mu.Lock()
	defer l.mu.Unlock()
	found, ok := l.codes[sum]
	delete(l.codes, sum)
	ok = ok && l.now().Before(found.expires)
	if ok {
		l.used++
	}
	return found, ok
}

// LoginPath creates a one-time login link for the user who started the server. It returns the path
// and the query of the link. A browser that opens the link gets a token with the role operator.
func (s *Server) LoginPath() (string, error) {
	code, _, err := s.logins.add("browser", credential.Operator, "")
	return "/login?code=" + code, err
}

// Visited reports whether any browser has logged in.
func (s *Server) Visited() bool {
	s.logins.mu.Lock()
	defer s.logins.mu.Unlock()
	return s.logins.used > 0
}

// Watched reports whether any client follows the event stream, as each open page of the dashboard
// does.
func (s *Server) Watched() bool { return s.hub.followers() > 0 }

// loginHandlers logs browsers in and out.
type loginHandlers struct {
	codes  *loginCodes
	tokens *credential.TokenStore
	access *accessControl
	log    *slog.Logger
}

type loginLink struct {
	Path    string    `json:"path"` // path and query of the link, which works once
	Expires time.Time `json:"expires_at"`
}

// link creates a one-time link that logs a browser in. The browser gets the role of the token that
// the client has sent, and loses access when that token is revoked.
func (h *loginHandlers) link(c *request) error {
	code, expires, err := h.codes.add("browser of "+c.by.Name, c.by.Role, c.by.ID)
	if err != nil {
		return err
	}
	writeJSON(c.w, c.route.status, loginLink{Path: "/login?code=" + code, Expires: expires.UTC()})
	return nil
}

// login exchanges a code for a cookie. The cookie contains a new token. The user can list and
// revoke it like any other token, and every coordinator on the same database accepts it.
func (h *loginHandlers) login(c *request) error {
	if c.r.Method != http.MethodGet {
		return refuse(http.StatusMethodNotAllowed, "method_not_allowed", "a code is used with GET")
	}
	query := c.r.URL.Query()
	place, ok := redirectTarget(query["to"])
	if !ok {
		return refuse(http.StatusBadRequest, "invalid_request", "to is a place on this server's page, such as #/runs/ID")
	}
	found, ok := h.codes.use(query.Get("code"))
	if !ok {
		return h.access.unauthorized("the link was used before or is too old: ask for another one")
	}
	ctx, cancel := c.context()
	defer cancel()
	text, row, err := h.tokens.Create(ctx, credential.TokenSpec{Role: found.role, Name: truncate.Chars(found.name, maxName), Parent: found.parent, ExpiresAfter: sessionLife})
	if err != nil {
		return fmt.Errorf("make the token of a browser: %w", err)
	}
	c.by, c.about = row.Identity(), "logged in"
	http.SetCookie(c.w, c.newCookie(text, int(sessionLife.Seconds())))
	c.w.Header().Set("Location", place)
	c.w.WriteHeader(http.StatusSeeOther)
	h.log.Info("logged in", "by", row.ID, "name", row.Name, "role", row.Role, "from", c.from)
	return nil
}

// maxRedirect is the maximum length of the address to which a login link redirects, in
// bytes.
const maxRedirect = 1000

// redirectTarget returns where a browser goes after login: to the dashboard, or to a page within
// it. It accepts only a URL fragment that begins with "#/", such as #/runs/ID, so that a
// manipulated link cannot send the user to another site.
func redirectTarget(to []string) (location string, ok bool) {
	switch {
	case len(to) == 0 || len(to) == 1 && to[0] == "":
		return "/", true
	case len(to) > 1 || len(to[0]) > maxRedirect || !strings.HasPrefix(to[0], "#/") || strings.HasPrefix(to[0], "#//"):
		return "", false
	}
	odd := func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune(`"#<>\^`+"`{|}", r) }
	return "/" + to[0], !strings.ContainsFunc(to[0][1:], odd)
}

type loggedOut struct {
	LoggedOut bool `json:"logged_out"`
}

func (h *loginHandlers) logout(c *request) error {
	if c.how != cookie {
		return refuse(http.StatusBadRequest, "invalid_request", "only a browser's session can be logged out; tokens are revoked")
	}
	ctx, cancel := c.context()
	defer cancel()
	if _, err := h.tokens.Revoke(ctx, c.by.ID); err != nil {
		return err
	}
	http.SetCookie(c.w, c.newCookie("", -1))
	writeJSON(c.w, c.route.status, loggedOut{true})
	return nil
}

func (c *request) newCookie(value string, age int) *http.Cookie {
	return &http.Cookie{
		Name: c.cookieName(), Value: value, Path: "/", MaxAge: age,
		HttpOnly: true, Secure: c.tls, SameSite: http.SameSiteStrictMode,
	}
}

// cookieName returns the name of the login cookie, for example gaffer-4711. The name contains the
// server's port, because browsers send the cookies of a host to all of its ports. If a trusted
// proxy forwarded the request, the name contains the proxy's port.
func (c *request) cookieName() string {
	if c.sitePort == "" {
		return "gaffer"
	}
	return "gaffer-" + c.sitePort
}
