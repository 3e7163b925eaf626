package host_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"gaffer/internal/testkit/testenv"
	"gaffer/statefile/host"
)

func lockName(t *testing.T) string { return filepath.Join(t.TempDir(), "lock") }

func take(t *testing.T, name string) host.Lock {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), testenv.Patience)
	defer cancel()
	l, err := host.OS().Lock(ctx, "lock", name)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func release(t *testing.T, l host.Lock) {
	t.Helper()
	if err := l.Unlock(); err != nil {
		t.Error(err)
	}
}

// waiting starts a goroutine that waits for a lock. Cancelling ctx does not end its system call, so
// the lock's holder must release the lock before the test ends.
func waiting(ctx context.Context, name string) <-chan error {
	done := make(chan error, 1)
	go func() {
		l, err := host.OS().Lock(ctx, "lock", name)
		if err == nil {
			err = l.Unlock()
		}
		done <- err
	}()
	return done
}

func result(t *testing.T, done <-chan error) error {
	t.Helper()
	select {
	case err := <-done:
		return err
	case <-time.After(testenv.Patience):
		t.Fatal("nothing happened")
		return nil
	}
}

func TestALockExcludesOthersUntilItIsReleased(t *testing.T) {
	name := lockName(t)
	l := take(t, name)
	short, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if err := result(t, waiting(short, name)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a second holder got %v", err)
	}
	done := waiting(context.Background(), name)
	release(t, l)
	if err := result(t, done); err != nil {
		t.Error(err)
	}
}

func TestALockEndsWithItsProcess(t *testing.T) {
	name := lockName(t)
	c := start(t, "locker", name)
	if c.said != "locked" {
		t.Fatal(c.said)
	}
	short, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if err := result(t, waiting(short, name)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the other process does not hold the lock: %v", err)
	}
	done := waiting(context.Background(), name)
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := result(t, done); err != nil {
		t.Error(err)
	}
}

func TestACancelledWaitReturnsAtOnceAndNeverTakesTheLock(t *testing.T) {
	name := lockName(t)
	l := take(t, name)
	ctx, cancel := context.WithCancel(context.Background())
	done := waiting(ctx, name)
	cancel()
	if err := result(t, done); !errors.Is(err, context.Canceled) {
		t.Errorf("who stopped waiting got %v", err)
	}
	release(t, l)
	for range 3 {
		release(t, take(t, name))
	}
}

func TestALockThatCannotBeTakenIsAnError(t *testing.T) {
	dir := t.TempDir()
	if err := os.Symlink("elsewhere", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]error{
		dir:                                  syscall.EISDIR,
		filepath.Join(dir, "link"):           syscall.ELOOP,
		filepath.Join(dir, "absent", "lock"): fs.ErrNotExist,
	} {
		if _, err := host.OS().Lock(context.Background(), "lock", name); !errors.Is(err, want) {
			t.Errorf("%s: %v, should be %v", name, err, want)
		}
	}
	if _, err := os.Lstat(filepath.Join(dir, "elsewhere")); err == nil {
		t.Error("the lock was made behind a link")
	}
}

func TestAPipeIsOpenedWithoutItsOtherEnd(t *testing.T) {
	name := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		f, err := host.OS().Open("read", name)
		if err == nil {
			err = f.Close()
		}
		done <- err
	}()
	if err := result(t, done); err != nil {
		t.Error(err)
	}
}

func namesErr(h host.Host, dir string) error {
	for _, err := range h.Names("a", dir) {
		if err != nil {
			return err
		}
	}
	return nil
}

func TestNamesYieldsEveryNameInALargeFolder(t *testing.T) {
	dir := t.TempDir()
	want := map[string]bool{}
	for i := range 2000 {
		name := fmt.Sprintf("file-%d", i)
		want[name] = true
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, err := range host.OS().Names("a", dir) {
		if err != nil || !want[name] {
			t.Fatalf("%q, %v", name, err)
		}
		delete(want, name)
	}
	if len(want) > 0 {
		t.Errorf("%d names were not yielded", len(want))
	}
	for range host.OS().Names("a", dir) {
		break
	}
}

func TestOperationsFailAsThoseOfPackageOSDo(t *testing.T) {
	h := host.OS()
	dir := t.TempDir()
	there, absent := filepath.Join(dir, "there"), filepath.Join(dir, "absent", "x")
	if err := os.WriteFile(there, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, openErr := h.Open("a", absent)
	_, createErr := h.Create("a", there, 0o600)
	_, readlinkErr := h.Readlink("a", there)
	_, statErr := h.Stat("a", absent)
	_, lstatErr := h.Lstat("a", absent)
	_, readDirErr := h.ReadDir("a", absent)
	for name, c := range map[string]struct{ err, want error }{
		"open":         {openErr, fs.ErrNotExist},
		"create":       {createErr, fs.ErrExist},
		"rename":       {h.Rename("a", absent, there), fs.ErrNotExist},
		"link":         {h.Link("a", there, there), fs.ErrExist},
		"symlink":      {h.Symlink("a", "x", there), fs.ErrExist},
		"readlink":     {readlinkErr, syscall.EINVAL},
		"remove":       {h.Remove("a", absent), fs.ErrNotExist},
		"mkdir":        {h.Mkdir("a", dir, 0o700), fs.ErrExist},
		"stat":         {statErr, fs.ErrNotExist},
		"lstat":        {lstatErr, fs.ErrNotExist},
		"readdir":      {readDirErr, fs.ErrNotExist},
		"names":        {namesErr(h, absent), fs.ErrNotExist},
		"names no dir": {namesErr(h, there), syscall.ENOTDIR},
		"sync dir":     {h.SyncDir("a", absent), fs.ErrNotExist},
		"sync no dir":  {h.SyncDir("a", there), syscall.ENOTDIR},
	} {
		if !errors.Is(c.err, c.want) {
			t.Errorf("%s: %v, should be %v", name, c.err, c.want)
		}
	}
}

func TestAFileIsWrittenAndReadBack(t *testing.T) {
	h := host.OS()
	name := filepath.Join(t.TempDir(), "file")
	f, err := h.Create("create", name, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(f.Write("write", []byte("te")), f.Write("write", []byte("xt")), f.Chmod("chmod", 0o640), f.Chown("chown", os.Getuid(), os.Getgid()),
		f.Sync("sync"), f.Close(), h.SyncDir("sync", filepath.Dir(name)))
	if err != nil {
		t.Fatal(err)
	}
	f, err = h.Open("read", name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(f)
	if err != nil || string(data) != "text" {
		t.Errorf("read %q (%v)", data, err)
	}
	info, err := f.Stat()
	if err != nil || info.Mode() != 0o640 {
		t.Errorf("the mode is %v (%v)", info.Mode(), err)
	}
}

func TestSleepEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := host.OS().Sleep(ctx, time.Hour); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := host.OS().Sleep(context.Background(), time.Nanosecond); err != nil {
		t.Error(err)
	}
}
