package state

import (
	"bufio"
	"context"
	"io"
	"testing"
	"time"

	"gaffer/internal/cli/env"
	"gaffer/statefile/jsontree"
	"gaffer/workflow"
)

func TestWatchShowsTheFieldsThatChangeUntilItIsInterrupted(t *testing.T) {
	dir := t.TempDir()
	r, w := io.Pipe()
	e := &env.Env{Out: w, Err: io.Discard, Getenv: func(string) string { return "" }, Dir: dir, Now: time.Now}
	s, err := Open(e)
	if err != nil {
		t.Fatal(err)
	}
	set := func(path, text string) {
		if err := s.Update(t.Context(), func(root *jsontree.Node) error { return workflow.SetText(root, path, text) }); err != nil {
			t.Error(err)
		}
	}
	set("lastUpdated", "2026-02-17T12:00:00Z")
	set("nextStep", "first")
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- (&watcher{env: e}).run(ctx, s)
		_ = w.Close()
	}()
	lines := bufio.NewScanner(r)
	wait := func(want string) {
		t.Helper()
		for lines.Scan() {
			if lines.Text() == want {
				return
			}
		}
		t.Errorf("never shown: %s", want)
	}
	wait("nextStep = first")
	set("nextStep", "second\x1b[2J")
	wait("nextStep = second\uFFFD[2J")
	go func() {
		for lines.Scan() { // discard the output that is left
		}
	}()
	cancel()
	if err := <-ended; err == nil {
		t.Error("ended without saying why")
	}
}
