package server

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gaffer/internal/api/credential"
	"gaffer/internal/testkit/testenv"
)

// onlooker is a client that follows the documents of a project.
type onlooker struct {
	t    *testing.T
	resp *http.Response
	told chan told // closed when the stream has ended
	seen []told
}

// told is a message that the client has received, and when it arrived.
type told struct {
	message map[string]any
	event   string // name of the event; empty if it has none
	ping    bool
	at      time.Time
}

func (g *gallery) watch(query string, change func(*http.Request)) *onlooker {
	g.t.Helper()
	q := g.request("GET", "/api/stream"+query, "")
	q.Header.Set("Authorization", "Bearer "+g.tokens[credential.Viewer])
	if change != nil {
		change(q)
	}
	resp, err := g.client.Do(q) //nolint:bodyclose // the reader closes it
	if err != nil {
		g.t.Fatal(err)
	}
	o := &onlooker{t: g.t, resp: resp, told: make(chan told, 10_000)}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer close(o.told)
		o.read(resp.Body)
	}()
	g.t.Cleanup(func() {
		_ = resp.Body.Close()
		<-ended
	})
	return o
}

func (o *onlooker) read(body io.Reader) {
	in := bufio.NewReader(body)
	next := told{}
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		line = strings.TrimSuffix(line, "\n")
		switch text, _ := strings.CutPrefix(line, "data: "); {
		case line == ": ping":
			o.told <- told{ping: true}
		case strings.HasPrefix(line, "event: "):
			next.event = strings.TrimPrefix(line, "event: ")
		case strings.HasPrefix(line, "data: "):
			if strings.ContainsAny(text, "<>&") {
				o.t.Errorf("HTML: %.200s", text)
			}
			if err := json.Unmarshal([]byte(text), &next.message); err != nil {
				o.t.Errorf("%v: %.200s", err, text)
			}
		case line == "" && next.message != nil:
			next.at = time.Now()
			o.told <- next
			next = told{}
		}
	}
}

// until waits for a message of type kind for which fits returns true, and returns it. The message
// may have arrived before the call, because messages about different documents have no fixed order.
func (o *onlooker) until(kind, what string, fits func(m map[string]any) bool) told {
	o.t.Helper()
	for _, m := range o.seen {
		if m.message["type"] == kind && fits(m.message) {
			return m
		}
	}
	deadline := time.After(20 * time.Second)
	for {
		select {
		case m, ok := <-o.told:
			if !ok {
				o.t.Fatalf("the stream ended before %s", what)
			}
			if o.seen = append(o.seen, m); m.message["type"] == "error" {
				o.t.Errorf("an error: %v", m.message)
			}
			if m.message["type"] == kind && fits(m.message) {
				return m
			}
		case <-deadline:
			o.t.Fatalf("never: %s", what)
		}
	}
}

// has returns a function that reports whether a message has the value want at a path.
func has(path string, want any) func(map[string]any) bool {
	return func(m map[string]any) bool { return same(digDeep(m, path), want) }
}

// digDeep is like dig, and returns nil if a value on the way is missing.
func digDeep(value any, name string) any {
	for _, part := range strings.Split(name, ".") {
		switch v := value.(type) {
		case map[string]any:
			value = v[part]
		case []any:
			if i := int(part[0] - '0'); i < len(v) {
				value = v[i]
			} else {
				return nil
			}
		default:
			return nil
		}
	}
	return value
}

// The functions from inPlace on write a file in the ways in which other tools write files.
func inPlace(t *testing.T, path, text string) {
	t.Helper()
	folder(t, path)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func byRename(t *testing.T, path, text string) {
	t.Helper()
	inPlace(t, path+".tmp", text)
	if err := os.Rename(path+".tmp", path); err != nil {
		t.Fatal(err)
	}
}

// inTwo writes the file in two halves, with a pause that is longer than any reader waits.
func inTwo(t *testing.T, path, text string) {
	t.Helper()
	folder(t, path)
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, part := range []string{text[:len(text)/2], text[len(text)/2:]} {
		if _, err := f.WriteString(part); err != nil {
			t.Fatal(err)
		}
		if part != text[len(text)/2:] {
			time.Sleep(400 * time.Millisecond) // this pause is what the test is about; no other goroutine depends on it
		}
	}
}

// wholeFolder replaces the whole folder that contains the document.
func wholeFolder(t *testing.T, path, text string) {
	t.Helper()
	dir := filepath.Dir(path)
	inPlace(t, filepath.Join(dir+".new", filepath.Base(path)), text)
	for _, move := range [][2]string{{dir, dir + ".old"}, {dir + ".new", dir}} {
		if err := os.Rename(move[0], move[1]); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
	if err := os.RemoveAll(dir + ".old"); err != nil {
		t.Fatal(err)
	}
}

func folder(t *testing.T, path string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
}

// writings has documents in the formats that other tools write. One word of each text is replaced
// when the test changes the document.
var writings = []struct {
	what, file, kind, text, at string
}{
	{
		what: "a team's plan", file: "coordination/pm_state.json", kind: "team-update", at: "team.groups.0.status",
		text: `{"session_id": "v4_1", "mode": "analysis_only", "all_tasks": ["Add GET /health"], "task_groups": {"A": {"name": "One", "status": "%s", "complexity": "trivial"}}, "execution_phases": [{"phase": "1", "groups": ["A"]}], "bazinga_sent": false, "last_update": "2025-11-08 09:40:00.123456"}`,
	},
	{
		what: "a team's messages", file: "coordination/messages/dev_to_qa.json", kind: "team-update", at: "team.messages.0.text",
		text: `{"messages": [{"from": "dev", "to": "qa_expert", "subject": "%s", "read": "no"}]}`,
	},
	{
		what: "a session", file: ".founder-mode/status/sessions/20260201-143022-abc12345/status.json", kind: "sessions-update", at: "sessions.0.source_file",
		text: `{"session_id": "20260201-143022-abc12345", "source": "orchestrate", "source_file": "%s", "started_at": "2026-02-01T14:30:22.123456+00:00", "status": "running", "agents": [{"id": "001", "status": "complete", "pid": 7}, {"id": "002", "status": "running"}], "waves": [{"wave": 1, "status": "pending", "agents": ["001", "002", "nobody"]}]}`,
	},
	{
		what: "a build", file: ".fctry/state.json", kind: "build-update", at: "build.chunks.1.status",
		text: `{"buildRun": {"id": "run-1", "status": "awaiting-user", "plan": {"chunks": [{"id": "11a", "status": "completed"}, {"id": "MANUAL", "status": "%s", "deps": ["11a"]}]}, "chunkProgress": "1/2"}, "readinessSummary": {"aligned": null, "draft": "3"}}`,
	},
	{
		what: "a build's state", file: ".fctry/state.json", kind: "viewer-state", at: "nextStep", text: `{"nextStep": "%s", "buildEvents": [{"kind": "odd"}]}`,
	},
	{
		what: "the inbox", file: ".fctry/inbox.json", kind: "inbox-update", at: "items.0.content",
		text: `[{"id": "i1", "type": "evolve", "content": "%s", "status": "incorporated", "analysis": {"affectedSections": ["#a"]}}]`,
	},
}

func TestDocumentsOfOtherToolsAppearWithinASecondForEveryWayOfWriting(t *testing.T) {
	testenv.Integration(t)
	ways := []struct {
		name  string
		write func(t *testing.T, path, text string)
	}{{"in place", inPlace}, {"by rename", byRename}, {"half, then whole", inTwo}, {"the whole folder", wholeFolder}}
	g := exhibit(t, nil)
	home := filepath.Join(g.base, "home")
	o := g.watch("?project=home", nil)
	o.until("team-update", "the first look at the team", has("team.found", false))
	o.until("sessions-update", "the first look at sessions", has("sessions", []any{}))
	for _, w := range writings {
		for _, way := range ways {
			quickest := time.Hour
			for i := range 3 {
				word := fmt.Sprintf("%s-%d", strings.ReplaceAll(way.name, " ", "-"), i)
				way.write(t, filepath.Join(home, w.file), fmt.Sprintf(w.text, word))
				since := time.Now()
				came := o.until(w.kind, fmt.Sprintf("%s, %s", w.what, word), has(w.at, word))
				quickest = min(quickest, max(0, came.at.Sub(since)))
			}
			if t.Logf("%s, %s: %v", w.what, way.name, quickest); quickest > 3*time.Second { // generous, because the machine may be slow
				t.Errorf("%s, %s: it takes %v", w.what, way.name, quickest)
			}
		}
	}
}

func TestAHalfWrittenDocumentKeepsTheLastPicture(t *testing.T) {
	testenv.Integration(t)
	g := exhibit(t, nil)
	home := filepath.Join(g.base, "home")
	files := map[string]string{
		"coordination/pm_state.json":                  `{"task_groups": [{"id": "A", "status": "pending"}]}`,
		"coordination/group_status.json":              `{"A": {"status": "dev_working"}}`,
		".founder-mode/status/sessions/s/status.json": `{"status": "running"}`,
		".fctry/state.json":                           `{"buildRun": {"runId": "r", "chunks": [{"id": 1, "status": "active"}]}}`,
	}
	for name, text := range files {
		inPlace(t, filepath.Join(home, name), text)
	}
	o := g.watch("", nil)
	o.until("build-update", "the build", has("build.chunks.0.status", "active")) // wait for the first read, because the viewer can only keep what it has read
	o.until("sessions-update", "the session", has("sessions.0.status", "running"))
	o.until("team-update", "the team", has("team.groups.0.status", "dev_working"))
	began := len(o.seen)
	for name, text := range files {
		inPlace(t, filepath.Join(home, name), text[:len(text)-5])
	}
	o.until("team-update", "the problem", func(m map[string]any) bool {
		return strings.Contains(fmt.Sprint(digDeep(m, "team.problems")), "group_status.json: not JSON")
	})
	o.until("sessions-update", "the session's problem", func(m map[string]any) bool {
		return strings.Contains(fmt.Sprint(digDeep(m, "sessions.0.problem")), "not JSON")
	})
	for name, text := range files {
		inPlace(t, filepath.Join(home, name), strings.NewReplacer("dev_working", "complete", "running", "complete", "active", "completed").Replace(text))
	}
	o.until("team-update", "the team is whole", has("team.groups.0.status", "complete"))
	o.until("sessions-update", "the session is whole", has("sessions.0.status", "complete"))
	whole := func(m told) bool {
		switch m.message["type"] {
		case "team-update":
			return len(m.message["team"].(map[string]any)["groups"].([]any)) == 1
		case "sessions-update":
			return len(m.message["sessions"].([]any)) == 1
		case "build-update":
			return len(m.message["build"].(map[string]any)["chunks"].([]any)) == 1
		}
		return true
	}
	for _, m := range o.seen[began:] {
		if !whole(m) {
			t.Errorf("%v", m.message)
		}
	}
}

func TestThePageGetsTheMessagesOfASocketAndMore(t *testing.T) {
	g := exhibit(t, nil)
	home := filepath.Join(g.base, "home")
	inPlace(t, filepath.Join(home, "coordination", "pm_state.json"), `{"session_id": "<b>", "task_groups": [{"id": "<i>"}]}`)
	g.write(home, "state.json", `{"nextStep": "<go>"}`)
	p, o := g.open(""), g.watch("", nil)
	o.until("projects-update", "the projects", has("projects.0.path", home))
	o.until("event-history", "the history", has("_project", home))
	o.until("team-update", "the team", has("team.session.id", "<b>"))
	p.state()
	g.ask(credential.Operator, "POST", "/api/build-events", `{"kind":"chunk-started","chunk":"A"}`)
	a, b := o.until("build-event", "the event", has("event.chunk", "A")).message, p.until("build-event")
	if !same(a, b) {
		t.Errorf("the page: %v\nthe socket: %v", a, b)
	}
	g.register("other")
	o.until("projects-update", "another project", has("projects.1.name", "other"))
	inPlace(t, filepath.Join(home, "coordination", "pm_state.json"), `{"session_id": "two"}`)
	o.until("team-update", "the other session", has("team.session.id", "two"))
	p.say(`{"type":"backfill"}`)
	for m := range slices.Values(p.until("event-history")["events"].([]any)) {
		if kind := dig(m, "type"); kind == "team-update" || kind == "sessions-update" || kind == "build-update" {
			t.Errorf("a socket is told %v", kind)
		}
	}

	again := g.watch("?project=home", nil) // a client that reconnects gets everything again
	for kind, fits := range map[string]func(map[string]any) bool{"team-update": has("team.session.id", "two"), "viewer-state": has("nextStep", "<go>"), "build-update": has("build.next", "<go>")} {
		g.watch("?project=home", nil).until(kind, kind+" again", fits)
	}
	again.until("event-history", "the history again", func(m map[string]any) bool { return strings.Contains(fmt.Sprint(m["events"]), "chunk-started") })
}

func TestTheStreamOfDocumentsPingsAndEnds(t *testing.T) {
	g := exhibit(t, func(o *Options) { o.KeepAlive = 20 * time.Millisecond })
	o := g.watch("", nil)
	ends := func(o *onlooker) (names []string) {
		for m := range o.told {
			names = append(names, m.event)
		}
		return names
	}
	for m := range o.told {
		if m.ping {
			break
		}
	}
	if _, err := g.book.Revoke(t.Context(), "the viewer"); err != nil {
		t.Fatal(err)
	}
	ends(o)
	g.tokens[credential.Viewer] = g.tokens[credential.Worker]
	o = g.watch("", nil)
	o.until("team-update", "the team", has("team.found", false))
	g.stop()
	if names := ends(o); len(names) == 0 || names[len(names)-1] != "bye" {
		t.Errorf("%v", names)
	}
	<-g.ended
}

func TestHeadOfTheStreamOfDocumentsEnds(t *testing.T) {
	g := exhibit(t, nil)
	if got := g.ask(credential.Viewer, "HEAD", "/api/stream", ""); got.status != 200 || got.header.Get("Content-Type") != "text/event-stream; charset=utf-8" {
		t.Errorf("%d %v", got.status, got.header)
	}
	g.wants("no such project", g.ask(credential.Viewer, "GET", "/api/stream?project=none", ""), 404, "project_not_found")
	g.wants("a stranger", g.ask("", "GET", "/api/stream", ""), 401, "unauthorized")
}

func TestASlowPageIsCutOffAndTheOthersNeverWait(t *testing.T) {
	testenv.Integration(t)
	g := exhibit(t, func(o *Options) { o.Send, o.KeepAlive = 5*time.Second, time.Hour })
	home := filepath.Join(g.base, "home")
	slow := g.request("GET", "/api/stream", "")
	slow.Header.Set("Authorization", "Bearer "+g.tokens[credential.Viewer])
	resp, err := g.client.Do(slow)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close() // the body is not read
	quick := g.watch("", nil)
	quick.until("team-update", "the team", has("team.found", false))
	big := strings.Repeat("x", 1_000_000)
	for i := 0; i < 60 && g.server.metrics.cut.Load() == 0; i++ {
		g.write(home, "state.json", fmt.Sprintf(`{"n":%d,"big":%q}`, i, big))
		quick.until("viewer-state", "the state", has("n", i))
	}
	testenv.WaitFor(t, "it is cut off", g.server.metrics.cut.Load, func(n int64) bool { return n > 0 })
}

func TestTheDocumentsOfAProjectCanBeAskedFor(t *testing.T) {
	g := exhibit(t, nil)
	home := filepath.Join(g.base, "home")
	g.register("other")
	dir := filepath.Join(home, ".founder-mode/status/sessions/s1")
	inPlace(t, filepath.Join(dir, "status.json"), `{"status": "<odd>", "agents": [{"id": "001", "name": "<b>", "status": "running"}], "waves": [{"wave": 1, "agents": ["001"]}]}`)
	inPlace(t, filepath.Join(dir, "001.log"), "one\n<script>\n")
	inPlace(t, filepath.Join(home, "coordination/orchestrator_state.json"), `{"session_id": "x", "status": "<running>"}`)
	g.write(home, "state.json", `{"buildRun": {"runId": "r", "status": "running", "chunks": [{"id": 1, "status": "completed"}, {"id": 2}]}}`)
	for path, want := range map[string]map[string]any{
		"/api/team?project=home":         {"project": "home", "path": home, "found": true, "ours": false, "session.status": "<running>", "groups": []any{}, "messages": []any{}, "decisions": []any{}, "counters": []any{}, "phases": []any{}},
		"/api/team?project=other":        {"found": false, "problems": []any{}, "groups": []any{}},
		"/api/sessions?project=home":     {"sessions.0.id": "s1", "sessions.0.status": "<odd>", "sessions.0.counts.running": 1, "sessions.0.ours": false},
		"/api/sessions?project=other":    {"sessions": []any{}},
		"/api/sessions/s1?project=home":  {"session.waves.0.number": 1, "session.waves.0.status": "running", "session.waves.0.agents.0.name": "<b>", "session.waves.0.agents.0.log": "001.log"},
		"/api/build-status?project=home": {"buildRun.runId": "r", "mission.chunks.1.status": "planned", "mission.resume.choices.0.text": "Resume from Chunk 2 (recommended)", "mission.inbox": []any{}, "mission.context.level": "unknown"},
	} {
		got := g.ask(credential.Viewer, "GET", path, "")
		var value any
		if err := json.Unmarshal([]byte(got.body), &value); err != nil || got.status != 200 || strings.ContainsAny(got.body, "<>&") {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
		for name, want := range want {
			if have := digDeep(value, name); !same(have, want) {
				t.Errorf("%s: %s is %v, want %v", path, name, have, want)
			}
		}
	}
	log := g.ask(credential.Viewer, "GET", "/api/sessions/s1/agents/001/log?project=home&tail=9", "")
	if log.status != 200 || log.body != "<script>\n" || log.header.Get("Content-Type") != "text/plain; charset=utf-8" || log.header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("%d %q %v", log.status, log.body, log.header)
	}
	for path, code := range map[string]string{
		"/api/sessions/none?project=home": "404 not_found", "/api/sessions/s1?project=other": "404 not_found", "/api/sessions/s1/agents/none/log?project=home": "404 not_found",
		"/api/sessions/" + url.PathEscape("../s1") + "?project=home": "400 invalid_request", "/api/sessions/s1/agents/" + url.PathEscape("../s1/001") + "/log?project=home": "400 invalid_request",
		"/api/sessions/s1/agents/001/log?project=home&tail=-1": "400 invalid_request", "/api/team?project=none": "404 project_not_found", "/api/sessions/.hidden?project=home": "404 not_found",
	} {
		if got := g.ask(credential.Viewer, "GET", path, ""); fmt.Sprint(got.status, " ", got.code()) != code {
			t.Errorf("%s: %d %s, want %s", path, got.status, got.body, code)
		}
	}
}
