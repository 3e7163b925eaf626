package workflow_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"gaffer/statefile/jsontree"
	"gaffer/workflow"
)

func TestAnAbsentStateIsEmpty(t *testing.T) {
	p := newProject(t, workflow.Options{})
	v, err := p.Load()
	if err != nil || v.String() != "{}" || len(p.names()) > 0 {
		t.Errorf("%s, %v", v, err)
	}
	if items, err := p.Inbox().List(); err != nil || len(items) > 0 {
		t.Errorf("%v, %v", items, err)
	}
	if _, err := os.Stat(p.root); err == nil {
		t.Error("reading made a folder")
	}
}

func TestTheFolderIsMadeWhenSomethingIsWritten(t *testing.T) {
	p := newProject(t, workflow.Options{})
	p.must(func(root *jsontree.Node) error { return workflow.SetText(root, "nextStep", "go") })
	want := "{\n  \"nextStep\": \"go\",\n  \"lastUpdated\": \"2026-02-17T12:00:00Z\"\n}\n"
	if got := p.read("state.json"); got != want {
		t.Errorf("got %s", got)
	}
}

func TestWhatCannotBeADocumentIsRefusedAtOnce(t *testing.T) {
	for what, put := range map[string]func(path string) error{
		"a folder": func(path string) error { return os.Mkdir(path, 0o755) },
		"a pipe":   func(path string) error { return syscall.Mkfifo(path, 0o644) },
		"a file of 100 MB": func(path string) error {
			if err := os.WriteFile(path, nil, 0o644); err != nil {
				return err
			}
			return os.Truncate(path, 100<<20)
		},
	} {
		for _, name := range []string{"state.json", "inbox.json"} {
			p := newProject(t, workflow.Options{}).with("other", "")
			if err := put(filepath.Join(p.root, name)); err != nil {
				t.Fatal(err)
			}
			if got := p.names(); len(got) != 1 || got[0] != "not-a-document" {
				t.Errorf("%s at %s: %v", what, name, got)
			}
			err := p.edit(func(root *jsontree.Node) error { return workflow.SetText(root, "nextStep", "go") })
			if name == "inbox.json" {
				_, err = p.Inbox().Add(t.Context(), workflow.EvolveItem, "x")
			}
			if says(err) != "invalid" {
				t.Errorf("%s at %s: %v", what, name, err)
			}
		}
	}
}

func TestADeeplyNestedStateIsRefusedAndKept(t *testing.T) {
	deep := `{"a":` + strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000) + "}"
	p := newProject(t, workflow.Options{}).with("inbox.json", deep)
	if got := p.names(); len(got) != 1 || got[0] != "not-json" {
		t.Errorf("reported %v", got)
	}
	if _, err := p.Inbox().Add(t.Context(), workflow.EvolveItem, "x"); says(err) != "invalid" || p.read("inbox.json") != deep {
		t.Errorf("got %v", err)
	}
}

func TestWatchReportsEachChange(t *testing.T) {
	p := newProject(t, workflow.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	seen := make(chan string)
	ended := make(chan error)
	go func() {
		ended <- p.Watch(ctx, func(state jsontree.Value, err error) {
			if err != nil {
				seen <- "error"
				return
			}
			seen <- state.Get("nextStep").Text()
		})
	}()
	if got := <-seen; got != "" {
		t.Errorf("at first %q", got)
	}
	p.must(func(root *jsontree.Node) error { return workflow.SetText(root, "nextStep", "go") })
	if got := <-seen; got != "go" {
		t.Errorf("then %q", got)
	}
	p.with("state.json", "[1]")
	if got := <-seen; got != "error" {
		t.Errorf("then %q", got)
	}
	cancel()
	if err := <-ended; err == nil {
		t.Error("watch ended without saying why")
	}
}
