package statefile_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"gaffer/internal/testkit/testenv"
	"gaffer/statefile"
	"gaffer/statefile/host"
	"gaffer/statefile/jsontree"
)

func TestPermissionsAndOwnerAreKept(t *testing.T) {
	uid, gid := os.Getuid(), os.Getgid()
	if uid == 0 {
		uid, gid = 65534, 65534
	}
	for _, mode := range []fs.FileMode{0o640, 0o600, 0o666, 0o444, 0o604} {
		path := document(t, `{}`)
		if err := errors.Join(os.Chmod(path, mode), os.Chown(path, uid, gid)); err != nil {
			t.Fatal(err)
		}
		if err := set(context.Background(), statefile.New(path, statefile.Options{}), "a", 1); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode() != mode {
			t.Errorf("%v became %v", mode, info.Mode())
		}
		if is := info.Sys().(*syscall.Stat_t); int(is.Uid) != uid || int(is.Gid) != gid {
			t.Errorf("the owner is %d:%d, should be %d:%d", is.Uid, is.Gid, uid, gid)
		}
	}
}

func TestADocumentOfAnotherUserKeepsPermissionsAsFarAsPossible(t *testing.T) {
	const uid, gid = 4001, 4002
	for name, c := range map[string]struct {
		allowed int // group to which chown may change a file; if -1, every chown fails with EIO
		asked   []int
		fails   bool
		mode    fs.FileMode
	}{
		"its group is ours too":     {gid, []int{uid, gid, -1, gid}, false, 0o664},
		"neither is ours":           {0, []int{uid, gid, -1, gid}, false, 0o644},
		"the disk cannot be helped": {-1, []int{uid, gid}, true, 0o664},
	} {
		t.Run(name, func(t *testing.T) {
			path := document(t, `{"a":1}`)
			if err := os.Chmod(path, 0o664); err != nil {
				t.Fatal(err)
			}
			h := &shared{Host: host.OS(), path: path, uid: uid, gid: gid, chown: func(to, group int) error {
				switch {
				case c.allowed < 0:
					return syscall.EIO
				case to >= 0 || group != c.allowed:
					return syscall.EPERM
				}
				return nil
			}}
			err := set(context.Background(), statefile.New(path, statefile.Options{Host: h}), "a", 2)
			if !slices.Equal(h.asked, c.asked) || c.fails != errors.Is(err, syscall.EIO) || !c.fails && err != nil {
				t.Errorf("asked for %v, %v", h.asked, err)
			}
			if want := map[bool]string{true: `{"a":1}`, false: `{"a":2}`}[c.fails]; read(t, path) != want {
				t.Errorf("the document is %s", read(t, path))
			}
			if info, err := os.Stat(path); err != nil || info.Mode().Perm() != c.mode {
				t.Errorf("its mode is %v, %v", info.Mode(), err)
			}
		})
	}
}

// shared is the real machine, except that the document belongs to another user.
type shared struct {
	host.Host
	path     string
	uid, gid uint32
	chown    func(uid, gid int) error
	asked    []int
}

func (s *shared) Open(op host.Op, name string) (host.File, error) {
	f, err := s.Host.Open(op, name)
	return &sharedFile{f, s, name == s.path}, err
}

func (s *shared) Create(op host.Op, name string, perm fs.FileMode) (host.File, error) {
	f, err := s.Host.Create(op, name, perm)
	return &sharedFile{f, s, false}, err
}

type sharedFile struct {
	host.File
	of     *shared
	theirs bool
}

func (f *sharedFile) Stat() (fs.FileInfo, error) {
	info, err := f.File.Stat()
	if err == nil && f.theirs {
		info = theirs{info, f.of}
	}
	return info, err
}

func (f *sharedFile) Chown(_ host.Op, uid, gid int) error {
	f.of.asked = append(f.of.asked, uid, gid)
	return f.of.chown(uid, gid)
}

// theirs is the file information of a file that belongs to another user.
type theirs struct {
	fs.FileInfo
	of *shared
}

func (i theirs) Sys() any {
	stat := *i.FileInfo.Sys().(*syscall.Stat_t)
	stat.Uid, stat.Gid = i.of.uid, i.of.gid
	return &stat
}

func TestALinkedDocumentIsWrittenAtTheLinksTarget(t *testing.T) {
	for name, c := range map[string]struct{ links, real string }{
		"in the same folder": {"doc.json -> real.json", "real.json"},
		"relative":           {"doc.json -> sub/real.json", "sub/real.json"},
		"upwards":            {"sub/up -> ../real.json;doc.json -> sub/up", "real.json"},
		"a chain":            {"doc.json -> one;one -> sub/two;sub/two -> three;sub/three -> ../real.json", "real.json"},
		"absolute":           {"doc.json -> ROOT/sub/real.json", "sub/real.json"},
	} {
		for _, there := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, there: %v", name, there), func(t *testing.T) {
				root := linked(t, c.links)
				target := filepath.Join(root, c.real)
				if there {
					put(t, target, `{"a":1}`)
				}
				f := statefile.New(filepath.Join(root, "doc.json"), statefile.Options{Empty: []byte(`{"a":1}`)})
				if err := set(context.Background(), f, "a", 2); err != nil {
					t.Fatal(err)
				}
				compareContent(t, target, `{"a":2}`)
				stillLinked(t, root, c.links)
			})
		}
	}
}

func TestSecurityAFileBehindALinkThatIsNotJSONIsNotReplaced(t *testing.T) {
	const text = "export PATH=/usr/bin\n"
	root := linked(t, "doc.json -> sub/theirs")
	target := filepath.Join(root, "sub", "theirs")
	put(t, target, text)
	f := statefile.New(filepath.Join(root, "doc.json"), statefile.Options{Empty: []byte(`{}`), StartOver: true})
	var corrupt *statefile.CorruptError
	if err := set(context.Background(), f, "a", 2); !errors.As(err, &corrupt) {
		t.Errorf("the error is %v, want a CorruptError", err)
	}
	compareContent(t, target, text)
}

// The target of a link is relative to the folder in which the link really is, not to the path by
// which it was reached.
func TestALinkBelowALinkedFolderIsFollowedAsTheKernelDoes(t *testing.T) {
	const links = "project -> elsewhere/deep;elsewhere/deep/doc.json -> ../real.json"
	for _, decoy := range []bool{false, true} {
		root := linked(t, links)
		target := filepath.Join(root, "elsewhere", "real.json")
		put(t, target, `{"a":1}`)
		if decoy {
			put(t, filepath.Join(root, "real.json"), `{"a":1}`)
		}
		f := statefile.New(filepath.Join(root, "project", "doc.json"), statefile.Options{})
		if err := set(context.Background(), f, "a", 2); err != nil {
			t.Error(err)
		}
		compareContent(t, target, `{"a":2}`)
		if decoy {
			compareContent(t, filepath.Join(root, "real.json"), `{"a":1}`)
		}
		stillLinked(t, root, links)
	}
}

// linked creates a folder with the given links, such as "a -> b;c -> ../d".
func linked(t *testing.T, links string) string {
	t.Helper()
	root := t.TempDir()
	if err := errors.Join(os.Mkdir(filepath.Join(root, "sub"), 0o755), os.MkdirAll(filepath.Join(root, "elsewhere", "deep"), 0o755)); err != nil {
		t.Fatal(err)
	}
	eachLink(root, links, func(name, target string) {
		if err := os.Symlink(target, name); err != nil {
			t.Fatal(err)
		}
	})
	return root
}

func stillLinked(t *testing.T, root, links string) {
	t.Helper()
	eachLink(root, links, func(name, target string) {
		if got, err := os.Readlink(name); err != nil || got != target {
			t.Errorf("%s leads to %q (%v)", name, got, err)
		}
	})
}

func eachLink(root, links string, do func(name, target string)) {
	for link := range strings.SplitSeq(links, ";") {
		name, target, _ := strings.Cut(link, " -> ")
		do(filepath.Join(root, name), strings.Replace(target, "ROOT", root, 1))
	}
}

func TestALoopOfLinksIsAnError(t *testing.T) {
	root := linked(t, "doc.json -> one;one -> sub/two;sub/two -> ../doc.json")
	f := statefile.New(filepath.Join(root, "doc.json"), statefile.Options{Empty: []byte("{}")})
	if _, err := f.Load(); !errors.Is(err, syscall.ELOOP) {
		t.Errorf("reading it: %v", err)
	}
	err := set(context.Background(), f, "a", 1)
	if err == nil || !strings.Contains(err.Error(), "is part of a cycle of links") {
		t.Errorf("updating it: %v", err)
	}
}

// Another program writes just before one of our steps. After every combination of step and kind of
// write, the document must contain both changes.
func TestAChangeWithoutALockIsNotLost(t *testing.T) {
	for name, foreign := range map[string]func(t *testing.T, path string){
		"in place": func(t *testing.T, path string) { put(t, path, `{"a":0,"theirs":1}`) },
		"of the same size": func(t *testing.T, path string) {
			info, err := os.Stat(path)
			put(t, path, `{"a":1}`)
			if err := errors.Join(err, os.Chtimes(path, info.ModTime(), info.ModTime())); err != nil {
				t.Fatal(err)
			}
		},
		"by renaming": func(t *testing.T, path string) {
			put(t, path+".new", `{"a":0,"theirs":1}`)
			if err := os.Rename(path+".new", path); err != nil {
				t.Fatal(err)
			}
		},
		"of the permissions": func(t *testing.T, path string) {
			if err := os.Chmod(path, 0o600); err != nil {
				t.Fatal(err)
			}
		},
	} {
		for _, at := range []step{
			{op: "create temp", call: "create", nth: 1},
			{op: "write temp", call: "write", nth: 1},
			{op: "sync temp", call: "sync", nth: 1},
			{op: "read", call: "open", nth: 2},
		} {
			t.Run(fmt.Sprintf("%s before %s", name, at.op), func(t *testing.T) {
				path := document(t, `{"a":0}`)
				var wrote string
				var mode fs.FileMode
				f := statefile.New(path, statefile.Options{Host: newHooked(func(s step) error {
					if s.name = ""; s == at {
						foreign(t, path)
						data, err := os.ReadFile(path)
						info, statErr := os.Stat(path)
						wrote, mode = string(data), info.Mode()
						return errors.Join(err, statErr)
					}
					return nil
				})})
				runs := 0
				if err := f.Update(context.Background(), func(d *jsontree.Doc) error {
					runs++
					d.Root().Set("ours", 1)
					return nil
				}); err != nil {
					t.Fatal(err)
				}
				if runs != 2 {
					t.Errorf("the change ran %d times", runs)
				}
				compareContent(t, path, strings.TrimSuffix(wrote, "}")+`,"ours":1}`)
				if info, err := os.Stat(path); err != nil || info.Mode() != mode {
					t.Errorf("the mode is %v (%v), should be %v", info.Mode(), err, mode)
				}
				folderHolds(t, path)
			})
		}
	}
}

func TestADocumentThatIsCreatedOrDeletedDuringAnUpdate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "doc.json")
	before := func(do func() error) *statefile.File {
		return statefile.New(path, statefile.Options{Empty: []byte("{}"), Host: newHooked(func(s step) error {
			if s.op == "sync temp" && s.nth == 1 {
				return do()
			}
			return nil
		})})
	}
	appears := before(func() error { put(t, path, `{"theirs":1}`); return nil })
	if err := set(context.Background(), appears, "ours", 1); err != nil {
		t.Fatal(err)
	}
	compareContent(t, path, `{"theirs":1,"ours":1}`)
	goes := before(func() error { return os.Remove(path) })
	if err := set(context.Background(), goes, "again", 1); err != nil {
		t.Fatal(err)
	}
	compareContent(t, path, "{\n  \"again\": 1\n}")
}

func TestConstantChangesByAnotherProgramAreAnError(t *testing.T) {
	path := document(t, `{}`)
	n := 0
	f := statefile.New(path, statefile.Options{Host: newHooked(func(s step) error {
		if s.op == "sync temp" {
			n++
			put(t, path, fmt.Sprintf(`{"theirs":%d}`, n))
		}
		return nil
	})})
	err := set(context.Background(), f, "ours", 1)
	var failed *statefile.StepError
	if !errors.As(err, &failed) || failed.Step != "check unchanged" || failed.Replaced {
		t.Errorf("%v", err)
	}
	compareContent(t, path, fmt.Sprintf(`{"theirs":%d}`, n))
	folderHolds(t, path)
}

// The test makes every step of an update fail, with every error that a disk can return.
func TestAStepThatFailsLeavesTheOldDocumentAndIsNamed(t *testing.T) {
	testenv.Integration(t)
	for name, locking := range lockings {
		t.Run(name, func(t *testing.T) {
			steps := stepsOfAnUpdate(t, locking)
			for i := range steps {
				for _, errno := range []syscall.Errno{syscall.EROFS, syscall.ENOSPC, syscall.EACCES, syscall.EIO} {
					failStep(t, locking, steps[i], i, errno)
				}
			}
		})
	}
}

// prepare creates a document whose update needs every step: it is behind a link, its
// permissions and owner differ from those of a new file, and a dead writer has left a
// temporary file.
func prepare(t *testing.T) string {
	t.Helper()
	root := linked(t, "doc.json -> real.json")
	target := filepath.Join(root, "real.json")
	put(t, target, `{"a":1}`)
	put(t, filepath.Join(root, ".real.json.tmp-1-leftover"), "")
	if err := os.Chmod(target, 0o666); err != nil {
		t.Fatal(err)
	}
	if os.Getuid() == 0 {
		if err := os.Chown(target, 65534, 65534); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(root, "doc.json")
}

func stepsOfAnUpdate(t *testing.T, locking statefile.Locking) []step {
	t.Helper()
	var steps []step
	f := statefile.New(prepare(t), statefile.Options{Locking: locking, Host: newHooked(func(s step) error {
		steps = append(steps, s)
		return nil
	})})
	if err := set(context.Background(), f, "a", 2); err != nil {
		t.Fatal(err)
	}
	if len(steps) < 15 {
		t.Fatalf("an update has but %d steps: %v", len(steps), steps)
	}
	return steps
}

func failStep(t *testing.T, locking statefile.Locking, want step, at int, errno syscall.Errno) {
	t.Helper()
	path := prepare(t)
	seen := 0
	f := statefile.New(path, statefile.Options{Locking: locking, Host: newHooked(func(s step) error {
		if seen++; seen-1 == at {
			return errno
		}
		return nil
	})})
	err := set(context.Background(), f, "a", 2)
	where := fmt.Sprintf("%s (%s), %v", want.op, want.call, errno)

	var failed *statefile.StepError
	switch text := read(t, path); {
	case err == nil && text != `{"a":2}`:
		t.Errorf("%s: no error, and the document is %s", where, text)
	case err != nil && !errors.Is(err, errno):
		t.Errorf("%s: the error is %v", where, err)
	case errors.As(err, &failed) && failed.Replaced:
		if text != `{"a":2}` {
			t.Errorf("%s: %v, but the document is %s", where, err, text)
		}
	case err != nil && text != `{"a":1}`:
		t.Errorf("%s: %v, but the document is %s", where, err, text)
	}
	if failed != nil && failed.Step != want.op && !sameStep[want.op+"/"+host.Op(want.call)][failed.Step] {
		t.Errorf("%s is reported as %s", where, failed.Step)
	}
	if failed == nil && err != nil && want.op != "read" {
		t.Errorf("%s: the error names no step: %v", where, err)
	}
	stillLinked(t, filepath.Dir(path), "doc.json -> real.json")
	nothingLeft(t, path, where, want)
	if err := set(context.Background(), statefile.New(path, statefile.Options{Locking: locking, LockTimeout: 100 * time.Millisecond}), "b", 1); err != nil && want.op != "unsign lock folder" && want.op != "release lock folder" {
		t.Errorf("%s: the next update: %v", where, err)
	}
}

// sameStep lists, for an operation of the machine, the steps that may report its failure.
var sameStep = map[host.Op]map[host.Op]bool{
	"read/open":         {"check unchanged": true},
	"read/fstat":        {"check unchanged": true},
	"read/read":         {"check unchanged": true},
	"create temp/fstat": {"keep permissions": true},
	"create temp/close": {"close temp": true},
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// nothingLeft checks that no temporary file and no lock folder exists, except one that the failed
// step should have removed.
func nothingLeft(t *testing.T, path, where string, failed step) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		temp := strings.Contains(e.Name(), ".tmp-") && !strings.HasSuffix(e.Name(), "-leftover")
		lock := strings.HasSuffix(e.Name(), ".lock") && failed.op != "unsign lock folder" && failed.op != "release lock folder"
		if temp || lock {
			t.Errorf("%s: %s is left", where, e.Name())
		}
	}
}

func TestLeftoversOfDeadWritersAreSwept(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for name, path := range map[string]string{
		"absolute":     filepath.Join(dir, "doc.json"),
		"relative":     "doc.json",
		"with a dot":   "./doc.json",
		"with dots":    dir + "/sub/../doc.json",
		"with slashes": dir + "//doc.json",
	} {
		t.Run(name, func(t *testing.T) {
			if err := os.MkdirAll("sub", 0o755); err != nil {
				t.Fatal(err)
			}
			put(t, "doc.json", `{}`)
			put(t, ".doc.json.tmp-1-00000000", "half")
			put(t, ".other.json.tmp-1-00000000", "half")
			if err := set(context.Background(), statefile.New(path, statefile.Options{}), "a", 1); err != nil {
				t.Fatal(err)
			}
			folderHolds(t, filepath.Join(dir, "doc.json"), ".other.json.tmp-1-00000000", "sub")
		})
	}
}

func TestANewFileIsWrittenWholeOrNotAtAll(t *testing.T) {
	path := filepath.Join(t.TempDir(), "doc.json")
	if err := statefile.WriteNew(host.OS(), path, []byte("first"), 0o640); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode() != 0o640 {
		t.Errorf("its mode is %v (%v)", info.Mode(), err)
	}
	if err := statefile.WriteNew(host.OS(), path, []byte("second"), 0o640); !errors.Is(err, fs.ErrExist) {
		t.Errorf("writing it again: %v", err)
	}
	compareContent(t, path, "first")
	folderHolds(t, path)
	if err := statefile.WriteNew(host.OS(), filepath.Join(path, "x"), nil, 0o640); err == nil {
		t.Error("a file was made below a file")
	}
}

func TestANewFileIsNotSweptAwayWhileItIsWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "doc.json")
	machine := newHooked(func(s step) error {
		if s.op == "link" {
			return set(context.Background(), statefile.New(path, statefile.Options{Empty: []byte("{}")}), "theirs", 1)
		}
		return nil
	})
	if err := statefile.WriteNew(machine, path, []byte("ours"), 0o640); !errors.Is(err, fs.ErrExist) {
		t.Errorf("an update was quicker, and the error is %v", err)
	}
	compareContent(t, path, "{\n  \"theirs\": 1\n}")
	folderHolds(t, path)
}

func TestAFileIsReplacedUnlessItChanged(t *testing.T) {
	root := linked(t, "doc.json -> real.json")
	path, target := filepath.Join(root, "doc.json"), filepath.Join(root, "real.json")
	put(t, target, "old")
	if err := os.Chmod(target, 0o604); err != nil {
		t.Fatal(err)
	}
	if err := statefile.Replace(host.OS(), path, []byte("older"), []byte("new")); !errors.Is(err, statefile.ErrChanged) {
		t.Errorf("what differs: %v", err)
	}
	compareContent(t, target, "old")
	meddled := newHooked(func(s step) error {
		if s.op == "sync temp" {
			put(t, target, "theirs")
		}
		return nil
	})
	if err := statefile.Replace(meddled, path, []byte("old"), []byte("new")); !errors.Is(err, statefile.ErrChanged) {
		t.Errorf("what changes meanwhile: %v", err)
	}
	compareContent(t, target, "theirs")
	if err := statefile.Replace(host.OS(), path, []byte("theirs"), []byte("new")); err != nil {
		t.Fatal(err)
	}
	compareContent(t, target, "new")
	stillLinked(t, root, "doc.json -> real.json")
	if info, err := os.Stat(target); err != nil || info.Mode() != 0o604 {
		t.Errorf("its mode is %v (%v)", info.Mode(), err)
	}
	folderHolds(t, target, "doc.json", "elsewhere", "sub")
	if err := errors.Join(statefile.Sync(host.OS(), path), os.Remove(target)); err != nil {
		t.Error(err)
	}
	if err := statefile.Replace(host.OS(), path, nil, []byte("new")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what is gone: %v", err)
	}
	if err := statefile.Sync(host.OS(), path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("making durable what is gone: %v", err)
	}
}

func TestMissingParentFoldersAreCreated(t *testing.T) {
	root := t.TempDir()
	path := filepath.Join(root, "a", "b", "c")
	for range 2 {
		if err := statefile.MkdirAll(host.OS(), path); err != nil {
			t.Fatal(err)
		}
	}
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		t.Errorf("%v (%v)", info, err)
	}
	put(t, filepath.Join(root, "file"), "")
	var form *statefile.FormError
	if err := statefile.MkdirAll(host.OS(), filepath.Join(root, "file")); !errors.As(err, &form) {
		t.Errorf("a folder where a file is: %v", err)
	}
	if err := statefile.MkdirAll(host.OS(), filepath.Join(root, "file", "below")); err == nil {
		t.Error("a folder below a file was made")
	}
}

func TestALinkIsReplacedInOneStep(t *testing.T) {
	path := filepath.Join(t.TempDir(), "active")
	for _, target := range []string{"one", "two", "two", "../three"} {
		if err := statefile.ReplaceLink(host.OS(), target, path); err != nil {
			t.Fatal(err)
		}
		if got, err := os.Readlink(path); err != nil || got != target {
			t.Errorf("it leads to %q (%v), should be %q", got, err, target)
		}
	}
	folderHolds(t, path)
	folder := filepath.Join(t.TempDir(), "active")
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	var failed *statefile.StepError
	if err := statefile.ReplaceLink(host.OS(), "one", folder); !errors.As(err, &failed) || failed.Step != "rename" {
		t.Errorf("a link where a folder is: %v", err)
	}
	folderHolds(t, folder)
}
