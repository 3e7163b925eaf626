package review

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gaffer/fleet"
	"gaffer/internal/text/cells"
	"gaffer/internal/ui/tui/program"
)

var update = flag.Bool("update", false, "rewrite the golden files; read the diff")

func golden(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; go test ./internal/ui/tui/review -update writes it", err)
	}
	if diff := cmp.Diff(string(want), text); diff != "" {
		t.Errorf("%s: (-want +got)\n%s", path, diff)
	}
}

var now = time.Date(2026, 2, 1, 14, 30, 0, 0, time.UTC)

const (
	runID = "20260201-142726-0c0ffee0"
	tree  = "1111111111111111111111111111111111111111"
	seen  = "2222222222222222222222222222222222222222"
)

// hostile is a text with control sequences, which must not reach the terminal.
const hostile = "\x1b[2J\x1b]0;owned\x07\x9b31m\u202eevil\r\n\x00日本語👩‍👩‍👧"

// changes returns a list of changes with a review in each state.
func changes() Changes {
	entry := func(id, name string, status fleet.Status, r fleet.Review) Entry {
		r.Run, r.Task = runID, id
		return Entry{Review: r, Task: fleet.Task{
			Run: runID, ID: id, Name: name, Status: status, Branch: "gaffer/" + id,
			Attempt: &fleet.Attempt{Number: 1, Status: status, Spent: fleet.Cost{USD: 0.42}, Diff: &fleet.Diff{Changed: 3, Added: 12, Removed: 4}, Checks: []fleet.Check{{Command: "go test ./...", OK: true}}},
		}}
	}
	return Changes{Run: fleet.Run{ID: runID, Name: "release 1.4"}, Entries: []Entry{
		entry("schema", "Write the schema", fleet.Complete, fleet.Review{State: fleet.ReviewMerged}),
		entry("api", "Build the API", fleet.Complete, fleet.Review{State: fleet.ReviewCommented, Comments: page().Review.Comments}),
		entry("page", "Build the page 日本語", fleet.Complete, fleet.Review{State: fleet.ReviewOpen}),
		entry("mail", "mail", fleet.Failed, fleet.Review{}),
		entry("search", "Index the articles", fleet.Running, fleet.Review{State: fleet.ReviewSentBack, Round: 1}),
		entry("docs", "Write the handbook", fleet.Running, fleet.Review{State: fleet.ReviewOpen}),
		entry("ship", "Ship it", fleet.Complete, fleet.Review{State: fleet.ReviewApproved}),
		entry("old", "Old idea", fleet.Complete, fleet.Review{State: fleet.ReviewDiscarded}),
	}}
}

// page returns a change with each kind of file and comment.
func page() Page {
	return Page{
		Task: fleet.Task{Run: runID, ID: "api", Status: fleet.Complete, Prompt: "Add GET /health.\nCover it with a test.", Attempt: &fleet.Attempt{
			Status: fleet.Complete, Summary: "I have added GET /health, and a test for it.\nc1: fixed\nc2: not fixed: the name is part of the protocol",
			Checks: []fleet.Check{{Command: "go vet ./...", OK: true, Millis: 900}, {Command: "go test ./...", Exit: 1, Output: "FAIL health_test.go:12", Millis: 4200}},
			Denied: []string{"Bash: curl example.org"},
		}},
		Change: fleet.Change{
			Run: runID, Task: "api", Branch: "gaffer/api", Base: "b", Tip: "t", Tree: tree, Added: 12, Removed: 4, Dirty: true,
			Commits: []fleet.Commit{{ID: "t", Subject: "Add GET /health"}},
			Files: []fleet.ChangeFile{
				{Path: "api/health.go", Status: "changed", Added: 6, Removed: 3, Digest: "d1"},
				{Path: "api/health_test.go", Status: "added", Added: 6, Digest: "d2"},
				{Path: "docs/logo.png", Status: "changed", Binary: true, Digest: "d3"},
				{Path: "internal/new.go", From: "internal/old.go", Status: "renamed", Added: 0, Removed: 1, Digest: "d4"},
			},
		},
		Review: fleet.Review{
			Run: runID, Task: "api", State: fleet.ReviewCommented, Round: 1, Seen: seen,
			Viewed: map[string]string{"api/health_test.go": "d2", "docs/logo.png": "older"},
			Comments: []fleet.Comment{
				{ID: "c1", By: "ada", Path: "api/health.go", Side: fleet.NewSide, First: 13, Last: 13, Lines: "\tstatus := 200", Text: "Use http.StatusOK.", Round: 1, Answer: &fleet.CommentAnswer{Fixed: true}},
				{ID: "c2", By: "ada", Path: "api/health.go", Side: fleet.NewSide, First: 30, Last: 31, Lines: "func healthz() {\n\treturn", Text: "A better name?", Round: 1, Answer: &fleet.CommentAnswer{Text: "the name is part of the protocol"}},
				{ID: "c3", By: "ada", Path: "api/health.go", Side: fleet.NewSide, First: 13, Last: 14, Text: "What happens if the database is away? Then this answer is wrong, and the load balancer sends requests that nobody can answer."},
				{ID: "c4", By: "ada", Text: "Please write one commit."},
				{ID: "c5", By: "ada", Path: "api/gone.go", Text: "Is this needed?", Round: 1},
				{ID: "c6", By: "ada", Path: "api/health.go", Side: fleet.OldSide, First: 12, Last: 12, Lines: "\treturn 404", Text: "Why 404?", Round: 1, Resolved: true},
			},
		},
		Anchors: []fleet.Anchor{
			{Comment: "c1", Path: "api/health.go", Side: fleet.NewSide, First: 13, Last: 13},
			{Comment: "c2", Path: "api/health.go", Side: fleet.NewSide, First: 13, Last: 13, Outdated: true},
			{Comment: "c3", Path: "api/health.go", Side: fleet.NewSide, First: 13, Last: 14},
			{Comment: "c6", Path: "api/health.go", Side: fleet.OldSide, First: 12, Last: 12},
		},
		Messages: []fleet.Message{{ID: "m1", Text: "Look at the log first.", Sent: now}},
	}
}

// health returns the diff of the first file in page.
func health() File {
	return File{Of: Read{Run: runID, Task: "api", Tree: tree, Path: "api/health.go"}, Diff: fleet.FileChange{
		ChangeFile: page().Change.Files[0],
		Hunks: []fleet.Hunk{
			{OldFirst: 10, OldLines: 4, NewFirst: 10, NewLines: 6, Section: "func health(w http.ResponseWriter)", Lines: []fleet.DiffLine{
				{Op: " ", Text: "func health(w http.ResponseWriter) {"},
				{Op: " ", Text: "\t// answers load balancers"},
				{Op: "-", Text: "\treturn 404"},
				{Op: "+", Text: "\tif ready {"},
				{Op: "+", Text: "\t\tw.WriteHeader(http.StatusOK)"},
				{Op: "+", Text: "\t}"},
				{Op: " ", Text: "}"},
			}},
			{OldFirst: 40, OldLines: 3, NewFirst: 42, NewLines: 5, Lines: []fleet.DiffLine{
				{Op: " ", Text: "var routes = map[string]handler{"},
				{Op: "-", Text: "\t\"/healthz\": health, // for the old load balancer"},
				{Op: "-", Text: "\t\"/x\": nothing,"},
				{Op: "+", Text: "\t\"/health\": health, // for the new load balancer"},
				{Op: "+", Text: "\t\"/ready\": ready,"},
				{Op: "+", Text: "}", NoEOL: true},
			}},
		},
	}}
}

// screenOf returns a model of this width and height that has received the events.
func screenOf(width, height int, task string, events ...any) Model {
	return take(take(New("", runID, task, now), program.Size{Width: width, Height: height}), events...)
}

// take passes events to the model one after the other. A string stands for keys, separated by
// spaces.
func take(m Model, what ...any) Model {
	for _, one := range what {
		if text, ok := one.(string); ok {
			for _, name := range strings.Fields(text) {
				m, _ = m.Update(press(name))
			}
			continue
		}
		m, _ = m.Update(one)
	}
	return m
}

// does presses the keys and returns the actions of the last key.
func does(m Model, keys string) (Model, []any) {
	names := strings.Fields(keys)
	return take(m, strings.Join(names[:len(names)-1], " ")).Update(press(names[len(names)-1]))
}

func press(name string) program.Key {
	if len([]rune(name)) == 1 {
		return program.Key{Name: name, Text: name}
	}
	return program.Key{Name: name}
}

func picture(m Model) string {
	rule := "+" + strings.Repeat("-", m.width) + "+\n"
	var b strings.Builder
	b.WriteString(rule)
	for _, row := range m.Rows() {
		b.WriteString("|" + row + strings.Repeat(" ", max(m.width-cells.Width(row), 0)) + "|\n")
	}
	return b.String() + rule
}
