package statefile_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"gaffer/statefile"
)

// sight is what a watcher reported once: the document's text, or the error.
type sight string

const absent sight = "absent"

// watched is a watcher of a document that runs until the test ends.
type watched struct {
	t      *testing.T
	sights chan sight
}

func watch(t *testing.T, path string) *watched {
	t.Helper()
	w := &watched{t, make(chan sight, 100)}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- statefile.New(path, statefile.Options{}).Watch(ctx, func(data []byte, err error) {
			switch {
			case err != nil:
				w.sights <- sight(err.Error())
			case data == nil:
				w.sights <- absent
			default:
				w.sights <- sight(data)
			}
		})
	}()
	t.Cleanup(func() {
		cancel()
		select {
		case err := <-ended:
			if !errors.Is(err, context.Canceled) {
				t.Errorf("watching ended with %v", err)
			}
		case <-time.After(patience):
			t.Error("watching does not end")
		}
	})
	return w
}

// next waits for the watcher's next report and compares it with want.
func (w *watched) next(want sight) {
	w.t.Helper()
	if got := w.take(); got != want {
		w.t.Fatalf("saw %q, should be %q", got, want)
	}
}

func (w *watched) take() sight {
	w.t.Helper()
	select {
	case got := <-w.sights:
		return got
	case <-time.After(patience):
		w.t.Fatal("nothing is seen")
		return ""
	}
}

func TestAWatcherSeesWhatAnyProgramDoes(t *testing.T) {
	root := t.TempDir()
	folder := filepath.Join(root, "folder")
	path := filepath.Join(folder, "doc.json")
	w := watch(t, path)
	w.next(absent)
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}

	check(os.Mkdir(folder, 0o755))
	put(t, path, `{"a":1}`)
	w.next(`{"a":1}`)
	put(t, path, `{"a":2}`) // overwrites the file in place, with the same size
	w.next(`{"a":2}`)
	put(t, path+".new", `{"a":3}`)
	check(os.Rename(path+".new", path))
	w.next(`{"a":3}`)
	check(set(context.Background(), statefile.New(path, statefile.Options{}), "a", 4))
	w.next(`{"a":4}`)
	check(os.Remove(path))
	w.next(absent)
	put(t, path, `{"a":4}`)
	w.next(`{"a":4}`)
	check(os.RemoveAll(folder))
	w.next(absent)
	check(os.Mkdir(folder, 0o755))
	put(t, path, `{"a":5}`)
	w.next(`{"a":5}`)
	check(os.Rename(folder, folder+".old"))
	w.next(absent)
	check(os.Rename(folder+".old", folder))
	w.next(`{"a":5}`)
}

// A file that was read soon after its modification may have changed again with the same
// modification time. So the watcher must read it again. If the file was older when it was read, the
// watcher need not.
func TestAWatcherSeesARewriteThatKeepsSizeAndTime(t *testing.T) {
	for name, late := range map[string]time.Duration{"soon": 0, "late": time.Hour} {
		t.Run(name, func(t *testing.T) {
			path := document(t, `{"a":1}`)
			info, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			const looks = 100
			machine := newHooked(func(s step) error {
				if s.op == "watch" && s.nth == looks {
					cancel()
				}
				return nil
			})
			clock := newSleepClock(info.ModTime())
			machine.Host = clock
			var seen []string
			err = statefile.New(path, statefile.Options{Host: machine}).Watch(ctx, func(data []byte, err error) {
				seen = append(seen, string(data))
				if err != nil || len(seen) > 1 {
					return
				}
				put(t, path, `{"a":2}`)
				if err := errors.Join(os.Chtimes(path, info.ModTime(), info.ModTime()), clock.Sleep(ctx, late)); err != nil {
					t.Error(err)
				}
			})
			if !errors.Is(err, context.Canceled) || !slices.Equal(seen, []string{`{"a":1}`, `{"a":2}`}) {
				t.Errorf("saw %q, then %v", seen, err)
			}
			if reads := machine.made("read", "open"); reads > 30 {
				t.Errorf("read %d times in %d looks", reads, looks)
			}
		})
	}
}

func TestAWatcherFollowsALink(t *testing.T) {
	root := linked(t, "doc.json -> one.json")
	path := filepath.Join(root, "doc.json")
	w := watch(t, path)
	w.next(absent)
	put(t, filepath.Join(root, "one.json"), `1`)
	w.next(`1`)
	put(t, filepath.Join(root, "two.json"), `2`)
	if err := errors.Join(os.Symlink("two.json", path+".new"), os.Rename(path+".new", path)); err != nil {
		t.Fatal(err)
	}
	w.next(`2`)
}

func TestAWatcherReportsReadErrorsAndContinues(t *testing.T) {
	path := document(t, "{\n")
	w := watch(t, path)
	w.next(sight(path + ":2:1: not JSON: the document ends where a member's name should be"))
	put(t, path, `{}`)
	w.next(`{}`)
	if err := errors.Join(os.Remove(path), syscall.Mkfifo(path, 0o644)); err != nil {
		t.Fatal(err)
	}
	for { // the watcher may also report the state between the two writes
		got := w.take()
		if got == sight(path+": is a named pipe, not a document") {
			break
		}
		if got != absent {
			t.Fatalf("saw %q", got)
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	w.next(absent)
}

func TestAWatcherSeesALoopOfLinksGo(t *testing.T) {
	root := linked(t, "doc.json -> one;one -> doc.json")
	path := filepath.Join(root, "doc.json")
	w := watch(t, path)
	if got := w.take(); !strings.Contains(string(got), syscall.ELOOP.Error()) {
		t.Fatalf("saw %q", got)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	w.next(absent)
}

func TestWatchingEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	calls := 0
	err := statefile.New(filepath.Join(t.TempDir(), "doc.json"), statefile.Options{}).Watch(ctx, func(data []byte, err error) {
		calls++
		if data != nil || err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("saw %q (%v)", data, err)
		}
		cancel()
	})
	if !errors.Is(err, context.Canceled) || calls != 1 {
		t.Errorf("%v after %d calls", err, calls)
	}
}
