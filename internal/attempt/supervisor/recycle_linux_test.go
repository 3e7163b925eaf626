package supervisor_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"gaffer/internal/attempt/supervisor"
)

// recycled runs attempts until the pool accepts the folder of one, and returns that attempt. The
// pool refuses the folder of a slow attempt, which contains more files.
func recycled(t *testing.T, pool *supervisor.Pool, run func(*attempt)) *attempt {
	t.Helper()
	for range 50 {
		a := pooled(t, pool)
		run(a)
		if pool.Recycle(a.dir) {
			return a
		}
	}
	t.Fatal("no folder is taken")
	return nil
}

func TestAFolderIsUsedAgainByTheNextAttempt(t *testing.T) {
	pool := newPool(t, self(), 1)
	var inode uint64
	old := recycled(t, pool, func(a *attempt) {
		wait(t, a.start(a.shell("exit 5")))
		a.becomesFree()
		inode = inodeOf(t, a.lock())
	})
	next := pooled(t, pool)
	next.dir = filepath.Join(filepath.Dir(old.dir), "two")
	p := next.start(next.shell("echo ran; exit 6"))
	if e := wait(t, p); e.Code != 6 || e.Attempt != next.id || next.text() != "ran\n" {
		t.Errorf("exit %+v, it said %q", e, next.text())
	}
	if inodeOf(t, next.lock()) != inode {
		t.Error("it has a folder of its own")
	}
	if _, err := os.Stat(old.dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the old folder: %v", err)
	}
	found, state := next.attach()
	if e := wait(t, found); state != supervisor.Exited || e.Code != 6 || len(next.lines("exit ")) != 1 {
		t.Errorf("%s, exit %+v", state, e)
	}
}

func inodeOf(t *testing.T, file string) uint64 {
	t.Helper()
	var stat syscall.Stat_t
	if err := syscall.Stat(file, &stat); err != nil {
		t.Fatal(err)
	}
	return stat.Ino
}

func TestAFolderWithMoreInItIsNotUsedAgain(t *testing.T) {
	pool := newPool(t, self(), 1)
	a := pooled(t, pool)
	wait(t, a.start(a.shell("true")))
	if err := os.WriteFile(filepath.Join(a.dir, "answered"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if pool.Recycle(a.dir) || pool.Recycle(filepath.Join(a.dir, "none")) {
		t.Error("it is taken")
	}
}

func TestAFolderWhoseLockIsHeldIsNotUsedAgain(t *testing.T) {
	pool := newPool(t, self(), 2)
	var p *supervisor.Process
	alive := recycled(t, pool, func(a *attempt) { p = a.start(a.shell("exec sleep 1000")) }) // a caller's mistake: this attempt is still running
	next := pooled(t, pool)
	if e := wait(t, next.start(next.shell("exit 6"))); e.Code != 6 {
		t.Errorf("exit %+v", e)
	}
	if status, err := p.Status(); err != nil || status.Doing != "running" {
		t.Errorf("the other is %+v, %v", status, err)
	}
	if _, state := alive.attach(); state != supervisor.Alive {
		t.Errorf("the other is %s", state)
	}
}

func TestARecycledFolderReplacesNoExistingFolder(t *testing.T) {
	pool := newPool(t, self(), 1)
	lost := pooled(t, pool)
	if _, state := lost.attach(); state != supervisor.Lost { // attach has created the folder
		t.Fatalf("it is %s", state)
	}
	old := recycled(t, pool, func(a *attempt) {
		wait(t, a.start(a.shell("true")))
		a.becomesFree()
	})
	var used *supervisor.UsedError
	if _, err := lost.try(t.Context(), lost.shell("echo late")); !errors.As(err, &used) {
		t.Errorf("error %v", err)
	}
	p, state := old.attach() // a folder that was prepared for another attempt looks like an attempt that was never started
	if e := wait(t, p); state != supervisor.Lost || !e.NeverStarted || e.Attempt != lost.id {
		t.Errorf("%s, exit %+v", state, e)
	}
}
