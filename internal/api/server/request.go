package server

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"gaffer/internal/api/credential"
)

// request is one HTTP request while it is being handled.
type request struct {
	arrival
	w     *statusRecorder
	r     *http.Request
	route route
	by    credential.Identity
	how   credentialKind
	id    string // the request's id, for the log
	about string // what the request has changed, for the log
	quiet bool   // do not log the request as a change
}

// statusRecorder is a ResponseWriter that remembers the status of the answer.
type statusRecorder struct {
	http.ResponseWriter
	status int
}

func (w *statusRecorder) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write writes data. If no status was set, it records 200, which the underlying writer sends.
func (w *statusRecorder) Write(data []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	return w.ResponseWriter.Write(data)
}

func (w *statusRecorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// context returns the request's context with a timeout: the time that the service may take.
func (c *request) context() (context.Context, context.CancelFunc) {
	return context.WithTimeout(c.r.Context(), serviceTimeout)
}

// pathID returns the part of the URL's path that matches {id} in the route's path.
func (c *request) pathID() (string, error) {
	id := strings.TrimSpace(c.r.PathValue("id"))
	return id, checkIDs("id", id)
}

// idAndBody returns the id in the path, and decodes the JSON body into the value that into points
// to.
func (c *request) idAndBody(into any) (id string, err error) {
	if id, err = c.pathID(); err != nil {
		return "", err
	}
	return id, c.decode(into)
}

// number returns the number in the query parameter with the given name, but at most top. It returns
// an error if the number is below 1. If the query does not have this parameter, it returns missing.
func (c *request) number(name string, top, missing int) (int, error) {
	text := c.r.URL.Query().Get(name)
	if text == "" {
		return missing, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return 0, refuse(http.StatusBadRequest, "invalid_request", fmt.Sprintf("%s %.20q: want a number from 1", name, text))
	}
	return min(n, top), nil
}

// offset returns the number in the query parameter with the given name. It returns an error if the
// number is below minimum. If the query does not have this parameter, offset returns minimum.
func (c *request) offset(name string, minimum int64) (int64, error) {
	text := c.r.URL.Query().Get(name)
	if text == "" {
		return minimum, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < minimum {
		return 0, refuse(http.StatusBadRequest, "invalid_request", fmt.Sprintf("%s %.20q: want a number from %d", name, text, minimum))
	}
	return n, nil
}

// flag reports whether a query parameter is "1", "true" or "yes", in upper or lower case.
func (c *request) flag(name string) bool {
	switch strings.ToLower(c.r.URL.Query().Get(name)) {
	case "1", "true", "yes":
		return true
	}
	return false
}

// maxProjectPath is the maximum length in bytes of a project's path or name, and of a plan's path.
const maxProjectPath = 4096

// project returns the path or name of a project from the query. The services only compare it with
// the projects that they know, so that a client cannot make the server open any other folder.
func (c *request) project() (string, error) {
	project := strings.TrimSpace(c.r.URL.Query().Get("project"))
	return project, checkPath("project", project)
}

// checkPath rejects a text that cannot be a path or a name. It checks both in the same way, because
// a parameter may contain the path or the name of a project. what is the name of the parameter, for
// the error message.
func checkPath(what, text string) error {
	if len(text) > maxProjectPath || !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return refuse(http.StatusBadRequest, "invalid_request", fmt.Sprintf("%s %.60q: want a path or a name of at most %d printable bytes", what, text, maxProjectPath))
	}
	return nil
}

// respond calls the function get and answers with the value that it returns, as JSON.
func respond[T any](c *request, get func(ctx context.Context) (T, error)) error {
	ctx, cancel := c.context()
	defer cancel()
	value, err := get(ctx)
	if err != nil {
		return err
	}
	writeJSON(c.w, c.route.status, value)
	return nil
}

// respondByID calls the function get with the id in the path, and answers with the value that it
// returns, as JSON.
func respondByID[T any](c *request, get func(ctx context.Context, id string) (T, error)) error {
	id, err := c.pathID()
	if err != nil {
		return err
	}
	return respond(c, func(ctx context.Context) (T, error) { return get(ctx, id) })
}

// respondBytes answers with data as the body and with the given content type.
func (c *request) respondBytes(contentType string, data []byte) {
	c.w.Header().Set("Content-Type", contentType)
	c.w.Header().Set("Content-Length", strconv.Itoa(len(data)))
	c.w.WriteHeader(c.route.status)
	_, _ = c.w.Write(data) // an error only means that the client has disconnected
}

// list returns items, or an empty slice if items is nil, because the JSON of a nil slice would be
// null.
func list[T any](items []T) []T {
	if items == nil {
		return []T{}
	}
	return items
}

// trim removes white space at the beginning and end of each text.
func trim(texts ...*string) {
	for _, text := range texts {
		*text = strings.TrimSpace(*text)
	}
}
