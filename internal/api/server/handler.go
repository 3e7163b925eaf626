package server

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"path"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"gaffer/internal/api/credential"
)

// call is one request while it is being handled.
type call struct {
	*Server
	arrival
	w     *recorder
	r     *http.Request
	route route
	by    credential.Identity
	how   credentialKind
	id    string // of the request, for the log
	about string // what was changed, for the log
	quiet bool   // the change is not worth a log line
}

// recorder remembers the status of the answer.
type recorder struct {
	http.ResponseWriter
	status int
}

func (w *recorder) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write records the status too: the underlying writer sends 200 if none was set.
func (w *recorder) Write(data []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	return w.ResponseWriter.Write(data)
}

func (w *recorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// newHandler registers the routes by path, so that the protocol's own error answers a
// method that a path does not have.
func (s *Server) newHandler(table []route) http.Handler {
	mux := http.NewServeMux()
	byPath := map[string][]route{}
	for _, r := range table {
		r.label = r.name()
		byPath[r.path] = append(byPath[r.path], r)
	}
	for path, list := range byPath {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) { s.dispatch(w, r, list) })
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { s.run(w, r, route{do: (*call).nowhere, access: open}) })
	return s.front(mux)
}

// front handles every request first, whether its path is known or not.
func (s *Server) front(mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		harden(w.Header())
		if dirty(r.URL.EscapedPath()) {
			s.run(w, r, route{do: (*call).nowhere, access: open})
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// dirty reports whether a path has empty parts, dots or a trailing slash. The mux would
// redirect these with an HTML page.
func dirty(escaped string) bool {
	return escaped != "/" && (escaped != path.Clean(escaped) || !strings.HasPrefix(escaped, "/"))
}

// harden sets headers that restrict what browsers do with an answer.
func harden(h http.Header) {
	all := [...][2]string{
		{"X-Content-Type-Options", "nosniff"},
		{"X-Frame-Options", "DENY"},
		{"Referrer-Policy", "no-referrer"},
		{"Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'"},
		{"Cross-Origin-Resource-Policy", "same-origin"},
		{"Cache-Control", "no-store"},
	}
	values := make([]string, len(all)) // one allocation; the capacities let each value be changed separately
	for i, header := range all {
		values[i] = header[1]
		h[header[0]] = values[i : i+1 : i+1]
	}
}

func (s *Server) dispatch(w http.ResponseWriter, r *http.Request, list []route) {
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	if i := slices.IndexFunc(list, func(a route) bool { return a.method == method }); i >= 0 {
		s.run(w, r, list[i])
		return
	}
	s.run(w, r, route{access: open, path: list[0].path, do: func(c *call) error { return wrongMethod(list) }})
}

func wrongMethod(list []route) error {
	var allow []string
	for _, r := range list {
		allow = append(allow, r.method)
		if r.method == http.MethodGet {
			allow = append(allow, http.MethodHead)
		}
	}
	p := refuse(http.StatusMethodNotAllowed, "method_not_allowed", "this path has "+strings.Join(allow, ", "))
	p.header = map[string]string{"Allow": strings.Join(allow, ", ")}
	return p
}

func (c *call) nowhere() error {
	return refuse(http.StatusNotFound, "not_found", "there is no such path: /openapi.json has them all")
}

// run handles one request, from admission to the log line.
func (s *Server) run(w http.ResponseWriter, r *http.Request, to route) {
	started := time.Now()
	s.metrics.underWay.Add(1)
	defer s.metrics.underWay.Add(-1)
	c := &call{Server: s, arrival: s.arrivalOf(r), w: &recorder{ResponseWriter: w}, r: r, route: to, id: s.requestID()}
	w.Header().Set("X-Request-Id", c.id)
	err := c.guarded()
	if err != nil && c.w.status == 0 {
		problemOf(err).write(c.w)
	}
	s.metrics.count(to, c.w.status, time.Since(started))
	c.tell(err)
	if errors.Is(err, errCut) {
		panic(http.ErrAbortHandler)
	}
}

// errCut means that an answer cannot be sent completely. The connection is cut, so that
// the client does not take the part for the whole.
var errCut = errors.New("the answer was cut off")

func (s *Server) requestID() string {
	var bits [8]byte
	_, _ = io.ReadFull(s.opts.Random, bits[:]) // a duplicate id is only a nuisance
	return hex.EncodeToString(bits[:])
}

var errPanic = errors.New("panic")

func (c *call) guarded() (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v\n%s", errPanic, p, debug.Stack())
		}
	}()
	if err := c.admit(); err != nil {
		return err
	}
	return c.route.do(c)
}

// admit rejects requests for another host, from foreign web pages, and from clients
// without the permission.
func (c *call) admit() error {
	if !c.route.anyHost || c.r.Header.Get("Origin") != "" { // a probe has no origin, pages may have one
		if err := c.checkHost(); err != nil {
			return err
		}
	}
	if err := c.checkOrigin(); err != nil {
		return err
	}
	if c.route.access == open {
		return nil
	}
	if err := c.authenticate(); err != nil {
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

// context limits the time that the service may take.
func (c *call) context() (context.Context, context.CancelFunc) {
	return context.WithTimeout(c.r.Context(), serviceTime)
}

// tell writes the log line: which client changed what, which was refused, and what
// failed. It leaves out the path and the query, because they may contain a token.
func (c *call) tell(err error) {
	level, message := slog.LevelDebug, "request"
	change := c.route.method != http.MethodGet && c.route.method != ""
	switch status := c.w.status; {
	case c.r.Context().Err() != nil:
		message = "the client went away"
	case status >= 500:
		level, message = slog.LevelError, "request failed"
	case status == http.StatusForbidden, status == http.StatusUnauthorized, status == http.StatusTooManyRequests:
		level, message = slog.LevelWarn, "request refused"
	case change && status < 300 && !c.quiet && c.route.access == work:
		message = "changed" // thousands per second, and each is an event
	case change && status < 300 && !c.quiet:
		level, message = slog.LevelInfo, "changed"
	}
	if !c.log.Enabled(c.r.Context(), level) {
		return
	}
	facts := []slog.Attr{slog.String("request", c.id), slog.String("route", c.route.name()), slog.Int("status", c.w.status)}
	if c.by.ID != "" {
		facts = append(facts, slog.String("by", c.by.ID), slog.String("name", c.by.Name), slog.String("role", string(c.by.Role)))
	}
	if c.about != "" {
		facts = append(facts, slog.String("about", c.about))
	}
	if err != nil {
		facts = append(facts, slog.String("error", err.Error()))
	}
	facts = append(facts, slog.String("from", c.from))
	c.log.LogAttrs(c.r.Context(), level, message, facts...)
}

// name returns the name of a route in the log and in metrics.
func (r route) name() string {
	switch {
	case r.label != "":
		return r.label
	case r.method == "":
		return "none"
	}
	return r.method + " " + r.path
}
