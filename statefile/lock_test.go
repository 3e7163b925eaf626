package statefile_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"gaffer/internal/testkit/testenv"
	"gaffer/statefile"
	"gaffer/statefile/host"
	"gaffer/statefile/jsontree"
)

// foreignLock takes the lock of the session protocol as programs in other languages do, and gives
// the lock folder an age.
func foreignLock(t *testing.T, path string, age time.Duration) string {
	t.Helper()
	lock := path + ".lock"
	then := time.Now().Add(-age)
	if err := errors.Join(os.Mkdir(lock, 0o755), os.Chtimes(lock, then, then)); err != nil {
		t.Fatal(err)
	}
	return lock
}

// signedLock creates a lock folder as gaffer does, with p as its owner.
func signedLock(t *testing.T, path string, p host.Process, age time.Duration) string {
	t.Helper()
	lock := path + ".lock"
	text, err := json.Marshal(p)
	then := time.Now().Add(-age)
	if err := errors.Join(err, os.Mkdir(lock, 0o755), os.WriteFile(filepath.Join(lock, "owner"), text, 0o644), os.Chtimes(lock, then, then)); err != nil {
		t.Fatal(err)
	}
	return lock
}

// appendTo returns a function that appends a notice to notices.
func appendTo(notices *[]statefile.Notice) func(statefile.Notice) {
	return func(n statefile.Notice) { *notices = append(*notices, n) }
}

func TestALockOfAnotherProgramIsAwaited(t *testing.T) {
	path := document(t, `{"a":1}`)
	lock := foreignLock(t, path, 0)
	f := statefile.New(path, statefile.Options{
		Locking: statefile.Folder,
		Notice:  func(n statefile.Notice) { t.Error(n) },
		Host: newHooked(func(s step) error {
			if s.op == "make lock folder" && s.nth == 4 {
				put(t, path, `{"a":1,"theirs":1}`)
				return os.Remove(lock)
			}
			return nil
		}),
	})
	if err := set(context.Background(), f, "ours", 1); err != nil {
		t.Fatal(err)
	}
	compareContent(t, path, `{"a":1,"theirs":1,"ours":1}`)
	folderHolds(t, path)
}

func TestOurLockExcludesOtherPrograms(t *testing.T) {
	path := document(t, `{}`)
	lock := path + ".lock"
	f := statefile.New(path, statefile.Options{Locking: statefile.Folder})
	err := f.Update(context.Background(), func(d *jsontree.Doc) error {
		if err := os.Mkdir(lock, 0o755); !os.IsExist(err) {
			t.Errorf("another program takes it: %v", err)
		}
		if err := syscall.Rmdir(lock); !errors.Is(err, syscall.ENOTEMPTY) {
			t.Errorf("another program removes it: %v", err)
		}
		var owner host.Process
		if err := json.Unmarshal([]byte(read(t, filepath.Join(lock, "owner"))), &owner); err != nil || owner != host.OS().Self() {
			t.Errorf("its owner is %+v (%v)", owner, err)
		}
		d.Root().Set("a", 1)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	folderHolds(t, path)
}

func TestAStaleLockIsBrokenAtOnce(t *testing.T) {
	dead := start(t, "self")
	gone := dead.identity(t)
	if err := dead.end(); err != nil {
		t.Fatal(err)
	}
	lastBoot := host.OS().Self()
	lastBoot.Boot = "an earlier one"
	for name, c := range map[string]struct {
		lock   func(path string) string
		holder string
	}{
		"a foreign one, 11 s old": {func(path string) string { return foreignLock(t, path, 11*time.Second) }, "an unknown program"},
		"of a dead process":       {func(path string) string { return signedLock(t, path, gone, 0) }, fmt.Sprintf("process %d on %s, which is dead", gone.PID, gone.Host)},
		"of an earlier boot":      {func(path string) string { return signedLock(t, path, lastBoot, 0) }, "which is dead"},
		"half signed, 11 s old": {func(path string) string {
			lock := foreignLock(t, path, 0)
			put(t, filepath.Join(lock, "owner"), `{"pid":`)
			then := time.Now().Add(-11 * time.Second)
			if err := os.Chtimes(lock, then, then); err != nil {
				t.Fatal(err)
			}
			return lock
		}, "an unknown program"},
	} {
		t.Run(name, func(t *testing.T) {
			path := document(t, `{}`)
			lock := c.lock(path)
			var notices []statefile.Notice
			f := statefile.New(path, statefile.Options{Locking: statefile.Folder, LockTimeout: 2 * time.Second, Notice: appendTo(&notices)})
			if err := set(context.Background(), f, "a", 1); err != nil {
				t.Fatal(err)
			}
			if len(notices) != 1 || notices[0].Kind != statefile.LockBroken || notices[0].Path != lock || !strings.Contains(notices[0].Text, c.holder) {
				t.Errorf("the notices are %+v", notices)
			}
			compareContent(t, path, "{\n  \"a\": 1\n}")
			folderHolds(t, path)
		})
	}
}

func TestALinkInPlaceOfALockIsRemovedAndItsTargetStays(t *testing.T) {
	for name, target := range map[string]string{"nowhere": "nowhere", "somewhere": "somewhere"} {
		t.Run(name, func(t *testing.T) {
			path := document(t, `{}`)
			kept := filepath.Join(filepath.Dir(path), "somewhere", "owner")
			if err := errors.Join(os.Mkdir(filepath.Dir(kept), 0o755), os.Symlink(target, path+".lock")); err != nil {
				t.Fatal(err)
			}
			put(t, kept, "another's")
			machine := newSleepClock(time.Now())
			var notices []statefile.Notice
			f := statefile.New(path, statefile.Options{Locking: statefile.Folder, Host: machine, Notice: appendTo(&notices)})
			err := soon(t, "a link that is a lock", func(ctx context.Context) error { return set(ctx, f, "a", 1) })
			if err != nil || len(notices) != 1 {
				t.Errorf("after %v: %v, notices %+v", machine.slept, err, notices)
			}
			compareContent(t, kept, "another's")
			folderHolds(t, path, "somewhere")
		})
	}
}

// apart is the real machine, except that every folder seems to be on a separate disk.
type apart struct{ host.Host }

func (a apart) RenameNew(op host.Op, from, to string) error {
	if filepath.Dir(from) != filepath.Dir(to) {
		return &os.LinkError{Op: "renameat2", Old: from, New: to, Err: syscall.EXDEV}
	}
	return a.Host.RenameNew(op, from, to)
}

// linkTo creates a symbolic link to a document in another folder. It returns the link's path and
// folder.
func linkTo(t *testing.T, target string) (path, dir string) {
	t.Helper()
	dir = t.TempDir()
	path = filepath.Join(dir, "doc.json")
	if err := os.Symlink(target, path); err != nil {
		t.Fatal(err)
	}
	return path, dir
}

func TestADocumentBehindALinkToAnotherDiskIsLockedBesideTheLink(t *testing.T) {
	target := document(t, `{}`)
	path, dir := linkTo(t, target)
	f := statefile.New(path, statefile.Options{Locking: statefile.Folder, Host: apart{host.OS()}})
	for i := range 3 {
		if err := set(context.Background(), f, "a", i); err != nil {
			t.Fatal(err)
		}
	}
	f.Close()
	compareContent(t, target, "{\n  \"a\": 2\n}")
	folderHolds(t, target)
	if left, err := filepath.Glob(filepath.Join(dir, ".*lock*")); err != nil || len(left) > 0 {
		t.Errorf("left are %q (%v)", left, err)
	}
}

// If neither the folder's time nor its owner can be trusted, a lock is stale only after it was
// watched for staleLockAge.
func TestAnUnchangedLockIsBrokenAfterItWasWatched(t *testing.T) {
	elsewhere := host.OS().Self()
	elsewhere.Host += "-other"
	for name, lock := range map[string]func(path string) string{
		"a foreign one from before the clock was set back": func(path string) string { return foreignLock(t, path, -time.Hour) },
		"of a process on another machine":                  func(path string) string { return signedLock(t, path, elsewhere, 0) },
		"of our own kind, by a live process":               func(path string) string { return signedLock(t, path, host.OS().Self(), 0) },
	} {
		t.Run(name, func(t *testing.T) {
			path := document(t, `{}`)
			lock(path)
			machine := newSleepClock(time.Now())
			var notices []statefile.Notice
			f := statefile.New(path, statefile.Options{Locking: statefile.Folder, Host: machine, Notice: appendTo(&notices)})
			if err := set(context.Background(), f, "a", 1); err != nil {
				t.Fatal(err)
			}
			if machine.slept < 9*time.Second || machine.slept > 11*time.Second || len(notices) != 1 {
				t.Errorf("broken after %v, notices %+v", machine.slept, notices)
			}
		})
	}
}

// gaffer hides and reuses a lock folder, so its modification time is not the time when the lock was
// taken.
func TestTheAgeOfASignedLockFolderDoesNotMakeItStale(t *testing.T) {
	elsewhere := host.OS().Self()
	elsewhere.Host += "-other"
	for name, owner := range map[string]host.Process{"here": host.OS().Self(), "elsewhere": elsewhere} {
		t.Run(name, func(t *testing.T) {
			path := document(t, `{}`)
			signedLock(t, path, owner, time.Hour)
			f := statefile.New(path, statefile.Options{Locking: statefile.Folder, LockTimeout: 50 * time.Millisecond})
			var locked *statefile.LockError
			if err := set(context.Background(), f, "a", 1); !errors.As(err, &locked) {
				t.Errorf("it was broken at once: %v", err)
			}
		})
	}
}

// Reusing the lock folder saves time: creating and deleting it takes half as long as a durable
// write.
func TestALockFolderIsReusedAndCloseDeletesIt(t *testing.T) {
	path := document(t, `{}`)
	machine := counting()
	f := statefile.New(path, statefile.Options{Locking: statefile.Folder, Host: machine})
	for i := range 10 {
		if err := set(context.Background(), f, "a", i); err != nil {
			t.Fatal(err)
		}
	}
	if n := machine.made("make lock folder", "mkdir"); n > 2 {
		t.Errorf("%d folders were made for 10 updates", n)
	}
	f.Close()
	f.Close()
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(path), ".*lock-*")); err != nil || len(left) > 0 {
		t.Errorf("left are %q (%v)", left, err)
	}
	if err := set(context.Background(), f, "a", "after closing"); err != nil {
		t.Error(err)
	}
}

func TestALockFolderThatIsKeptIsSweptWhenItsOwnerIsDead(t *testing.T) {
	gone := start(t, "self")
	owner := gone.identity(t)
	if err := gone.end(); err != nil {
		t.Fatal(err)
	}
	path, dir := linkTo(t, document(t, `{}`))
	for name, p := range map[string]host.Process{"dead": owner, "alive": host.OS().Self()} {
		lock := signedLock(t, path, p, 0)
		if err := os.Rename(lock, filepath.Join(dir, ".doc.json.lock-1-"+name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := set(context.Background(), statefile.New(path, statefile.Options{Locking: statefile.Folder}), "a", 1); err != nil {
		t.Fatal(err)
	}
	if left, err := filepath.Glob(filepath.Join(dir, ".doc.json.lock-*")); err != nil || len(left) != 1 || !strings.HasSuffix(left[0], "alive") {
		t.Errorf("left are %q (%v)", left, err)
	}
}

func TestALiveProcessIsRespectedUntilTheTimeout(t *testing.T) {
	alive := start(t, "self")
	holder := alive.identity(t)
	elsewhere := holder
	elsewhere.Host += "-other"
	for name, c := range map[string]struct {
		lock   func(path string) string
		holder string
	}{
		"of ours":           {func(path string) string { return signedLock(t, path, holder, 0) }, fmt.Sprintf("process %d on %s", holder.PID, holder.Host)},
		"of ours elsewhere": {func(path string) string { return signedLock(t, path, elsewhere, 0) }, fmt.Sprintf("process %d on %s", elsewhere.PID, elsewhere.Host)},
		"of others":         {func(path string) string { return foreignLock(t, path, 0) }, "an unknown program"},
	} {
		t.Run(name, func(t *testing.T) {
			path := document(t, `{"a":1}`)
			lock := c.lock(path)
			f := statefile.New(path, statefile.Options{
				Locking: statefile.Folder, LockTimeout: 100 * time.Millisecond,
				Notice: func(n statefile.Notice) { t.Error(n) },
			})
			err := set(context.Background(), f, "a", 2)
			var locked *statefile.LockError
			if !errors.As(err, &locked) || !locked.Conflict() || locked.Hint() == "" || locked.Path != lock || locked.Holder != c.holder {
				t.Fatalf("the error is %v (%+v)", err, locked)
			}
			if want := lock + ": locked for 100ms by " + c.holder; err.Error() != want {
				t.Errorf("the error is %q, should be %q", err, want)
			}
			compareContent(t, path, `{"a":1}`)
			folderHolds(t, path, "doc.json.lock")
		})
	}
}

func TestWaitingForAForeignLockEndsWithTheContext(t *testing.T) {
	path := document(t, `{}`)
	foreignLock(t, path, 0)
	ctx, cancel := context.WithCancel(context.Background())
	f := statefile.New(path, statefile.Options{Locking: statefile.Folder, Host: newHooked(func(s step) error {
		if s.op == "look at lock folder" {
			cancel()
		}
		return nil
	})})
	if err := set(ctx, f, "a", 1); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// In a folder such as /tmp, a stale lock may belong to another user. Then we may not delete it.
func TestAStaleLockThatCannotBeBrokenIsAConflict(t *testing.T) {
	path := document(t, `{}`)
	foreignLock(t, path, time.Minute)
	const tooOften = 10_000
	f := statefile.New(path, statefile.Options{Locking: statefile.Folder, LockTimeout: 50 * time.Millisecond, Host: newHooked(func(s step) error {
		if s.op == "break lock folder" && s.nth < tooOften {
			return syscall.EPERM
		}
		return nil
	})})
	err := soon(t, "a lock that cannot be broken", func(ctx context.Context) error { return set(ctx, f, "a", 1) })
	var locked *statefile.LockError
	if !errors.As(err, &locked) {
		t.Errorf("the error is %v after up to %d tries without a pause", err, tooOften)
	}
}

func TestALockTakenAgainDuringTheBreakIsRestored(t *testing.T) {
	path := document(t, `{}`)
	lock := foreignLock(t, path, time.Minute)
	f := statefile.New(path, statefile.Options{
		Locking: statefile.Folder, LockTimeout: 200 * time.Millisecond,
		Notice: func(n statefile.Notice) { t.Error(n) },
		Host: newHooked(func(s step) error {
			if s.op == "break lock folder" && s.call == "rename" && s.nth == 1 {
				return errors.Join(os.Remove(lock), os.Mkdir(lock, 0o755))
			}
			return nil
		}),
	})
	var locked *statefile.LockError
	if err := set(context.Background(), f, "a", 1); !errors.As(err, &locked) {
		t.Errorf("a fresh lock was broken: %v", err)
	}
	folderHolds(t, path, "doc.json.lock")
}

func TestProcessesExcludeEachOther(t *testing.T) {
	testenv.Integration(t)
	const processes, times = 8, 100
	for name := range lockings {
		t.Run(name, func(t *testing.T) {
			path := document(t, `{"n":0}`)
			var all []*child
			for range processes {
				all = append(all, start(t, "counter", path, name, strconv.Itoa(times)))
			}
			for _, c := range all {
				if err := c.end(); err != nil {
					t.Error(err)
				}
			}
			compareContent(t, path, fmt.Sprintf(`{"n":%d}`, processes*times))
			folderHolds(t, path)
		})
	}
}

func TestAKilledProcessLosesNothingAcknowledgedAndBlocksNoOther(t *testing.T) {
	path := filepath.Join(t.TempDir(), "doc.json")
	var notices []statefile.Notice
	f := statefile.New(path, statefile.Options{Locking: statefile.Folder, Empty: []byte("{}\n"), LockTimeout: patience, Notice: appendTo(&notices)})
	acked := 0
	for round := range 20 {
		c := start(t, "adder", path, "folder", strconv.Itoa(acked))
		for range 1 + round {
			line, err := c.lines.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			if acked, err = strconv.Atoi(strings.TrimSpace(line)); err != nil {
				t.Fatal(err)
			}
		}
		if err := c.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := set(context.Background(), f, "after", round); err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		doc, err := f.Load()
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		for i := range acked + 1 {
			if doc.Value().Get(strconv.Itoa(i)).Kind() == jsontree.Missing {
				t.Fatalf("round %d: %d of %d is lost", round, i, acked)
			}
		}
		_ = c.end()
	}
	for _, n := range notices { // every broken lock must belong to a dead process
		if !strings.Contains(n.Text, "which is dead") {
			t.Error(n)
		}
	}
	t.Logf("%d acknowledged, %d locks broken", acked+1, len(notices))
}

// Cleanup programs may delete the lock file while other processes wait for it.
func TestALockFileThatIsDeletedWhileOthersWaitLosesNoUpdate(t *testing.T) {
	path := document(t, `{}`)
	open := func(h host.Host) *statefile.File { return statefile.New(path, statefile.Options{Host: h}) }
	g := newGate("create temp")
	inside := make(chan error, 1)
	go func() { inside <- set(context.Background(), open(newHooked(g.hold)), "inside", 1) }()
	<-g.reached

	waits := make(chan struct{})
	waiter := open(newHooked(func(s step) error {
		if s.op == "lock" {
			close(waits)
		}
		return nil
	}))
	waiting := make(chan error, 1)
	go func() { waiting <- set(context.Background(), waiter, "waiting", 1) }()
	<-waits

	if err := os.Remove(filepath.Join(filepath.Dir(path), ".doc.json.flock")); err != nil {
		t.Fatal(err)
	}
	if err := set(context.Background(), open(nil), "later", 1); err != nil {
		t.Fatal(err)
	}
	close(g.open)
	if err := errors.Join(answer(t, inside), answer(t, waiting)); err != nil {
		t.Fatal(err)
	}
	doc, err := open(nil).Load()
	if err != nil || doc.Value().Len() != 3 {
		t.Errorf("the document is %s (%v)", doc.Bytes(), err)
	}
}
