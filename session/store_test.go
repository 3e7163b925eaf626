package session_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"gaffer/session"
	"gaffer/statefile"
	"gaffer/statefile/jsontree"
)

// clock is a clock whose time the test sets.
type clock struct{ now time.Time }

func (c *clock) Now() time.Time          { return c.now }
func (c *clock) forward(d time.Duration) { c.now = c.now.Add(d) }

func start() *clock { return &clock{time.Date(2026, 2, 1, 14, 30, 22, 0, time.UTC)} }

// counter is a random source for tests that never repeats a value.
type counter struct{ n byte }

func (c *counter) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 0
	}
	c.n++
	p[len(p)-1] = c.n
	return len(p), nil
}

func newStore(t *testing.T, c *clock) *session.Store {
	t.Helper()
	root := filepath.Join(t.TempDir(), ".founder-mode", "status")
	return session.New(root, session.Options{
		Now: c.Now, Rand: &counter{}, LogPrefix: ".founder-mode/status",
		Notice: func(n statefile.Notice) { t.Logf("notice: %s", n.Text) },
	})
}

func list(t *testing.T, text string) jsontree.Value {
	t.Helper()
	v, err := session.ParseAgents("agents", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func waveList(t *testing.T, text string) jsontree.Value {
	t.Helper()
	v, err := session.ParseWaves("waves", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

const threeAgents = `[{"id":"001","wave":1},{"id":"002","wave":1},{"id":"003","wave":2}]`

// create creates a session with the given agents.
func create(t *testing.T, s *session.Store, agents string) string {
	t.Helper()
	id, err := s.Create(t.Context(), session.Draft{Source: "orchestrate", SourceFile: "p.md", Agents: list(t, agents)})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// plant writes another program's document into the store.
func plant(t *testing.T, s *session.Store, id string, document []byte) {
	t.Helper()
	dir, err := s.Dir(id)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "status.json"), document, 0o644); err != nil {
		t.Fatal(err)
	}
}

func document(t *testing.T, s *session.Store, id string) []byte {
	t.Helper()
	dir, err := s.Dir(id)
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, "status.json"))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func load(t *testing.T, s *session.Store, id string) session.Status {
	t.Helper()
	status, err := s.Load(id)
	if err != nil {
		t.Fatal(err)
	}
	return status
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func golden(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// changed returns the lines that differ between two documents with the same number of
// lines.
func changed(t *testing.T, before, after []byte) []string {
	t.Helper()
	was, is := bytes.Split(before, []byte("\n")), bytes.Split(after, []byte("\n"))
	if len(was) != len(is) {
		t.Fatalf("%d lines became %d:\n%s", len(was), len(is), after)
	}
	var lines []string
	for i := range is {
		if !bytes.Equal(was[i], is[i]) {
			lines = append(lines, string(bytes.TrimSpace(is[i])))
		}
	}
	return lines
}

func TestReadingASessionKeepsNothingInMemory(t *testing.T) {
	s := newStore(t, start())
	id := create(t, s, threeAgents)
	load(t, s, id)
	if _, err := s.Load("no-such-session"); err == nil {
		t.Error("there is one")
	}
	if n := s.CachedDocuments(); n != 0 {
		t.Errorf("something of %d is kept", n)
	}
}
