package statefile_test

import (
	"context"
	"io/fs"
	"sync"
	"time"

	"gaffer/statefile/host"
)

// hooked is the real machine, with a callback before each step. The callback can count
// the step, make it fail, or run other code.
type hooked struct {
	host.Host
	hook func(s step) error

	mu    sync.Mutex
	count map[string]int
}

// step is one operation of the machine. nth is 1 for the first operation with this op and call, 2
// for the second.
type step struct {
	op   host.Op
	call string
	name string
	nth  int
}

func newHooked(hook func(s step) error) *hooked {
	return &hooked{Host: host.OS(), hook: hook, count: map[string]int{}}
}

// counting returns a hooked machine that only counts its steps.
func counting() *hooked { return newHooked(func(step) error { return nil }) }

func (h *hooked) at(op host.Op, call, name string) error {
	h.mu.Lock()
	key := string(op) + "/" + call
	h.count[key]++
	s := step{op, call, name, h.count[key]}
	h.mu.Unlock()
	if err := h.hook(s); err != nil {
		return &fs.PathError{Op: call, Path: name, Err: err}
	}
	return nil
}

// made returns how often call was made for the operation op.
func (h *hooked) made(op host.Op, call string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.count[string(op)+"/"+call]
}

func (h *hooked) Open(op host.Op, name string) (host.File, error) {
	if err := h.at(op, "open", name); err != nil {
		return nil, err
	}
	f, err := h.Host.Open(op, name)
	return h.wrap(op, name, f, err)
}

func (h *hooked) Create(op host.Op, name string, perm fs.FileMode) (host.File, error) {
	if err := h.at(op, "create", name); err != nil {
		return nil, err
	}
	f, err := h.Host.Create(op, name, perm)
	return h.wrap(op, name, f, err)
}

func (h *hooked) wrap(op host.Op, name string, f host.File, err error) (host.File, error) {
	if err != nil {
		return nil, err
	}
	return &hookedFile{File: f, of: h, op: op, name: name}, nil
}

func (h *hooked) Rename(op host.Op, from, to string) error {
	if err := h.at(op, "rename", from); err != nil {
		return err
	}
	return h.Host.Rename(op, from, to)
}

func (h *hooked) RenameNew(op host.Op, from, to string) error {
	if err := h.at(op, "rename new", from); err != nil {
		return err
	}
	return h.Host.RenameNew(op, from, to)
}

func (h *hooked) Link(op host.Op, from, to string) error {
	if err := h.at(op, "link", to); err != nil {
		return err
	}
	return h.Host.Link(op, from, to)
}

func (h *hooked) Symlink(op host.Op, target, name string) error {
	if err := h.at(op, "symlink", name); err != nil {
		return err
	}
	return h.Host.Symlink(op, target, name)
}

func (h *hooked) Readlink(op host.Op, name string) (string, error) {
	if err := h.at(op, "readlink", name); err != nil {
		return "", err
	}
	return h.Host.Readlink(op, name)
}

func (h *hooked) Remove(op host.Op, name string) error {
	if err := h.at(op, "remove", name); err != nil {
		return err
	}
	return h.Host.Remove(op, name)
}

func (h *hooked) Mkdir(op host.Op, name string, perm fs.FileMode) error {
	if err := h.at(op, "mkdir", name); err != nil {
		return err
	}
	return h.Host.Mkdir(op, name, perm)
}

func (h *hooked) Stat(op host.Op, name string) (fs.FileInfo, error) {
	if err := h.at(op, "stat", name); err != nil {
		return nil, err
	}
	return h.Host.Stat(op, name)
}

func (h *hooked) Lstat(op host.Op, name string) (fs.FileInfo, error) {
	if err := h.at(op, "lstat", name); err != nil {
		return nil, err
	}
	return h.Host.Lstat(op, name)
}

func (h *hooked) ReadDir(op host.Op, name string) ([]fs.DirEntry, error) {
	if err := h.at(op, "readdir", name); err != nil {
		return nil, err
	}
	return h.Host.ReadDir(op, name)
}

func (h *hooked) SyncDir(op host.Op, name string) error {
	if err := h.at(op, "sync", name); err != nil {
		return err
	}
	return h.Host.SyncDir(op, name)
}

func (h *hooked) Lock(ctx context.Context, op host.Op, name string) (host.Lock, error) {
	if err := h.at(op, "lock", name); err != nil {
		return nil, err
	}
	return h.Host.Lock(ctx, op, name)
}

type hookedFile struct {
	host.File
	of   *hooked
	op   host.Op
	name string
}

func (f *hookedFile) Write(op host.Op, p []byte) error {
	if err := f.of.at(op, "write", f.name); err != nil {
		return err
	}
	return f.File.Write(op, p)
}

func (f *hookedFile) Stat() (fs.FileInfo, error) {
	if err := f.of.at(f.op, "fstat", f.name); err != nil {
		return nil, err
	}
	return f.File.Stat()
}

func (f *hookedFile) Read(p []byte) (int, error) {
	if err := f.of.at(f.op, "read", f.name); err != nil {
		return 0, err
	}
	return f.File.Read(p)
}

func (f *hookedFile) Chmod(op host.Op, mode fs.FileMode) error {
	if err := f.of.at(op, "chmod", f.name); err != nil {
		return err
	}
	return f.File.Chmod(op, mode)
}

func (f *hookedFile) Chown(op host.Op, uid, gid int) error {
	if err := f.of.at(op, "chown", f.name); err != nil {
		return err
	}
	return f.File.Chown(op, uid, gid)
}

func (f *hookedFile) Sync(op host.Op) error {
	if err := f.of.at(op, "sync", f.name); err != nil {
		return err
	}
	return f.File.Sync(op)
}

func (f *hookedFile) Close() error {
	err := f.of.at(f.op, "close", f.name)
	if closeErr := f.File.Close(); err == nil {
		err = closeErr
	}
	return err
}

// sleepClock is a machine whose clock advances only during a call of Sleep. Sleep takes no real
// time.
type sleepClock struct {
	host.Host
	mu    sync.Mutex
	slept time.Duration
}

func newSleepClock(now time.Time) *sleepClock { return &sleepClock{Host: stopped{host.OS(), now}} }

func (h *sleepClock) Now() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.Host.Now().Add(h.slept)
}

func (h *sleepClock) Sleep(ctx context.Context, d time.Duration) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.slept += d
	return ctx.Err()
}
