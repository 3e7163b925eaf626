package workflow_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gaffer/statefile"
	"gaffer/statefile/host"
	"gaffer/statefile/jsontree"
	"gaffer/workflow"
)

// noon is the time of most tests.
var noon = time.Date(2026, 2, 17, 12, 0, 0, 0, time.UTC)

// project is a workflow folder on a real disk. Its clock does not move.
type project struct {
	*workflow.Store
	t    *testing.T
	root string
}

func newProject(t *testing.T, opts workflow.Options) *project {
	t.Helper()
	if opts.Now == nil {
		opts.Now = func() time.Time { return noon }
	}
	root := filepath.Join(t.TempDir(), ".fctry")
	return &project{workflow.Open(root, opts), t, root}
}

// with writes a file to the folder, as another program would, and returns p.
func (p *project) with(name, content string) *project {
	p.t.Helper()
	if err := os.MkdirAll(p.root, 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(p.root, name), []byte(content), 0o644); err != nil {
		p.t.Fatal(err)
	}
	// Set an old time: statefile reads a file that is not JSON again if it was changed
	// just now.
	return p.writtenAt(name, noon.Add(-time.Hour))
}

// writtenAt sets the modification time of a file in the folder, and returns p.
func (p *project) writtenAt(name string, at time.Time) *project {
	p.t.Helper()
	if err := os.Chtimes(filepath.Join(p.root, name), at, at); err != nil {
		p.t.Fatal(err)
	}
	return p
}

func (p *project) read(name string) string {
	p.t.Helper()
	data, err := os.ReadFile(filepath.Join(p.root, name))
	if err != nil {
		p.t.Fatal(err)
	}
	return string(data)
}

// edit applies change to the state, as Store.Update does.
func (p *project) edit(change func(root *jsontree.Node) error) error {
	return p.Update(context.Background(), change)
}

func (p *project) must(change func(root *jsontree.Node) error) {
	p.t.Helper()
	if err := p.edit(change); err != nil {
		p.t.Fatal(err)
	}
}

func (p *project) state() workflow.State {
	p.t.Helper()
	s, err := p.State()
	if err != nil {
		p.t.Fatal(err)
	}
	return s
}

func (p *project) names() []string {
	p.t.Helper()
	findings, err := p.Validate()
	if err != nil {
		p.t.Fatal(err)
	}
	return names(findings)
}

// places returns the name and the position of each finding, such as "wrong-type buildRun.status".
func (p *project) places() []string {
	p.t.Helper()
	findings, err := p.Validate()
	if err != nil {
		p.t.Fatal(err)
	}
	var all []string
	for _, f := range findings {
		all = append(all, strings.TrimSpace(f.Name+" "+f.At))
	}
	return all
}

func names(findings []statefile.Finding) []string {
	var all []string
	for _, f := range findings {
		if !slices.Contains(all, f.Name) {
			all = append(all, f.Name)
		}
	}
	slices.Sort(all)
	return all
}

func fixture(t *testing.T, path ...string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(append([]string{"testdata"}, path...)...))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func parse(t *testing.T, text string) jsontree.Value {
	t.Helper()
	doc, err := jsontree.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return doc.Value()
}

// says returns how the command line classifies an error, such as "conflict". For an error without a
// class it returns the error's text.
func says(err error) string {
	type (
		usage interface {
			error
			Usage() bool
		}
		invalid interface {
			error
			Invalid() bool
		}
		conflict interface {
			error
			Conflict() bool
		}
		notFound interface {
			error
			NotFound() bool
		}
	)
	if err == nil {
		return ""
	}
	if _, ok := errors.AsType[usage](err); ok {
		return "usage"
	}
	if _, ok := errors.AsType[invalid](err); ok {
		return "invalid"
	}
	if _, ok := errors.AsType[conflict](err); ok {
		return "conflict"
	}
	if _, ok := errors.AsType[notFound](err); ok {
		return "not found"
	}
	return err.Error()
}

// fakeLiveness is the real machine, except that the test decides which processes are alive.
type fakeLiveness struct {
	host.Host
	dead map[int]bool
}

func newMortal() *fakeLiveness { return &fakeLiveness{host.OS(), map[int]bool{}} }

func (m *fakeLiveness) Alive(p host.Process) host.Liveness {
	switch {
	case p.Host != "here":
		return host.Unknown
	case m.dead[p.PID]:
		return host.Dead
	}
	return host.Alive
}

func process(pid int) *host.Process {
	return &host.Process{PID: pid, Start: 1, Boot: "b", Space: "s", Host: "here"}
}

// repeating returns a reader that repeats the same bytes.
func repeating(pattern string) io.Reader {
	return bytes.NewReader(bytes.Repeat([]byte(pattern), 1000))
}
