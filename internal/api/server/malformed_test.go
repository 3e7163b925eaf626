package server_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gaffer/internal/api/credential"
	"gaffer/internal/api/server"
)

// These lists say what the string fields of requests may contain. A field in none of the lists must
// be an id, so that a new field or query parameter is tested too.
var (
	// words are names of fields with one line of text; slashes are allowed.
	words = []string{
		"name", "claude_status", "status", "subscriptions", "type", "execution_mode", "channel", "idempotency_key", "kind",
		"project", "on", "key", "labels", "version", "host", "role", "since", "agent", "model", "template", "run", "path", "from", "into",
		"file", "pick", "land", "timeout", "on_failure", "candidates",
	}
	// lines are names of fields with one line that a program reads. They must not contain a line
	// break, which would end the line.
	lines = []string{"state", "source", "thread", "class", "sandbox"}
	// texts are names of fields that may have several lines.
	texts = []string{
		"title", "description", "text", "reason", "why", "doing", "log", "summary", "answer", "default", "options", "compacted",
		"content", "consumedBy", "error", "ref", "dropped", "denied", "lines", fileName, "prompts", "verify", "problem", "tool", "dir", "suggestions",
	}
)

var (
	paths    = []string{"../x", "..", ".", "../../etc/passwd", `..\x`, "a/b", "/etc/passwd"}
	controls = []string{"a\nb", "a\rb", "a\x1b[31m", "\x7f"}
	shapes   = []string{"\u202eevil", "a\u2028b"}
	zero     = "a\x00b"
)

// fileName stands in texts for fields with the path of a changed file. An agent may have given the
// file any name.
const fileName = "path in a change"

// oddFor returns values that the server must reject for a field.
func oddFor(field string) []string {
	switch {
	case slices.Contains(texts, field):
		return []string{zero}
	case slices.Contains(lines, field):
		return slices.Concat(controls, []string{zero, strings.Repeat("x", 5000)})
	case slices.Contains(words, field):
		return slices.Concat(controls, shapes, []string{zero, strings.Repeat("x", 5000)})
	}
	return slices.Concat(paths, controls, shapes, []string{zero, strings.Repeat("x", 201)})
}

// spot is the position of a string in a JSON body.
type spot struct {
	field string // name of the string's field
	path  []any  // member names and array indexes from the root of the body to the string
}

// sample returns a body of type t with "x" in every string, and the positions of these strings.
func sample(t reflect.Type, way []any, name string) (value any, spots []spot) {
	switch t.Kind() {
	case reflect.Pointer:
		return sample(t.Elem(), way, name)
	case reflect.String:
		return "x", []spot{{name, slices.Clone(way)}}
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return map[string]any{}, nil // raw JSON, whose content other code checks
		}
		inner, spots := sample(t.Elem(), append(slices.Clip(way), 0), name)
		return []any{inner}, spots
	case reflect.Struct:
		return sampleStruct(t, way)
	case reflect.Bool:
		return false, nil
	}
	return 1, nil
}

func sampleStruct(t reflect.Type, way []any) (any, []spot) {
	fields, all := map[string]any{}, []spot(nil)
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous {
			inner, spots := sample(f.Type, way, "")
			for k, v := range inner.(map[string]any) {
				fields[k] = v
			}
			all = append(all, spots...)
			continue
		}
		if name == "" || name == "-" || f.Type.String() == "time.Time" {
			continue
		}
		inner, spots := sample(f.Type, append(slices.Clip(way), name), name)
		fields[name], all = inner, append(all, spots...)
	}
	return fields, all
}

// with returns a copy of body in which the value at path is replaced by value.
func with(body any, path []any, value any) any {
	if len(path) == 0 {
		return value
	}
	switch step := path[0].(type) {
	case string:
		m := map[string]any{}
		for k, v := range body.(map[string]any) {
			m[k] = v
		}
		m[step] = with(m[step], path[1:], value)
		return m
	case int:
		s := slices.Clone(body.([]any))
		s[step] = with(s[step], path[1:], value)
		return s
	}
	panic(fmt.Sprint(path))
}

// validRequest returns the path and body of a valid request for route r. A test then replaces one
// value, so that only this value can be the reason for a rejection.
func validRequest(r server.Route, h held) (path string, body any, spots []spot) {
	path = strings.NewReplacer("{id}", h.run, "{name}", "api", "{message}", "m", "{$}", "").Replace(r.Path)
	if strings.HasSuffix(path, "/by-name/api") {
		path = "/v1/channels/by-name/x"
	}
	if r.Takes != nil {
		body, spots = sample(reflect.TypeOf(r.Takes), nil, "")
	}
	set := func(value any, way ...any) { body = with(body, way, value) }
	switch r.Name {
	case "POST /v1/agents/heartbeat":
		set("idle", "claude_status")
		set("idle", "status")
	case "POST /v1/questions/{id}/answer":
		set("run", "scope")
	case "POST /v1/tokens":
		set("worker", "role") // the only role whose tokens may have limits
	case "PUT /v1/chains/{id}", "POST /v1/tasks/{id}/status":
		set("done", "status")
	case "POST /v1/runs":
		set("", "on")
		set(map[string]any{"Name": "n", "Tasks": []any{map[string]any{"ID": "a", "Prompt": "p"}}}, "plan")
	case "POST /v1/tasks/inputs":
		set("text", "kind")
	case "PATCH /api/inbox/{id}":
		set("processing", "status")
	case "POST /api/projects", "POST /api/projects/active":
		set(h.home, "path")
	case "POST /api/inbox":
		set("evolve", "type")
	case "POST /v1/work/beat":
		set("running", "held", 0, "now", "state")
	case "POST /v1/work/turn":
		set(h.Attempt, "finish", "attempt")
		set(h.Token, "finish", "token")
		set("", "finish", "class")
		set("w1", "claim", "worker")
	case "POST /v1/work/ask":
		set(h.Attempt, "attempt")
		set(h.Token, "token")
	case "POST /v1/work/release":
		set("w1", "worker")
	case "POST /v1/runs/{id}/tasks/{name}/review":
		set("comment", "action")
		set("new", "comment", "side")
		set("abc", "comment", "tree")
		for i := range spots {
			if spots[i].field == "path" {
				spots[i].field = fileName
			}
		}
	}
	return path, body, spots
}

func TestSecurityPathsInEveryIDAndOddBytesInEveryField(t *testing.T) {
	w := startWhole(t)
	h := w.begin("n", "text")
	n := 0
	for _, r := range server.Routes() {
		path, body, spots := validRequest(r, h)
		for _, s := range spots {
			for _, odd := range oddFor(s.field) {
				text := must[[]byte](t)(json.Marshal(with(body, s.path, odd)))
				w.refuses(fmt.Sprintf("%s with %.40q in %v", r.Name, odd, s.path), r.Method, path, string(text))
				n++
			}
		}
		full := string(must[[]byte](t)(json.Marshal(body)))
		for _, name := range r.Query {
			for _, odd := range oddForQuery(name) {
				w.refuses(fmt.Sprintf("%s with ?%s=%.40q", r.Name, name, odd), r.Method, path+"?"+withQuery(r, name, odd), full)
				n++
			}
		}
		for _, part := range regexp.MustCompile(`{(id|name|message)}`).FindAllString(r.Path, -1) {
			for _, odd := range append(oddFor(strings.Trim(part, "{}")+" in a path"), "\xff") {
				if r.Name == "GET /v1/channels/by-name/{name}" && slices.Contains(paths, odd) && odd != "." && odd != ".." {
					continue // this value is valid here: a channel may have this name
				}
				to := strings.NewReplacer(part, escaped(odd), "{id}", h.run, "{name}", "api", "{message}", "m").Replace(r.Path)
				w.refuses(fmt.Sprintf("%s with %.40q in its path", r.Name, odd), r.Method, to, full)
				n++
			}
		}
	}
	if n < 1000 {
		t.Errorf("only %d were tried", n)
	}
	for _, r := range bodied() { // the unmodified requests must be accepted; otherwise the rejections above prove nothing
		path, body, spots := validRequest(r, h)
		text := must[[]byte](t)(json.Marshal(body))
		if got := w.ask(credential.Admin, r.Method, path, string(text)); len(spots) > 0 && got.status == 400 {
			t.Errorf("%s with nothing odd in %s: %s", r.Name, text, got.body)
		}
	}
}

// bodied returns the routes that take a body.
func bodied() []server.Route {
	return slices.DeleteFunc(server.Routes(), func(r server.Route) bool { return r.Takes == nil })
}

// escaped returns a part of a path with all odd characters escaped, including dots.
func escaped(text string) string {
	return strings.ReplaceAll(url.PathEscape(text), ".", "%2e")
}

func oddForQuery(name string) []string {
	switch name {
	case "limit", "rows", "offset", "tail", "after", "last_event_id", "token":
		return []string{"../x", zero, "-2", "x", "99999999999999999999"}
	case "ended", "unfinished", "follow", "done", "seen", "env":
		return nil // any value is accepted: an unknown one means no
	case "q":
		return slices.Concat(controls, []string{zero, strings.Repeat("x", 201)}) // a user may search for a path
	case "code":
		return []string{"../x", zero} // other values are accepted, because the code is only compared with existing ones
	}
	return oddFor(name)
}

func withQuery(r server.Route, name, odd string) string {
	q := url.Values{name: {odd}}
	if r.Path == "/v1/work/logs" || r.Path == "/v1/work/wait" {
		for _, other := range r.Query {
			if other != name {
				q.Set(other, "1")
			}
		}
	}
	return q.Encode()
}

// refuses fails unless the server rejects the request with an error of the protocol and stores no
// change.
func (w *whole) refuses(what, method, path, body string) {
	w.t.Helper()
	before := w.last()
	got := w.ask(credential.Admin, method, path, body)
	ok := got.status == 400 || got.status == 426 || got.status == 404 || got.status == 401 && strings.HasPrefix(path, "/login")
	if !ok || got.header.Get("Content-Type") != "application/json; charset=utf-8" || got.header.Get("X-Content-Type-Options") != "nosniff" || got.code() == "" {
		w.t.Errorf("%s: %d %.200s", what, got.status, got.body)
	}
	if after := w.last(); after != before {
		w.t.Errorf("%s: %s changes were made", what, strconv.FormatInt(after-before, 10))
	}
}
