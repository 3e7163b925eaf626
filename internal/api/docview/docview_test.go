package docview_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gaffer/internal/api/docview"
	"gaffer/statefile/host"
)

// evil has contents of documents that could break a reader. The keys describe them.
var evil = map[string]string{
	"nothing":       ``,
	"null":          `null`,
	"array":         `[]`,
	"list":          `["a", 1, null, {}]`,
	"number":        `7`,
	"text":          `"x"`,
	"half written":  `{"session_id": "s", "mode": "par`,
	"no UTF-8":      "{\"session_id\": \"\xff\", \"status\": \"\xfe\"}",
	"deep":          strings.Repeat("[", 900) + strings.Repeat("]", 900),
	"too deep":      strings.Repeat("[", 5000),
	"zeros":         "\x00\x00\x00",
	"huge numbers":  `{"iteration": 1e999, "total_spawns": -99999999999999999999, "agents": [{"duration_seconds": 1e308, "pid": -4}]}`,
	"times":         `{"start_time": "9999-12-31T23:59:59-23:59", "end_time": "0000-01-01T00:00:00+23:00", "started_at": "9999-12-31T23:59:59-23:59", "completed_at": 5, "buildRun": {"startedAt": "9999-12-31T23:59:59-23:59"}}`,
	"HTML":          `{"session_id": "<script>alert(1)</script>", "groups": "<b>", "<i>": {"status": "<u>"}}`,
	"names twice":   `{"session_id": "a", "session_id": "b", "agents": [{"id": "1"}, {"id": "1"}]}`,
	"lone halves":   `{"session_id": "\ud800", "mode": "\udc00"}`,
	"wrong shapes":  `{"session_id": {}, "task_groups": 7, "all_tasks": {}, "execution_phases": "x", "decisions_log": {"a": 1}, "messages": {"x": 1}, "agents": {}, "waves": 3, "buildRun": [], "buildEvents": {}, "scenarioScore": "5/8"}`,
	"wrong members": `{"task_groups": [null, 7, "A", []], "execution_phases": [null, 7], "decisions_log": [null, 7, "go"], "messages": [null, 7, "hi"], "agents": [null, 7, "x"], "waves": [null, 7], "A": 7, "buildRun": {"chunks": [null, 7, "x"], "plan": 3}, "buildEvents": [null, 7]}`,
}

// put writes a file and creates its folders.
func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// shown fails unless a picture can be encoded as JSON. It returns the picture as a page decodes it.
func shown(t *testing.T, what string, picture any) map[string]any {
	t.Helper()
	data, err := json.Marshal(picture)
	if err != nil || len(data) > 2<<20 {
		t.Fatalf("%s: %d bytes, %v", what, len(data), err)
	}
	var m map[string]any
	if err := json.Unmarshal(data, &m); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	return m
}

// wild returns documents that other programs have really written. The keys are their names.
func wild(t *testing.T, protocol string) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", "..", protocol, "testdata", "wild", "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no documents of %s: %v", protocol, err)
	}
	all := map[string]string{}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		all[strings.TrimSuffix(filepath.Base(f), ".json")] = string(data)
	}
	return all
}

func problems(m map[string]any) string { return fmt.Sprint(m["problems"]) }

func TestEveryDocumentGivesAPicture(t *testing.T) {
	for what, text := range evil {
		root := t.TempDir()
		for _, name := range []string{"pm_state.json", "group_status.json", "orchestrator_state.json", "messages/dev_to_qa.json", "messages/qa_to_techlead.json", "messages/techlead_to_dev.json"} {
			put(t, filepath.Join(root, name), text)
			age(t, filepath.Join(root, name)) // an old file, because a new one might count as being written
		}
		if m := shown(t, what, docview.ReadTeam(host.OS(), root).Picture()); m["found"] != true {
			t.Errorf("%s: no team: %v", what, m)
		}
		put(t, filepath.Join(root, "sessions", "s1", "status.json"), text)
		age(t, filepath.Join(root, "sessions", "s1", "status.json"))
		shelf := docview.NewSessionReader(host.OS(), root)
		if list := shelf.List(); len(list) != 1 || list[0].ID != "s1" {
			t.Errorf("%s: sessions are %v", what, list)
		}
		one, err := shelf.Session("s1")
		if m := shown(t, what, one); err != nil || m["session"] == nil {
			t.Errorf("%s: %v %v", what, m, err)
		}
		var b docview.Build
		b.SetState([]byte(text), nil)
		b.SetInbox([]byte(text), nil)
		shown(t, what, picture(&b))
	}
}

func TestAnUnreadableDocumentIsAProblemAndNoError(t *testing.T) {
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "pm_state.json"), 0o755); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(root, "group_status.json"), `{"A": {"status": "dev_working"}}`)
	m := shown(t, "a folder", docview.ReadTeam(host.OS(), root).Picture())
	if m["found"] != true || !strings.Contains(problems(m), "pm_state.json: is a folder") || len(m["groups"].([]any)) != 1 {
		t.Errorf("%v", m)
	}
	m = shown(t, "nothing", docview.ReadTeam(host.OS(), filepath.Join(root, "group_status.json")).Picture())
	if m["found"] != false || problems(m) != "[]" {
		t.Errorf("a root that is a file: %v", m)
	}
}

func TestAPictureIsNeverTooLong(t *testing.T) {
	root, long := t.TempDir(), strings.Repeat("<", 100_000)
	var groups, messages []string
	for i := range 3000 {
		groups = append(groups, fmt.Sprintf(`"g%d": {"group_name": %q, "status": %q, "blockers": [%q], "tech_lead_feedback": [{"feedback": %q}]}`, i, long[:500], long[:500], long[:500], long[:500]))
		messages = append(messages, fmt.Sprintf(`{"id": "m%d", "subject": %q, "feedback": %q}`, i, long[:800], long[:800]))
	}
	put(t, filepath.Join(root, "group_status.json"), "{"+strings.Join(groups, ",")+"}")
	put(t, filepath.Join(root, "messages/dev_to_qa.json"), `{"messages": [`+strings.Join(messages, ",")+"]}")
	m := shown(t, "long", docview.ReadTeam(host.OS(), root).Picture())
	if len(m["groups"].([]any)) == 0 || len(m["messages"].([]any)) == 0 {
		t.Errorf("nothing is left: %v", m)
	}
	var chunks []string
	for i := range 5000 {
		chunks = append(chunks, fmt.Sprintf(`{"id": %d, "name": %q, "status": "completed", "scenarios": [%q, %q], "dependsOn": [%d]}`, i, long[:200], long[:200], long[:200], i-1))
	}
	var b docview.Build
	b.SetState([]byte(`{"buildRun": {"runId": "r", "status": "running", "chunks": [`+strings.Join(chunks, ",")+`]}}`), nil)
	if m := shown(t, "long", picture(&b)); len(m["chunks"].([]any)) != 1000 {
		t.Errorf("%d chunks", len(m["chunks"].([]any)))
	}
}
