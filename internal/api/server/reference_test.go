package server

import (
	"flag"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite docs/reference/http.md; read the diff")

// accessTexts says which tokens each access needs.
var accessTexts = []struct {
	access access
	text   string
}{
	{open, "none is needed"},
	{look, "any"},
	{work, "worker, operator or admin"},
	{operate, "operator or admin"},
	{manage, "admin"},
}

// TestTheReferenceHasEveryRoute compares docs/reference/http.md with the table of routes. With
// -update, it writes the page.
func TestTheReferenceHasEveryRoute(t *testing.T) {
	const file = "../../../docs/reference/http.md"
	texts := map[access]string{}
	for _, a := range accessTexts {
		texts[a.access] = a.text
	}
	var b strings.Builder
	b.WriteString("# HTTP\n\nEvery route of `gaffer serve`. This page is generated from the program. A running server describes the bodies of requests and " +
		"answers in `GET /openapi.json` (OpenAPI 3.1). [Coordinator](../protocols/coordinator.md) and [viewer](../protocols/viewer.md) explain the requests, " +
		"[serve](../serve.md) the tokens and their roles.\n\nThe column \"token\" says which roles may use a route.\n")
	var subjects []string
	rows := map[string]string{}
	for _, r := range routes() {
		if r.about == "" {
			t.Errorf("%s has no text", r.name())
		}
		if texts[r.access] == "" {
			t.Errorf("%s: the access %s has no text", r.name(), r.access)
		}
		subject := subjectOf(r.path)
		if rows[subject] == "" {
			subjects = append(subjects, subject)
		}
		path := openAPIPath(r.path)
		if len(r.query) > 0 {
			path += "?" + strings.Join(r.query, "=&") + "="
		}
		text := r.about
		if r.status != http.StatusOK {
			text += fmt.Sprintf("; answers %d", r.status)
		}
		rows[subject] += fmt.Sprintf("| `%s %s` | %s | %s |\n", r.method, path, texts[r.access], strings.ReplaceAll(text, "|", `\|`))
	}
	for _, subject := range subjects {
		fmt.Fprintf(&b, "\n## %s\n\n| request | token | what it does |\n| --- | --- | --- |\n%s", subject, rows[subject])
	}
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	page, err := os.ReadFile(file)
	if err != nil || string(page) != b.String() {
		t.Errorf("docs/reference/http.md differs from the table of routes (%v): go test ./internal/api/server -run Reference -update", err)
	}
}

// subjectOf returns the title of the section of a path: the first part of it after the version.
func subjectOf(path string) string {
	parts := strings.Split(strings.Trim(strings.TrimPrefix(strings.TrimPrefix(path, "/v1/"), "/api/"), "/"), "/")
	switch {
	case strings.HasPrefix(path, "/v1/"):
		return "/v1/" + parts[0]
	case strings.HasPrefix(path, "/api/"), path == "/ws", strings.HasSuffix(path, ".md"), path == "/readiness.json":
		return "Viewer"
	}
	return "The server itself"
}
