package mcp

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"gaffer/statefile/host"
	"gaffer/team"
	"gaffer/workflow"
)

// newTestServer returns a server for a caller with this role. Its documents are in dir.
func newTestServer(dir string, role Role) *Server {
	return New(Options{
		Caller: Caller{Role: role}, Self: host.OS().Self(),
		Workflow: workflow.Open(filepath.Join(dir, ".fctry"), workflow.Options{}),
		Team:     team.Open(filepath.Join(dir, "coordination"), team.Options{}),
	})
}

// call calls a tool, and returns its result and text.
func (s *Server) call(t *testing.T, name string, args any) (result map[string]any, text string, failed bool) {
	t.Helper()
	data, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.tools[name].handle(t.Context(), &sdk.CallToolRequest{Params: &sdk.CallToolParamsRaw{Name: name, Arguments: data}})
	if err != nil {
		t.Fatal(err)
	}
	text = r.Content[0].(*sdk.TextContent).Text
	if r.IsError {
		return nil, text, true
	}
	if data, err = json.Marshal(r.StructuredContent); err != nil || len(data) > maxAnswer {
		t.Fatalf("%d bytes, %v", len(data), err)
	}
	if err := json.Unmarshal(data, &result); err != nil {
		t.Fatal(err)
	}
	return result, text, false
}

func TestMessagesThatDoNotFitStayUnread(t *testing.T) {
	dir := t.TempDir()
	developer, qa := newTestServer(dir, Developer), newTestServer(dir, QAExpert)
	if _, err := developer.opts.Team.Init(t.Context(), "build it"); err != nil {
		t.Fatal(err)
	}
	ids := map[string]string{}
	for i := range 12 {
		length := 30 << 10
		if i == 1 {
			length = maxAnswer // longer than any answer may be
		}
		send := map[string]any{"group": "A", "subject": fmt.Sprint("work ", i), "body": map[string]any{"context": map[string]any{"notes": strings.Repeat("n", length)}}}
		r, text, failed := developer.call(t, "message_send", send)
		if failed {
			t.Fatal(text)
		}
		ids[fmt.Sprint("work ", i)] = r["id"].(string)
	}
	var got []string
	for range 2 {
		r, text, failed := qa.call(t, "message_read", map[string]any{"mark_read": true})
		if failed {
			t.Fatal(text)
		}
		for _, m := range r["messages"].([]any) {
			got = append(got, m.(map[string]any)["subject"].(string))
		}
		if long := fmt.Sprint(r["too_long"]); long != "["+ids["work 1"]+"]" {
			t.Errorf("%s are too long, want %v", long, ids["work 1"])
		}
		if left := r["left_out"].(float64); int(left)+len(got) != 12 {
			t.Errorf("%v left out and %d told", left, len(got))
		}
	}
	if want := "work 0,work 2,work 3,work 4,work 5,work 6,work 7,work 8,work 9,work 10,work 11"; strings.Join(got, ",") != want {
		t.Errorf("told %q, want %s", got, want)
	}
	unread, err := qa.opts.Team.Messages(t.Context(), team.Filter{Unread: true})
	if err != nil || len(unread) != 1 || unread[0].Subject != "work 1" {
		t.Errorf("%d are unread, %v", len(unread), err)
	}
}

func TestALongResultOfAChangeIsShortenedAndNotAnError(t *testing.T) {
	s := newTestServer(t.TempDir(), Person)
	r, text, failed := s.call(t, "inbox_add", map[string]any{"type": "evolve", "content": strings.Repeat("𝒳", maxText)})
	if failed {
		t.Fatal(text)
	}
	id := r["item"].(map[string]any)["id"].(string)
	if text != "added "+id || id == "" {
		t.Errorf("told %q of %q", text, id)
	}
	r, text, failed = s.call(t, "inbox_take", map[string]any{})
	if failed || r["item"].(map[string]any)["id"] != id || !strings.HasPrefix(text, "took "+id+": 𝒳") {
		t.Errorf("told %.100q", text)
	}
	fields := map[string]any{}
	for i := range 300 {
		fields[fmt.Sprint("field", i)] = []any{strings.Repeat("x", 1000), 1.5, nil}
	}
	r, text, failed = s.call(t, "event_emit", map[string]any{"kind": "much", "fields": fields})
	if event, ok := r["event"].(map[string]any); failed || !ok || len(event) == 0 {
		t.Errorf("told %.100q", text)
	}
}
