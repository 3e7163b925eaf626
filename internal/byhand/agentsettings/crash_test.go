package agentsettings

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"testing"

	"gaffer/internal/testkit/testenv"
	"gaffer/statefile"
	"gaffer/statefile/host"
	"gaffer/statefile/host/hosttest"
)

// at lists settings files of a project on the simulated machine, with their contents before init.
var at = []struct {
	file int // index in ProjectFiles
	old  string
}{
	{0, "{\r\n  // mine\r\n  \"model\": \"opus\"\r\n}"},
	{1, ""}, // the file is missing
	{3, "[tui]\nx = 1"},
}

func crashFiles(w Integration) (files []File) {
	all := w.ProjectFiles("/p", Programs())
	for _, a := range at {
		files = append(files, all[a.file])
	}
	return files
}

func crashEditor(h host.Host) *Editor { return &Editor{Host: h, Dir: "/state/init"} }

func prepare(h host.Host) error {
	files := crashFiles(wish())
	for i, a := range at {
		if a.old == "" {
			continue
		}
		if err := statefile.MkdirAll(h, filepath.Dir(files[i].Path)); err != nil {
			return err
		}
		if err := statefile.WriteNew(h, files[i].Path, []byte(a.old), 0o600); err != nil {
			return err
		}
	}
	return nil
}

func initiate(w Integration) func(host.Host) error {
	return func(h host.Host) error {
		edits, err := crashEditor(h).Plan(crashFiles(w))
		if err != nil {
			return err
		}
		return crashEditor(h).Apply(context.Background(), edits)
	}
}

func takeBack(h host.Host) error {
	edits, err := crashEditor(h).PlanUndo(crashFiles(wish()))
	if err != nil {
		return err
	}
	return crashEditor(h).Apply(context.Background(), edits)
}

// made returns the contents that the files have after init.
func made(t *testing.T, w Integration) (all [][]byte) {
	t.Helper()
	for i, f := range crashFiles(w) {
		c, err := Plan(f.Format, []byte(at[i].old), nil, f.Entries)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, c.New)
	}
	return all
}

func oldOnes() (all [][]byte) {
	for _, a := range at {
		all = append(all, []byte(a.old))
	}
	return all
}

// isOneOf fails the test unless each file has the content that one of the lists has for it. If
// completed is true, each file must have the content in the last list.
func isOneOf(t *testing.T, h host.Host, completed bool, lists ...[][]byte) {
	t.Helper()
	for i, f := range crashFiles(wish()) {
		now, _ := statefile.ReadBytes(h, f.Path) // empty if the file is missing
		found := false
		for n, list := range lists {
			found = found || bytes.Equal(now, list[i]) && (!completed || n == len(lists)-1)
		}
		if !found {
			t.Errorf("%s is %q", f.Path, now)
		}
	}
}

// checkUndo fails the test unless a new process can undo all changes byte for byte.
func checkUndo(t *testing.T, h host.Host) {
	t.Helper()
	if err := takeBack(h); err != nil {
		t.Fatal(err)
	}
	isOneOf(t, h, true, oldOnes())
	for _, dir := range []string{"/p", "/p/.claude", "/p/.codex"} {
		entries, err := h.ReadDir("test", dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if strings.Contains(e.Name(), ".tmp-") || strings.Contains(e.Name(), ".new-") {
				t.Errorf("%s/%s was left", dir, e.Name())
			}
		}
	}
}

func newer() Integration {
	w := wish()
	w.Argv, w.Shell = []string{"/opt/gaffer"}, "/opt/gaffer"
	return w
}

func TestACrashAtAnyStepLeavesOldOrNewContentAndUndoWorks(t *testing.T) {
	testenv.Integration(t)
	t.Parallel()
	n := hosttest.Crashes{
		Prepare: prepare, Do: initiate(wish()),
		Check: func(t *testing.T, h host.Host, done bool) {
			isOneOf(t, h, done, oldOnes(), made(t, wish()))
			checkUndo(t, h)
		},
	}.Run(t)
	t.Logf("init: %d crashes", n)
	n = hosttest.Crashes{
		Prepare: func(h host.Host) error {
			if err := prepare(h); err != nil {
				return err
			}
			return initiate(wish())(h)
		},
		Do: initiate(newer()),
		Check: func(t *testing.T, h host.Host, done bool) {
			isOneOf(t, h, done, made(t, wish()), made(t, newer()))
			if err := initiate(newer())(h); err != nil {
				t.Fatal(err)
			}
			isOneOf(t, h, true, made(t, newer()))
			checkUndo(t, h)
		},
	}.Run(t)
	t.Logf("update: %d crashes", n)
	n = hosttest.Crashes{
		Prepare: func(h host.Host) error {
			if err := prepare(h); err != nil {
				return err
			}
			return initiate(wish())(h)
		},
		Do: takeBack,
		Check: func(t *testing.T, h host.Host, done bool) {
			isOneOf(t, h, done, made(t, wish()), oldOnes())
			checkUndo(t, h)
		},
	}.Run(t)
	t.Logf("undo: %d crashes", n)
}
