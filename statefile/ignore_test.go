package statefile_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"gaffer/statefile"
	"gaffer/statefile/host"
	"gaffer/statefile/host/hosttest"
)

func TestACrashLeavesAFolderThatGitIgnoresOrNone(t *testing.T) {
	const folder, ignore = "/project/state/runs", "/project/state/runs/.gitignore"
	crashes := hosttest.Crashes{
		Prepare: func(h host.Host) error { return statefile.MkdirAll(h, "/project") },
		Do:      func(h host.Host) error { return statefile.MkdirIgnored(h, folder) },
		Check: func(t *testing.T, h host.Host, done bool) {
			_, err := h.Stat("look", folder)
			if errors.Is(err, fs.ErrNotExist) && !done {
				return
			}
			if err != nil {
				t.Errorf("made: %v: %v", done, err)
			}
			text, err := statefile.ReadBytes(h, ignore)
			if err != nil || string(text) != "*\n" {
				t.Errorf("made: %v: the .gitignore has %q, %v", done, text, err)
			}
		},
	}.Run(t)
	if crashes == 0 {
		t.Error("nothing crashed")
	}
}

func TestProcessesThatMakeAFolderAtOnceAllHaveIt(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state", "runs")
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if err := statefile.MkdirIgnored(host.OS(), dir); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for _, folder := range []string{dir, filepath.Dir(dir)} {
		list, err := os.ReadDir(folder)
		if err != nil || len(list) != 1 {
			t.Errorf("%s has %v, %v", folder, list, err)
		}
	}
}

func TestInAnExistingFolderOnlyLocksAreIgnored(t *testing.T) {
	for name, given := range map[string]string{"without a .gitignore": "", "with one": "mine\n"} {
		dir := t.TempDir()
		file := filepath.Join(dir, ".gitignore")
		want := ".gitignore\n.*.flock\n*.json.lock/\n"
		if given != "" {
			want = given
			if err := os.WriteFile(file, []byte(given), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		for range 2 {
			if err := statefile.MkdirIgnored(host.OS(), dir); err != nil {
				t.Fatal(err)
			}
		}
		if text, err := os.ReadFile(file); err != nil || string(text) != want {
			t.Errorf("%s: it has %q, %v", name, text, err)
		}
	}
}
