package statefile_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
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

// An agent may run "git add" at any moment. It must not find a file that git would add.
func TestGitNeverSeesAnIgnoreFileWithoutItsContent(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("this machine cannot create a file together with its content")
	}
	for name, existing := range map[string]bool{"a new folder": false, "an existing folder": true} {
		t.Run(name, func(t *testing.T) {
			machine := &onlyComplete{Host: host.OS(), t: t}
			dir := filepath.Join(t.TempDir(), "runs")
			if existing {
				if err := os.Mkdir(dir, 0o755); err != nil {
					t.Fatal(err)
				}
			}
			if err := statefile.MkdirIgnored(machine, dir); err != nil {
				t.Fatal(err)
			}
			if text, err := os.ReadFile(filepath.Join(dir, ".gitignore")); err != nil || len(text) == 0 {
				t.Errorf("the .gitignore has %q, %v", text, err)
			}
		})
	}
}

// onlyComplete is a machine where every new file must appear with its content.
type onlyComplete struct {
	host.Host
	t *testing.T
}

func (c *onlyComplete) Create(op host.Op, name string, perm fs.FileMode) (host.File, error) {
	c.t.Errorf("%s was created empty", name)
	return c.Host.Create(op, name, perm)
}
