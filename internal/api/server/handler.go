package server

import (
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
)

// newHandler returns the handler for a table of routes. It registers the routes in a mux by path
// alone, without the method. So a request with an unknown method gets an error as JSON, and not the
// mux's plain text.
func (s *Server) newHandler(table []route) http.Handler {
	mux := http.NewServeMux()
	byPath := map[string][]route{}
	for _, r := range table {
		r.label = r.name()
		byPath[r.path] = append(byPath[r.path], r)
	}
	for path, list := range byPath {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) { s.handleRequest(w, r, byMethod(list, r.Method)) })
	}
	unknown := route{do: noSuchPath, access: open}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { s.handleRequest(w, r, unknown) })
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		restrictBrowsers(w.Header())
		// Reject a path with a trailing slash or with a part that is empty, "." or "..". The mux
		// would answer a path with such a part with a redirect and an HTML page.
		escaped := r.URL.EscapedPath()
		if escaped != "/" && (escaped != path.Clean(escaped) || !strings.HasPrefix(escaped, "/")) {
			s.handleRequest(w, r, unknown)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// restrictBrowsers sets headers that restrict what browsers do with an answer.
func restrictBrowsers(h http.Header) {
	all := [...][2]string{
		{"X-Content-Type-Options", "nosniff"},
		{"X-Frame-Options", "DENY"},
		{"Referrer-Policy", "no-referrer"},
		{"Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'"},
		{"Cross-Origin-Resource-Policy", "same-origin"},
		{"Cache-Control", "no-store"},
	}
	// Allocate all values at once. The slice of each header has capacity 1, so that an append to it
	// cannot change the value of the next header.
	values := make([]string, len(all))
	for i, header := range all {
		values[i] = header[1]
		h[header[0]] = values[i : i+1 : i+1]
	}
}

// byMethod returns the route for an HTTP method. The routes in list have the same path. HEAD uses
// the route of GET. If no route has the method, byMethod returns a route that answers with status
// 405 and the list of allowed methods.
func byMethod(list []route, method string) route {
	if method == http.MethodHead {
		method = http.MethodGet
	}
	if i := slices.IndexFunc(list, func(r route) bool { return r.method == method }); i >= 0 {
		return list[i]
	}
	return route{access: open, path: list[0].path, do: func(*request) error {
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
	}}
}

const noPath = "there is no such path: /openapi.json has them all"

func noSuchPath(*request) error { return refuse(http.StatusNotFound, "not_found", noPath) }

// handleRequest handles one request: it checks whether the client may send it, answers it, and logs
// it.
func (s *Server) handleRequest(w http.ResponseWriter, r *http.Request, to route) {
	started := time.Now()
	s.metrics.inProgress.Add(1)
	defer s.metrics.inProgress.Add(-1)
	var bits [8]byte
	_, _ = io.ReadFull(s.opts.Random, bits[:]) // on an error, the request's id in the log may not be unique
	c := &request{arrival: s.arrivalOf(r), w: &statusRecorder{ResponseWriter: w}, r: r, route: to, id: hex.EncodeToString(bits[:])}
	w.Header().Set("X-Request-Id", c.id)
	err := s.handle(c)
	if err != nil && c.w.status == 0 {
		problemOf(err).write(c.w)
	}
	s.metrics.count(to, c.w.status, time.Since(started))
	s.logRequest(c, err)
	if errors.Is(err, errIncomplete) {
		panic(http.ErrAbortHandler)
	}
}

// errIncomplete is returned by handlers that cannot send the last part of an answer. The server
// then aborts the connection, so that the client notices that the answer is incomplete.
var errIncomplete = errors.New("the answer was cut off")

var errPanic = errors.New("panic")

// handle checks whether the client may send the request, and then calls the route's handler, which
// answers it. If the request is refused or fails, handle returns the error and the caller must
// answer. If the route's handler panics, handle returns the panic as an error.
func (s *Server) handle(c *request) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v\n%s", errPanic, p, debug.Stack())
		}
	}()
	if err := s.access.admit(c); err != nil {
		return err
	}
	return c.route.do(c)
}

// logRequest writes the log line of a request: who changed what, or why the request was refused or
// failed. It leaves out the path and the query, because they may contain a token.
func (s *Server) logRequest(c *request, err error) {
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
		// Workers send changes very often, so log these changes only at debug level.
		message = "changed"
	case change && status < 300 && !c.quiet:
		level, message = slog.LevelInfo, "changed"
	}
	if !s.log.Enabled(c.r.Context(), level) {
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
	s.log.LogAttrs(c.r.Context(), level, message, facts...)
}
