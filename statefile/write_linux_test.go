package statefile_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"gaffer/statefile"
)

func TestAFullDiskLeavesTheOldDocument(t *testing.T) {
	for name, locking := range lockings {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(smallDisk(t), "doc.json")
			old := `{"a":"` + strings.Repeat("x", 300<<10) + `"}`
			put(t, path, old)
			f := statefile.New(path, statefile.Options{Locking: locking})
			err := set(context.Background(), f, "b", strings.Repeat("y", 600<<10))
			var failed *statefile.StepError
			if !errors.As(err, &failed) || failed.Step != "write temp" || failed.Replaced {
				t.Errorf("the error is %v", err)
			}
			compareContent(t, path, old)
			folderHolds(t, path)
			if err := set(context.Background(), f, "a", "short"); err != nil {
				t.Errorf("what still fits: %v", err)
			}
		})
	}
}

// smallDisk returns a folder on a separate disk of 1 MiB. If mounting is not permitted, it returns
// a folder in which no file may be larger than 512 KiB.
func smallDisk(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"); err == nil {
		t.Cleanup(func() { _ = syscall.Unmount(dir, 0) })
		return dir
	}
	limitFileSize(t, 512<<10)
	return dir
}

func TestAReadOnlyFolderLeavesTheDocument(t *testing.T) {
	for name, locking := range lockings {
		t.Run(name, func(t *testing.T) {
			path := document(t, `{"a":1}`)
			if err := os.Chmod(filepath.Dir(path), 0o555); err != nil {
				t.Fatal(err)
			}
			asNobody(t, path, func() {
				f := statefile.New(path, statefile.Options{Locking: locking})
				err := set(context.Background(), f, "a", 2)
				var failed *statefile.StepError
				if !errors.As(err, &failed) || failed.Step != "lock" || !errors.Is(err, fs.ErrPermission) {
					t.Errorf("the error is %v", err)
				}
				if _, err := f.Load(); err != nil {
					t.Errorf("reading it: %v", err)
				}
			})
			compareContent(t, path, `{"a":1}`)
			if err := os.Chmod(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func TestAnUnreadableDocumentIsAnErrorAndIsKept(t *testing.T) {
	path := document(t, `{"a":1}`)
	if err := errors.Join(os.Chmod(filepath.Dir(path), 0o777), os.Chmod(path, 0)); err != nil {
		t.Fatal(err)
	}
	asNobody(t, path, func() {
		f := statefile.New(path, statefile.Options{Empty: []byte("{}"), StartOver: true})
		if _, err := f.Load(); !errors.Is(err, fs.ErrPermission) {
			t.Errorf("reading it: %v", err)
		}
		if err := set(context.Background(), f, "a", 2); !errors.Is(err, fs.ErrPermission) {
			t.Errorf("updating it: %v", err)
		}
	})
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	compareContent(t, path, `{"a":1}`)
}

// asNobody calls f with the permissions of a user who owns no files. path is the document that f
// works on.
func asNobody(t *testing.T, path string, f func()) {
	t.Helper()
	if err := os.Chmod(filepath.Dir(filepath.Dir(path)), 0o755); err != nil {
		t.Fatal(err)
	}
	if os.Getuid() == 0 { // only root has to change its user; other users do not own the files either
		runtime.LockOSThread() // the kernel sets the user for each thread separately
		defer runtime.UnlockOSThread()
		if err := syscall.Setfsuid(65534); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = syscall.Setfsuid(0) }()
	}
	f()
}

func limitFileSize(t *testing.T, most uint64) {
	t.Helper()
	var old syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &old); err != nil {
		t.Fatal(err)
	}
	signal.Ignore(syscall.SIGXFSZ)
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: most, Max: old.Max}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Setrlimit(syscall.RLIMIT_FSIZE, &old)
		signal.Reset(syscall.SIGXFSZ)
	})
}
