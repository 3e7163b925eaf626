package host_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"gaffer/internal/testkit/testenv"
	"gaffer/statefile/host"
)

// A killed process keeps its pid until its parent reads its exit code. Some parents,
// such as the first process of a container, never do that.
func TestAZombieIsDead(t *testing.T) {
	c := start(t, "self")
	p := identify(t, c)
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	awaitZombie(t, p.PID)
	testenv.Wait(t, "the child's other threads to end", func() error {
		if is := host.OS().Alive(p); is != host.Dead {
			return fmt.Errorf("the killed child is %d", is)
		}
		return nil
	})
}

// awaitZombie waits until the child pid has ended. No process may have read its exit code yet.
func awaitZombie(t *testing.T, pid int) {
	t.Helper()
	testenv.Wait(t, "the child to end", func() error {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains(stat, []byte(") Z ")) {
			return fmt.Errorf("%s", stat)
		}
		return nil
	})
}

// The kernel shows a program's name in parentheses. The name itself may contain any characters.
func TestAProgramNameWithParenthesesIsParsed(t *testing.T) {
	self := host.OS().Self()
	const comm = "/proc/self/comm"
	old, err := os.ReadFile(comm)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(comm, []byte(") Z 1 2 3 ("), 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.WriteFile(comm, bytes.TrimSpace(old), 0) })
	if got := host.OS().Alive(self); got != host.Alive {
		t.Errorf("a process with brackets in its name is %d", got)
	}
}

func TestALockFileThatWasRemovedIsNotTheLock(t *testing.T) {
	name := lockName(t)
	old := take(t, name)
	done := waiting(context.Background(), name)
	awaitOpen(t, name, 2)
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	fresh := take(t, name)
	release(t, old)
	select {
	case err := <-done:
		t.Fatalf("two hold the lock (%v)", err)
	case <-time.After(20 * time.Millisecond):
	}
	release(t, fresh)
	if err := result(t, done); err != nil {
		t.Error(err)
	}
}

// awaitOpen waits until this process has opened the file name n times.
func awaitOpen(t *testing.T, name string, n int) {
	t.Helper()
	testenv.Wait(t, fmt.Sprintf("%s open %d times", name, n), func() error {
		fds, err := filepath.Glob("/proc/self/fd/*")
		if err != nil {
			t.Fatal(err)
		}
		found := 0
		for _, fd := range fds {
			if to, err := os.Readlink(fd); err == nil && to == name {
				found++
			}
		}
		if found != n {
			return fmt.Errorf("it is open %d times", found)
		}
		return nil
	})
}

func TestALockCanBeTakenOnAFileThatAnotherUserMade(t *testing.T) {
	name := lockName(t)
	if err := os.WriteFile(name, nil, 0o444); err != nil {
		t.Fatal(err)
	}
	asNobody(t, filepath.Dir(name), func() { release(t, take(t, name)) })
}

// asNobody calls f with the permissions of a user who owns no files. Everyone may write to folder.
func asNobody(t *testing.T, folder string, f func()) {
	t.Helper()
	for _, dir := range []string{folder, filepath.Dir(folder)} {
		if err := os.Chmod(dir, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	if os.Getuid() == 0 { // only root has to change its user; other users do not own the files either
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if err := syscall.Setfsuid(65534); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = syscall.Setfsuid(0) }()
	}
	f()
}

func TestAFileAppearsWithItsContent(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	if err := host.OS().CreateComplete("create", name, []byte("text"), 0o640); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(name); err != nil || string(text) != "text" {
		t.Errorf("it has %q, %v", text, err)
	}
	if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("its permissions: %v, %v", info, err)
	}
	if err := host.OS().CreateComplete("create", name, []byte("other"), 0o640); !errors.Is(err, fs.ErrExist) {
		t.Errorf("an existing file: %v", err)
	}
	if text, _ := os.ReadFile(name); string(text) != "text" {
		t.Errorf("the existing file now has %q", text)
	}
}
