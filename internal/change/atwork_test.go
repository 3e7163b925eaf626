package change

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func TestAChangeIsReadWhileTheAgentWorks(t *testing.T) {
	t.Parallel()
	w := newWork(t, nil)
	stop := make(chan struct{})
	var all sync.WaitGroup
	for n := range 2 {
		all.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				file := filepath.Join(w.dir, fmt.Sprintf("temporary-%d-%d", n, i%50))
				if err := os.WriteFile(file, make([]byte, i%5000), 0o600); err != nil {
					t.Error(err)
					return
				}
				_ = os.Remove(filepath.Join(w.dir, fmt.Sprintf("temporary-%d-%d", n, (i+7)%50)))
			}
		})
	}
	var readers sync.WaitGroup
	r := w.reader()
	for range 4 {
		readers.Go(func() {
			for range 3 {
				if _, err := r.Change(t.Context(), "run1", "a"); err != nil {
					t.Error(err)
				}
			}
		})
	}
	readers.Wait()
	close(stop)
	all.Wait()
}

func TestAChangeIsReadInTheMiddleOfAMerge(t *testing.T) {
	t.Parallel()
	w := newWork(t, map[string]string{"both": "1\n", "deleted here": "1\n", "deleted there": "1\n", "becomes a folder": "1\n"})
	w.Write(w.dir, "both", "2\n")
	w.Write(w.dir, "deleted there", "2\n")
	w.Git(w.dir, "rm", "--quiet", "deleted here")
	w.Commit(w.dir, "work")
	w.Write(w.Dir, "both", "3\n")
	w.Write(w.Dir, "deleted here", "3\n")
	w.Git(w.Dir, "rm", "--quiet", "deleted there")
	w.Commit(w.Dir, "meanwhile")
	if err := exec.CommandContext(t.Context(), "git", "-C", w.dir, "merge", "main").Run(); err == nil {
		t.Fatal("no conflict")
	}
	if err := os.Remove(filepath.Join(w.dir, "becomes a folder")); err != nil {
		t.Fatal(err)
	}
	w.Write(w.dir, "becomes a folder/file", "1\n")
	c := w.change()
	want := "deleted becomes a folder\nadded becomes a folder/file\nchanged both\nchanged deleted here\nchanged deleted there\n"
	if got := shown(c); got != want && got != strings.Replace(want, "deleted becomes a folder\nadded becomes a folder/file\n", "renamed becomes a folder/file becomes a folder\n", 1) {
		t.Errorf("%s", got)
	}
	if f := w.file(c, "both", Options{}); len(f.Hunks) != 1 || f.Hunks[0].Lines[1].Text != "<<<<<<< HEAD" {
		t.Errorf("%+v", f)
	}
}

func TestARepositoryMayHaveLongIDs(t *testing.T) {
	t.Parallel()
	w := newWorkIn(t, map[string]string{"a": "1\n"}, "--object-format=sha256")
	w.Write(w.dir, "a", "2\n")
	c := w.change()
	if f := w.file(c, "a", Options{}); len(c.Tree) != 64 || len(f.Hunks) != 1 {
		t.Errorf("%+v", f)
	}
	if text, err := w.reader().Blob(t.Context(), c.Files[0].NewBlob); err != nil || string(text) != "2\n" {
		t.Errorf("%q, %v", text, err)
	}
}

func FuzzList(f *testing.F) {
	zero, one := strings.Repeat("0", 40), strings.Repeat("1", 40)
	f.Add(":100644 100644 " + one + " " + one + " M\x00a\x00:000000 100644 " + zero + " " + one + " A\x00b\x001\t2\ta\x00-\t-\tb\x00")
	f.Add(":100644 100644 " + one + " " + one + " R090\x00old\x00new\x001\t2\t\x00old\x00new\x00")
	f.Add(":::::\x00\x00")
	f.Fuzz(func(t *testing.T, out string) {
		files, err := parseList(out)
		if err != nil {
			return
		}
		for _, file := range files {
			if file.Path == "" || file.Status == "" || file.Digest == "" || (file.From != "") != (file.Status == "renamed" || file.Status == "copied") {
				t.Errorf("%+v", file)
			}
		}
	})
}
