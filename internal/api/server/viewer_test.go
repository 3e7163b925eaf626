package server

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"gaffer/internal/api/credential"
	"gaffer/internal/api/viewers"
	"gaffer/internal/testkit/testenv"
)

// registry stores projects in memory.
type registry struct {
	mu  sync.Mutex
	all []viewers.Entry
}

func (r *registry) Get(context.Context) ([]viewers.Entry, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.all), nil
}

func (r *registry) Put(_ context.Context, change func([]viewers.Entry) ([]viewers.Entry, error)) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	all, err := change(slices.Clone(r.all))
	if err == nil {
		r.all = all
	}
	return err
}

// gallery is a server with a workflow viewer. Its projects are folders on disk.
type gallery struct {
	*world
	base string
}

func exhibit(t *testing.T, change func(*Options)) *gallery {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	g := &gallery{base: base}
	v := viewers.New(viewers.Options{Home: makeProject(t, base, "home"), Registry: &registry{}})
	t.Cleanup(v.Close)
	g.world = start(t, func(o *Options) {
		o.Viewer = v
		if change != nil {
			change(o)
		}
	})
	return g
}

func makeProject(t *testing.T, base, name string) string {
	t.Helper()
	root := filepath.Join(base, name)
	if err := os.MkdirAll(filepath.Join(root, ".fctry"), 0o755); err != nil {
		t.Fatal(err)
	}
	return root
}

// register creates a project folder and registers it with the viewer.
func (g *gallery) register(name string) string {
	g.t.Helper()
	root := makeProject(g.t, g.base, name)
	body, _ := json.Marshal(projectPath{root})
	if got := g.ask(credential.Operator, "POST", "/api/projects", string(body)); got.status != 201 {
		g.t.Fatalf("%d %s", got.status, got.body)
	}
	return root
}

func (g *gallery) write(root, name, text string) {
	g.t.Helper()
	if err := os.WriteFile(filepath.Join(root, ".fctry", name), []byte(text), 0o644); err != nil {
		g.t.Fatal(err)
	}
}

func TestTheSpecAndTheChangelogAreMarkdownThatABrowserDoesNotRun(t *testing.T) {
	g := exhibit(t, nil)
	home := filepath.Join(g.base, "home")
	g.write(home, "spec.md", "# Demo <script>alert(1)</script>\n")
	for path, want := range map[string]string{"/spec.md": "# Demo <script>alert(1)</script>\n", "/changelog.md?project=home": "_No changelog yet._\n"} {
		got := g.ask(credential.Viewer, "GET", path, "")
		if got.status != 200 || got.body != want || got.header.Get("Content-Type") != "text/markdown; charset=utf-8" ||
			got.header.Get("X-Content-Type-Options") != "nosniff" || !strings.HasPrefix(got.header.Get("Content-Security-Policy"), "default-src 'none'") {
			t.Errorf("%s: %d %q %v", path, got.status, got.body, got.header)
		}
		g.wants(path+" without a token", g.ask("", "GET", path, ""), 401, "unauthorized")
	}
	if got := g.ask(credential.Viewer, "GET", "/api/dashboard", ""); got.status != 200 || got.field("activeProject") != home {
		t.Errorf("the dashboard: %d %s", got.status, got.body)
	}
}

func TestAProjectWithoutDocumentsGivesEmptyAnswers(t *testing.T) {
	g := exhibit(t, nil)
	for path, want := range map[string]string{
		"/api/scenarios": `{"scenarios":[]}`, "/api/story-map": `{"sections":[],"edges":[]}`, "/api/sections": `{"sections":[]}`,
		"/api/section-similarity": `{"pairs":[]}`, "/api/section-similarity?threshold=0.5": `{"pairs":[]}`, "/api/diagrams": `{"diagrams":{}}`,
		"/api/priority": `{"priority":{}}`, "/api/priority?project=home": `{"priority":{}}`, "/api/memory": "",
	} {
		if got := g.ask(credential.Viewer, "GET", path, ""); got.status != 200 || strings.TrimSpace(got.body) != want {
			t.Errorf("%s: %d %q, want %q", path, got.status, got.body, want)
		}
		g.wants(path+" without a token", g.ask("", "GET", path, ""), 401, "unauthorized")
	}
	for _, path := range []string{"/api/scenarios", "/api/story-map", "/api/section-similarity", "/api/diagrams", "/api/priority"} {
		g.wants(path, g.ask(credential.Viewer, "GET", path+"?project=gone", ""), 404, "project_not_found")
	}
	for _, threshold := range []string{"0", "-1", "1.1", "NaN", "x"} {
		g.wants(threshold, g.ask(credential.Viewer, "GET", "/api/section-similarity?threshold="+threshold, ""), 400, "invalid_request")
	}
	if got := g.ask(credential.Viewer, "GET", "/api/memory", ""); got.header.Get("Content-Type") != "text/markdown; charset=utf-8" {
		t.Errorf("the memory is %v", got.header)
	}
}

func TestTheViewersRoutesAreThoseThatItsClientsCall(t *testing.T) {
	// The routes are listed by hand, from what clients call. They are compared with the table.
	want := []string{
		"DELETE /api/inbox/{id} operate 200", "GET /api/build-log look 200", "GET /api/build-status look 200", "GET /api/inbox look 200",
		"GET /api/dashboard look 200", "GET /api/sections look 200", "GET /changelog.md look 200", "GET /lessons.md look 200", "GET /spec.md look 200",
		"GET /api/diagrams look 200", "GET /api/memory look 200", "GET /api/priority look 200", "GET /api/scenarios look 200", "GET /api/section-similarity look 200",
		"GET /api/story-map look 200", "GET /api/projects look 200", "GET /api/sessions look 200", "GET /api/sessions/{id} look 200", "GET /api/sessions/{id}/agents/{name}/log look 200",
		"GET /api/stream look 200", "GET /api/team look 200", "GET /readiness.json look 200", "GET /ws look 101", "PATCH /api/inbox/{id} operate 200",
		"POST /api/build-events operate 201", "POST /api/inbox operate 201", "POST /api/projects operate 201", "POST /api/projects/active operate 200",
	}
	var got []string
	for _, r := range (&viewerHandlers{}).routes() {
		got = append(got, fmt.Sprintf("%s %s %s %d", r.method, r.path, r.access, r.status))
		takesProject := slices.Contains(r.query, "project")
		if takesProject == (strings.HasPrefix(r.path, "/api/projects") || r.path == "/api/dashboard" || r.path == "/api/memory") {
			t.Errorf("%s: ?project= %v", r.path, takesProject)
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%v\nwant %v", got, want)
	}
}

func TestWithoutAViewerItsRoutesAreNotThere(t *testing.T) {
	w := start(t, nil)
	for _, r := range (&viewerHandlers{}).routes() {
		w.wants(r.name(), w.ask(credential.Admin, r.method, concrete(r, "x"), `{}`), 404, "not_found")
	}
}

func TestAClientOfTheViewerGetsItsCodesAndShapes(t *testing.T) {
	g := exhibit(t, nil)
	other := makeProject(t, g.base, "other")
	home := filepath.Join(g.base, "home")
	id := ""
	for _, step := range []struct {
		method, path, body string
		status             int
		want               map[string]any
	}{
		{"GET", "/api/projects", "", 200, map[string]any{"0.path": home, "0.name": "home", "0.active": true}},
		{"GET", "/api/build-status", "", 200, map[string]any{"workflowStep": nil, "completedSteps": []any{}, "buildEvents": []any{}, "buildRun": nil}},
		{"POST", "/api/projects", `{"path":"/nowhere"}`, 400, map[string]any{"error.code": "no_project"}},
		{"POST", "/api/projects", `{"path":` + jsonOf(other) + `}`, 201, map[string]any{"path": other, "name": "other", "active": true}},
		{"GET", "/api/projects", "", 200, map[string]any{"0.active": false, "1.active": true}},
		{"POST", "/api/projects/active", `{"path":"home"}`, 200, map[string]any{"ok": true, "active": home}},
		{"POST", "/api/projects/active", `{"path":"none"}`, 404, map[string]any{"error.code": "project_not_found"}},
		{"POST", "/api/projects/active", `{}`, 400, map[string]any{"error.code": "invalid_request"}},
		{"POST", "/api/build-events?project=other", `{"kind":"chunk-started","chunk":"A","attempt":1}`, 201, map[string]any{"ok": true, "kind": "chunk-started"}},
		{"POST", "/api/build-events?project=other", `{"kind":"unheard-of"}`, 201, map[string]any{"kind": "unheard-of"}},
		{"POST", "/api/build-events?project=other", `{}`, 400, map[string]any{"error.code": "invalid_request"}},
		{"POST", "/api/build-events?project=other", `{`, 400, map[string]any{"error.code": "bad_json"}},
		{"POST", "/api/build-events", `{"kind":"x"}`, 400, map[string]any{"error.code": "project_needed"}},
		{"GET", "/api/build-log?project=other", "", 200, map[string]any{"project": "other", "eventCount": 2.0, "events.0.event.chunk": "A", "events.0.type": "build-event"}},
		{"GET", "/api/build-log?project=home", "", 200, map[string]any{"eventCount": 0.0, "events": []any{}}},
		{"GET", "/api/build-log?project=gone", "", 404, map[string]any{"error.code": "project_not_found"}},
		{"GET", "/api/inbox", "", 200, map[string]any{}},
		{"POST", "/api/inbox?project=" + url.QueryEscape(other), `{"type":"evolve","content":" faster "}`, 201, map[string]any{"type": "evolve", "content": "faster", "status": "pending"}},
		{"POST", "/api/inbox?project=other", `{"type":"x","content":"a"}`, 400, map[string]any{"error.code": "invalid_request"}},
		{"POST", "/api/inbox?project=other", `{"type":"evolve","content":" "}`, 400, map[string]any{"error.code": "invalid_request"}},
		{"PATCH", "/api/inbox/ID?project=other", `{"status":"processing"}`, 200, map[string]any{"status": "processing"}},
		{"PATCH", "/api/inbox/ID?project=other", `{"status":"processing"}`, 409, map[string]any{"error.code": "conflict"}},
		{"PATCH", "/api/inbox/ID?project=other", `{"status":"processed","consumedBy":"evolve"}`, 200, map[string]any{"status": "processed", "consumedBy": "evolve"}},
		{"PATCH", "/api/inbox/ID?project=other", `{"status":"odd"}`, 400, map[string]any{"error.code": "invalid_request"}},
		{"PATCH", "/api/inbox/none?project=other", `{"status":"processed"}`, 404, map[string]any{"error.code": "not_found"}},
		{"GET", "/api/inbox?project=other", "", 200, map[string]any{"0.status": "processed"}},
		{"DELETE", "/api/inbox/ID?project=home", "", 404, map[string]any{"error.code": "not_found"}},
		{"DELETE", "/api/inbox/ID?project=other", "", 200, map[string]any{"ok": true}},
		{"DELETE", "/api/inbox/ID?project=other", "", 404, map[string]any{"error.code": "not_found"}},
		{"GET", "/readiness.json", "", 200, map[string]any{"summary": map[string]any{}, "sections": []any{}}},
		{"GET", "/ws", "", 426, map[string]any{"error.code": "upgrade_required"}},
	} {
		got := g.ask(credential.Operator, step.method, strings.Replace(step.path, "ID", id, 1), step.body)
		if step.method == "POST" && strings.HasPrefix(step.path, "/api/inbox") && got.status == 201 {
			id, _ = got.field("id").(string)
		}
		var value any
		if err := json.Unmarshal([]byte(got.body), &value); err != nil || got.status != step.status {
			t.Errorf("%s %s %s: %d %s (%v), want %d", step.method, step.path, step.body, got.status, got.body, err, step.status)
		}
		for name, want := range step.want {
			if have := dig(value, name); !same(have, want) {
				t.Errorf("%s %s: %s is %v, want %v", step.method, step.path, name, have, want)
			}
		}
	}
}

func jsonOf(value any) string {
	data, _ := json.Marshal(value)
	return string(data)
}

func TestManyWhoPostAtOnceLoseNothingAndStoreNothingTwice(t *testing.T) {
	testenv.Integration(t)
	const posts = 40
	g := exhibit(t, nil)
	g.register("other")
	var group sync.WaitGroup
	for i := range posts {
		group.Go(func() {
			got := g.ask(credential.Operator, "POST", "/api/inbox?project=other", fmt.Sprintf(`{"type":"feature","content":"idea %d"}`, i))
			if got.status != 201 {
				t.Errorf("%d %s", got.status, got.body)
			}
		})
		group.Go(func() {
			got := g.ask(credential.Operator, "POST", "/api/build-events?project=other", fmt.Sprintf(`{"kind":"chunk-completed","chunk":"chunk %d"}`, i))
			if got.status != 201 {
				t.Errorf("%d %s", got.status, got.body)
			}
		})
	}
	group.Wait()
	var items []struct{ ID, Content string }
	if err := json.Unmarshal([]byte(g.ask(credential.Viewer, "GET", "/api/inbox?project=other", "").body), &items); err != nil {
		t.Fatal(err)
	}
	ideas, ids := map[string]bool{}, map[string]bool{}
	for _, i := range items {
		ideas[i.Content], ids[i.ID] = true, true
	}
	if len(items) != posts || len(ideas) != posts || len(ids) != posts {
		t.Errorf("%d items, %d ideas, %d ids", len(items), len(ideas), len(ids))
	}
	var log viewers.BuildLog
	if err := json.Unmarshal([]byte(g.ask(credential.Viewer, "GET", "/api/build-log?project=other", "").body), &log); err != nil {
		t.Fatal(err)
	}
	chunks := map[string]int{}
	for _, e := range log.Events {
		chunks[string(e.Event)]++
	}
	if log.EventCount != posts || len(chunks) != posts {
		t.Errorf("%d events, %d different", log.EventCount, len(chunks))
	}
	if got := g.ask(credential.Viewer, "GET", "/api/build-log?project=home", ""); got.field("eventCount") != 0.0 {
		t.Errorf("another project has them: %s", got.body)
	}
}

func TestSecurityPathsAndHTMLInTheViewersIdsAndStrings(t *testing.T) {
	g := exhibit(t, nil)
	const evil = `<script>alert(1)</script>&"<img src=x onerror=alert(1)>`
	secret := filepath.Join(g.base, "secret")
	if err := os.MkdirAll(filepath.Join(secret, ".fctry"), 0o755); err != nil {
		t.Fatal(err)
	}
	g.write(secret, "state.json", `{"nextStep":"the secret"}`)
	for _, ref := range []string{
		secret, "../secret", "home/../secret", filepath.Join(g.base, "home") + "/../secret", "/", "/etc", "..", ".", "a\x00b", "\xff", "a\nb", "\u202e", evil,
		strings.Repeat("x", 5000), "/proc/self/cwd",
	} {
		for _, path := range []string{
			"/api/build-status", "/api/build-log", "/api/inbox", "/readiness.json", "/api/scenarios", "/api/story-map", "/api/section-similarity", "/api/diagrams", "/api/priority",
		} {
			got := g.ask(credential.Admin, "GET", path+"?project="+url.QueryEscape(ref), "")
			if got.status != 404 && got.status != 400 || strings.Contains(got.body, "the secret") || strings.ContainsAny(got.body, "<>&") {
				t.Errorf("%s of %.40q: %d %s", path, ref, got.status, got.body)
			}
		}
		got := g.ask(credential.Admin, "POST", "/api/projects/active", `{"path":`+jsonOf(ref)+`}`)
		if got.status != 404 && got.status != 400 {
			t.Errorf("activate %.40q: %d %s", ref, got.status, got.body)
		}
	}
	for _, id := range []string{"../../x", "..", "a/b", `..\x`, "a\x00b", "\xff", strings.Repeat("x", 201), evil} {
		for method, body := range map[string]string{"PATCH": `{"status":"processed"}`, "DELETE": ""} {
			got := g.ask(credential.Admin, method, "/api/inbox/"+url.PathEscape(id), body)
			if got.status != 400 && got.status != 404 || strings.ContainsAny(got.body, "<>&") {
				t.Errorf("%s %.40q: %d %s", method, id, got.status, got.body)
			}
		}
	}
	for _, step := range [][2]string{
		{"/api/inbox", `{"type":"evolve","content":` + jsonOf(evil) + `}`},
		{"/api/build-events", `{"kind":"<b>","summary":` + jsonOf(evil) + `,"<b>":1}`},
		{"/api/build-events", evil},
		{"/api/projects", `{"path":` + jsonOf(evil) + `}`},
		{"/api/inbox", `{"type":` + jsonOf(evil) + `,"content":"x"}`},
	} {
		if got := g.ask(credential.Admin, "POST", step[0], step[1]); strings.ContainsAny(got.body, "<>&") || got.status >= 500 {
			t.Errorf("%s %s: %d %s", step[0], step[1], got.status, got.body)
		}
	}
	for _, path := range []string{"/api/inbox", "/api/build-log", "/api/build-status"} {
		got := g.ask(credential.Viewer, "GET", path, "")
		if strings.ContainsAny(got.body, "<>&") || !strings.Contains(got.body, "script") || got.header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %s", path, got.body)
		}
	}
	long := strings.Repeat("x", 70_000)
	for path, body := range map[string]string{"/api/inbox": `{"type":"evolve","content":"` + long + `"}`, "/api/build-events": `{"kind":"k","x":"` + long + `"}`} {
		g.wants(path, g.ask(credential.Admin, "POST", path, body), 400, "invalid_request")
		g.wants(path, g.ask(credential.Admin, "POST", path, `{"x":"`+strings.Repeat(long, 20)+`"}`), 413, "too_large")
	}
}

func TestAStateThatCannotBeReadIsNotTheClientsMistake(t *testing.T) {
	g := exhibit(t, nil)
	home := filepath.Join(g.base, "home")
	for _, text := range []string{`{"a":`, `[1]`} {
		g.write(home, "state.json", text)
		g.wants(text, g.ask(credential.Viewer, "GET", "/api/build-status", ""), 409, "invalid_document")
	}
	for _, text := range []string{`null`, `[]`} {
		g.write(home, "state.json", text)
		if got := g.ask(credential.Viewer, "GET", "/api/build-status", ""); got.status != http.StatusOK {
			t.Errorf("%s: %d %s", text, got.status, got.body)
		}
	}
}
