package watch

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gaffer/fleet"
	"gaffer/internal/text/cells"
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
		t.Fatalf("%v; go test ./internal/ui/tui/watch -update writes it", err)
	}
	if diff := cmp.Diff(string(want), text); diff != "" {
		t.Errorf("%s: (-want +got)\n%s", path, diff)
	}
}

var now = time.Date(2026, 2, 1, 14, 30, 0, 0, time.UTC)

func before(d time.Duration) time.Time { return now.Add(-d) }

const releaseID = "20260201-142726-0c0ffee0"

// hostile is a name with control sequences, which must not reach the terminal.
const hostile = "\x1b[2J\x1b]0;owned\x07\x9b31m\u202eevil\r\n\x00日本語👩‍👩‍👧"

// release returns a run that has a task in each state.
func release() fleet.Run {
	r := fleet.Run{
		ID: releaseID, Name: "release 1.4", Project: "web", Status: fleet.Running, Created: before(154 * time.Second),
		Spent: fleet.Cost{USD: 17.42, Tokens: 123_456}, Budget: fleet.Cost{USD: 20},
		Lanes: []fleet.Lane{{Name: "codex", Until: now.Add(30 * time.Minute), Reason: "usage limit"}},
		Tasks: []fleet.Task{
			{ID: "schema", Name: "Write the schema", Status: fleet.Complete, Retries: 1, Tries: 1, Attempt: &fleet.Attempt{
				ID: "a1", Number: 1, Status: fleet.Complete, Started: before(150 * time.Second), Ended: before(96 * time.Second),
				Spent: fleet.Cost{USD: 0.12, Tokens: 43_210}, Checks: []fleet.Check{{Command: "go test ./...", OK: true, Millis: 1234}, {Command: "golint", OK: false, Exit: 2, Output: "x.go:1: no\n", Millis: 200}},
			}},
			{ID: "api", Name: "Build the API", Status: fleet.Running, Agent: "claude", Model: "opus", Retries: 2, Tries: 2, After: []string{"schema"}, Branch: "gaffer/api", Attempt: &fleet.Attempt{
				ID: "a3", Number: 2, Status: fleet.Running, Worker: "build-1", Started: before(62 * time.Second), Activity: fleet.Activity{State: "running", Doing: "Bash: go test ./... -run TestEverythingThatTakesAWhile", Source: "hook", Said: before(3 * time.Second)}, Spent: fleet.Cost{USD: 0.3, Tokens: 80_246}, Diff: &fleet.Diff{Changed: 2, Added: 12, Removed: 3},
			}},
			{ID: "page", Name: "Build the page 日本語", Status: fleet.Running, After: []string{"schema"}, Attempt: &fleet.Attempt{
				ID: "a4", Number: 1, Status: fleet.Running, Started: before(48 * time.Second), Activity: fleet.Activity{State: "waiting", Source: "control", Said: before(40 * time.Second)},
			}, Question: &fleet.Question{
				ID: "q2", Name: "0c0ffee0/page", Run: releaseID, Task: "page", Text: "Run rm -rf \x1b[2Jbuild?\nIt is not in git.", Options: []string{"Yes", "No", "Always in this folder"},
				Asked: before(40 * time.Second), Expires: now.Add(11 * time.Minute), Default: "No",
			}},
			{ID: "mail", Name: "mail", Status: fleet.Failed, Outcome: "denied", After: []string{"schema"}, Attempt: &fleet.Attempt{
				ID: "a5", Number: 1, Started: before(90 * time.Second), Ended: before(80 * time.Second), Class: "denied", Summary: "Bash was refused: curl example.org",
			}},
			{ID: "docs", Name: "docs", Status: fleet.Queued, Retries: 2, Tries: 1, Outcome: "api_error", RetryAt: now.Add(12 * time.Second), After: []string{"schema"}},
			{ID: "newsletter-for-the-readers", Name: "Letter", Status: fleet.Cancelled, Outcome: "mail failed", After: []string{"mail"}},
			{ID: "ship", Name: "Ship it", Status: fleet.Queued, After: []string{"api", "page"}},
		},
	}
	for i := range r.Tasks {
		r.Tasks[i].Run = r.ID
		r.Counts.Add(r.Tasks[i].Status)
	}
	return r
}

// everything returns a fleet that has one item of each kind.
func everything() Fleet {
	r := release()
	summary := r
	summary.Tasks = nil
	return Fleet{
		Runs: []fleet.Run{
			{ID: "20260201-120000-aaaaaaaa", Name: "nightly", Project: "web", Status: fleet.Complete, Created: before(3 * time.Hour), Ended: before(2 * time.Hour), Counts: fleet.Counts{Total: 7, Complete: 7}, Spent: fleet.Cost{USD: 3.1}},
			summary,
			{ID: "20260131-120000-bbbbbbbb", Name: "old", Project: "web", Status: fleet.Failed, Created: before(30 * time.Hour), Ended: before(29 * time.Hour), Counts: fleet.Counts{Total: 3, Complete: 1, Failed: 1, Cancelled: 1}},
		},
		Workers: []fleet.Worker{
			{ID: "w2", Name: "build-2", WorkerStatus: "offline", ClaudeStatus: "running", ClaudeSince: before(4 * time.Minute), LastSeen: before(4 * time.Minute), Slots: 4},
			{ID: "w1", Name: "build-1", WorkerStatus: "online", ClaudeStatus: "waiting", ClaudeSince: before(40 * time.Second), Source: "hook", Task: releaseID + "/page", LastSeen: before(3 * time.Second), Slots: 4, Held: 2, Labels: []string{"@build-1", "project:web", "gpu"}, Version: "1.2.0"},
			{ID: "w3", Name: "spare", WorkerStatus: "online", ClaudeStatus: "idle", ClaudeSince: before(9 * time.Second), LastSeen: before(time.Second), Slots: 1, Source: "worker"},
		},
		Questions: []fleet.Question{
			{ID: "q1", Name: "cccccccc/port", Run: "20260201-120000-cccccccc", Task: "port", Text: "Which port?", Asked: before(4 * time.Minute)},
			*r.Tasks[2].Question,
		},
		Lanes: r.Lanes,
	}
}

// screenOf returns a model of this width and height that has received a fleet and the events.
func screenOf(width, height int, events ...any) Model {
	m := New("http://127.0.0.1:4870", "", now)
	m = take(m, Size{Width: width, Height: height}, everything())
	return take(m, events...)
}

// take passes events to the model one after the other. A string stands for keys, separated by
// spaces.
func take(m Model, what ...any) Model {
	for _, one := range what {
		if text, ok := one.(string); ok {
			for _, name := range strings.Fields(text) {
				m, _ = m.Update(key(name))
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
	m = take(m, strings.Join(names[:len(names)-1], " "))
	return m.Update(key(names[len(names)-1]))
}

func key(name string) Key {
	if len([]rune(name)) == 1 {
		return Key{Name: name, Text: name}
	}
	return Key{Name: name}
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

// apiTask returns the details of the task api.
func apiTask() Task {
	t := release().Tasks[1]
	t.Prompt = "Build the API on the schema that is there.\nUse the router of the standard library, and write a test for each route, also for those that refuse."
	return Task{Task: t, Attempts: []fleet.Attempt{
		{ID: "a2", Number: 1, Status: fleet.Failed, Worker: "w2", Class: "api_error", Summary: "overloaded", Started: before(140 * time.Second), Ended: before(70 * time.Second), Spent: fleet.Cost{USD: 0.2}},
		*t.Attempt,
	}}
}

func logOf(n int) Log {
	l := Log{Run: releaseID, Task: "api", Begin: true}
	for i := range n {
		l.Lines = append(l.Lines, fmt.Sprintf("line %d \x1b[32mgreen\x1b[0m\tafter a tab", i+1))
	}
	return l
}

// onRun and onTask are the keys that lead from the fleet to a run and to a task.
const (
	onRun  = "tab enter"
	onTask = onRun + " j enter"
)

// on reports whether the model shows a list with content of type T.
func on[T content](m Model) bool {
	v, ok := m.top().(listScreen)
	if !ok {
		return false
	}
	_, ok = v.content.(T)
	return ok
}

// question returns the question screen that the model shows, or the zero screen if it shows another
// screen.
func question(m Model) questionScreen {
	q, _ := m.top().(questionScreen)
	return q
}

// chosen returns the item that is chosen in the shown list.
func chosen(m Model) item {
	v := m.top().(listScreen)
	return v.chosen(v.list(m.known, v.filter, m.width))
}
