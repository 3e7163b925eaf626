package statefile_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gaffer/statefile"
	"gaffer/statefile/host"
	"gaffer/statefile/jsontree"
)

// patience is how long a test waits for an operation. No operation needs that long, even on a slow
// machine.
const patience = 30 * time.Second

// set updates the document: it sets one member.
func set(ctx context.Context, f *statefile.File, name string, value any) error {
	return f.Update(ctx, func(d *jsontree.Doc) error {
		d.Root().Set(name, value)
		return nil
	})
}

// document writes a document and returns its path.
func document(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "doc.json")
	put(t, path, text)
	return path
}

func put(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// settled sets an old modification time, so that readDocument does not take the document for one
// that is being written.
func settled(t *testing.T, path string) {
	t.Helper()
	then := time.Now().Add(-time.Minute)
	if err := os.Chtimes(path, then, then); err != nil {
		t.Fatal(err)
	}
}

func compareContent(t *testing.T, path, want string) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("%s is not as it should be (-want +got):\n%s", filepath.Base(path), diff)
	}
}

// folderHolds checks which files are in the document's folder. It ignores the document, its lock
// file, and the lock folder that a File keeps for its next update.
func folderHolds(t *testing.T, path string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		name := filepath.Base(path)
		if e.Name() != name && e.Name() != "."+name+".flock" && !strings.HasPrefix(e.Name(), "."+name+".lock-") {
			got = append(got, e.Name())
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the folder is not as it should be (-want +got):\n%s", diff)
	}
}

// soon calls fn and fails the test if fn hangs. operation is the name of the operation in the
// message.
func soon(t *testing.T, operation string, fn func(ctx context.Context) error) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- fn(ctx) }()
	select {
	case err := <-done:
		return err
	case <-time.After(2 * patience):
		t.Fatalf("%s hangs", operation)
		return nil
	}
}

func TestAnUpdateChangesOnlyWhatItSets(t *testing.T) {
	path := document(t, "{\r\n\t\"unknown\" : [1,2 ,{\"x\":null}],\r\n\t\"id\": 123456789012345678901234567890,\r\n\t\"ratio\": 1.50, \"status\": \"queued\",\r\n\t\"last\":\"\\u00e9\"}")
	f := statefile.New(path, statefile.Options{})
	if f.Path() != path {
		t.Errorf("its path is %s", f.Path())
	}
	if err := set(context.Background(), f, "status", "running"); err != nil {
		t.Fatal(err)
	}
	compareContent(t, path, "{\r\n\t\"unknown\" : [1,2 ,{\"x\":null}],\r\n\t\"id\": 123456789012345678901234567890,\r\n\t\"ratio\": 1.50, \"status\": \"running\",\r\n\t\"last\":\"\\u00e9\"}")
	folderHolds(t, path)
	doc, err := f.Load()
	if err != nil || doc.Value().Get("status").Text() != "running" {
		t.Errorf("it is read as %v (%v)", doc, err)
	}
}

func TestAnUpdateThatChangesNothingWritesNothing(t *testing.T) {
	path := document(t, `{"a" :1}`)
	before, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	machine := counting()
	f := statefile.New(path, statefile.Options{Host: machine})
	if err := set(context.Background(), f, "a", 1); err != nil {
		t.Fatal(err)
	}
	after, err := os.Stat(path)
	if err != nil || !os.SameFile(before, after) || !before.ModTime().Equal(after.ModTime()) {
		t.Errorf("the file was touched (%v)", err)
	}
	if machine.made("sync unchanged", "sync") != 1 || machine.made("sync folder", "sync") != 1 {
		t.Error("it was not made durable")
	}
}

func TestAnAbsentDocument(t *testing.T) {
	path := filepath.Join(t.TempDir(), "doc.json")
	without := statefile.New(path, statefile.Options{})
	if _, err := without.Load(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("reading it: %v", err)
	}
	if err := set(context.Background(), without, "a", 1); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("updating it without a form to start from: %v", err)
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it was made: %v", err)
	}
	with := statefile.New(path, statefile.Options{Empty: []byte("{\n  \"version\": 1\n}\n")})
	if _, err := with.Load(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("reading it: %v", err)
	}
	if err := set(context.Background(), with, "a", 1); err != nil {
		t.Fatal(err)
	}
	compareContent(t, path, "{\n  \"version\": 1,\n  \"a\": 1\n}\n")
	folderHolds(t, path)
	umask := syscall.Umask(0)
	syscall.Umask(umask)
	if info, err := os.Stat(path); err != nil || info.Mode() != fs.FileMode(0o666&^umask) {
		t.Errorf("its mode is %v (%v)", info.Mode(), err)
	}
}

func TestADocumentInAnAbsentFolder(t *testing.T) {
	f := statefile.New(filepath.Join(t.TempDir(), "absent", "doc.json"), statefile.Options{Empty: []byte("{}"), Locking: statefile.Folder})
	if _, err := f.Load(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("reading it: %v", err)
	}
	if err := set(context.Background(), f, "a", 1); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("updating it: %v", err)
	}
}

func TestACorruptDocumentIsReportedAndNotChanged(t *testing.T) {
	const text = "{\n  \"a\": 1,\n}\n"
	path := document(t, text)
	settled(t, path)
	for name, o := range map[string]statefile.Options{
		"no rule":                {},
		"a form to start from":   {Empty: []byte("{}")},
		"nothing to start from":  {StartOver: true},
		"the session's own lock": {Locking: statefile.Folder, Empty: []byte("{}")},
	} {
		f := statefile.New(path, o)
		_, loadErr := f.Load()
		for _, err := range []error{loadErr, set(context.Background(), f, "a", 1)} {
			var corrupt *statefile.CorruptError
			if !errors.As(err, &corrupt) || !corrupt.Invalid() {
				t.Errorf("%s: %v", name, err)
				continue
			}
			if want := path + ":3:1: not JSON: unexpected '}' where a member's name should be"; err.Error() != want {
				t.Errorf("%s: %v\nshould be %s", name, err, want)
			}
		}
		compareContent(t, path, text)
		folderHolds(t, path)
	}
}

func TestACorruptDocumentIsCopiedBeforeItIsReplaced(t *testing.T) {
	path := document(t, "{\"a\": 1")
	settled(t, path)
	var notices []statefile.Notice
	f := statefile.New(path, statefile.Options{
		Empty: []byte("{}\n"), StartOver: true,
		Notice: func(n statefile.Notice) { notices = append(notices, n) },
	})
	if err := set(context.Background(), f, "b", 2); err != nil {
		t.Fatal(err)
	}
	compareContent(t, path, "{\n  \"b\": 2\n}\n")
	kept, err := filepath.Glob(path + ".corrupt-*")
	if err != nil || len(kept) != 1 {
		t.Fatalf("kept are %q (%v)", kept, err)
	}
	compareContent(t, kept[0], "{\"a\": 1")
	if len(notices) != 1 || notices[0].Kind != statefile.CorruptKept || notices[0].Path != path || !strings.Contains(notices[0].Text, kept[0]) {
		t.Errorf("the notices are %+v", notices)
	}
}

// If two files become corrupt within one second, their copies must get different names.
func TestEveryCorruptDocumentIsKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "doc.json")
	when := time.Date(2026, 2, 1, 14, 30, 25, 0, time.UTC)
	f := statefile.New(path, statefile.Options{Host: stopped{host.OS(), when}, Empty: []byte("{}"), StartOver: true})
	for _, text := range []string{"", "broken", "also broken", "broken", "\x00\x00\x00"} {
		put(t, path, text)
		if err := os.Chtimes(path, when.Add(-time.Minute), when.Add(-time.Minute)); err != nil {
			t.Fatal(err)
		}
		if err := set(context.Background(), f, "a", 1); err != nil {
			t.Fatal(err)
		}
	}
	name := path + ".corrupt-20260201T143025Z"
	for suffix, want := range map[string]string{"": "", "-2": "broken", "-3": "also broken", "-4": "\x00\x00\x00"} {
		compareContent(t, name+suffix, want)
	}
	compareContent(t, path, "{\n  \"a\": 1\n}")
}

// stopped is a machine whose clock does not move.
type stopped struct {
	host.Host
	now time.Time
}

func (s stopped) Now() time.Time { return s.now }

func TestAFileThatIsBeingWrittenIsReadAgain(t *testing.T) {
	const whole = "{\n  \"a\": 1,\n  \"b\": 2\n}\n"
	for name, half := range map[string]string{"half": whole[:12], "nothing yet": ""} {
		t.Run(name, func(t *testing.T) {
			now := time.Now()
			path := document(t, half)
			writer, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = writer.Close() }()
			machine := newHooked(func(s step) error {
				if s.op == "read" && s.call == "open" && s.nth == 3 {
					_, err := writer.WriteString(whole[len(half):])
					return err
				}
				return nil
			})
			machine.Host = stopped{host.OS(), now} // with a stopped clock the file stays young, however long the test takes
			f := statefile.New(path, statefile.Options{
				Host: machine, Empty: []byte("{}"), StartOver: true,
				Notice: func(n statefile.Notice) { t.Error(n) },
			})
			if err := set(context.Background(), f, "a", 3); err != nil {
				t.Fatal(err)
			}
			compareContent(t, path, "{\n  \"a\": 3,\n  \"b\": 2\n}\n")
			folderHolds(t, path)
		})
	}
}

func TestAReaderWaitsForAWriterInPlace(t *testing.T) {
	now := time.Now()
	path := document(t, "{\"a\": ")
	machine := newHooked(func(s step) error {
		if s.call == "open" && s.nth == 3 {
			put(t, path, "{\"a\": 1}")
		}
		return nil
	})
	machine.Host = stopped{host.OS(), now}
	doc, err := statefile.New(path, statefile.Options{Host: machine}).Load()
	if err != nil || string(doc.Bytes()) != `{"a": 1}` {
		t.Errorf("read %v (%v)", doc, err)
	}
}

func TestADocumentMayHave64MiB(t *testing.T) {
	path := filepath.Join(t.TempDir(), "doc.json")
	f := statefile.New(path, statefile.Options{Empty: []byte("{}")})
	put(t, path, "{}")
	if err := os.Truncate(path, statefile.MaxSize+1); err != nil {
		t.Fatal(err)
	}
	_, loadErr := f.Load()
	for _, err := range []error{loadErr, set(context.Background(), f, "a", 1)} {
		var form *statefile.FormError
		if !errors.As(err, &form) || !form.Invalid() || !strings.Contains(err.Error(), "more than the 64 MiB a document may have") {
			t.Errorf("one byte more: %v", err)
		}
	}
	if info, err := os.Stat(path); err != nil || info.Size() != statefile.MaxSize+1 {
		t.Errorf("the file was touched: %v (%v)", info.Size(), err)
	}
	put(t, path, `{"x":"`+strings.Repeat("x", statefile.MaxSize-len(`{"x":""}`))+`"}`)
	settled(t, path)
	before, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	read := false
	err = f.Update(context.Background(), func(d *jsontree.Doc) error {
		read = true
		d.Root().Set("a", 1)
		return nil
	})
	var form *statefile.FormError
	if !read || !errors.As(err, &form) {
		t.Errorf("exactly so much is read: %v; grown by a member: %v", read, err)
	}
	after, err := os.Stat(path)
	if err != nil || !os.SameFile(before, after) || !before.ModTime().Equal(after.ModTime()) {
		t.Errorf("the document was touched (%v)", err)
	}
}

func TestAPathThatIsNoFileIsRefusedAtOnce(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	if err := errors.Join(os.Mkdir(in("folder"), 0o755), syscall.Mkfifo(in("pipe"), 0o644), os.Symlink("pipe", in("link"))); err != nil {
		t.Fatal(err)
	}
	socket, err := net.Listen("unix", in("socket"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = socket.Close() }()
	for name, want := range map[string]string{
		"folder": "is a folder, not a document",
		"pipe":   "is a named pipe, not a document",
		"link":   "is a named pipe, not a document",
		"socket": "is a socket, not a document",
	} {
		f := statefile.New(in(name), statefile.Options{Empty: []byte("{}"), StartOver: true, Locking: statefile.Folder})
		for _, do := range []func(context.Context) error{
			func(context.Context) error { _, err := f.Load(); return err },
			func(ctx context.Context) error { return set(ctx, f, "a", 1) },
			func(context.Context) error { _, err := statefile.ReadBytes(host.OS(), in(name)); return err },
		} {
			err := soon(t, name, do)
			var form *statefile.FormError
			if !errors.As(err, &form) || err.Error() != in(name)+": "+want {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

func TestADeviceBehindALinkIsNotRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "doc.json")
	if err := os.Symlink("/dev/zero", path); err != nil {
		t.Fatal(err)
	}
	err := soon(t, "a device", func(context.Context) error {
		_, err := statefile.New(path, statefile.Options{}).Load()
		return err
	})
	if err == nil || err.Error() != path+": is a device, not a document" {
		t.Error(err)
	}
}

func TestADeeplyNestedDocumentIsRefused(t *testing.T) {
	text := strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000)
	path := document(t, text)
	settled(t, path)
	f := statefile.New(path, statefile.Options{})
	_, loadErr := f.Load()
	for _, err := range []error{loadErr, set(context.Background(), f, "a", 1)} {
		if want := fmt.Sprintf("%s:1:1001: not JSON: nested deeper than 1000 levels", path); err == nil || err.Error() != want {
			t.Errorf("%v, should be %s", err, want)
		}
	}
	compareContent(t, path, text)
}
