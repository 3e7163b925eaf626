package statefile

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"gaffer/statefile/host"
)

// Names of the file operations that take and release a lock.
const (
	opLock        host.Op = "lock"
	opMakeLock    host.Op = "make lock folder"
	opSignLock    host.Op = "sign lock folder"
	opLookAtLock  host.Op = "look at lock folder"
	opBreakLock   host.Op = "break lock folder"
	opUnsignLock  host.Op = "unsign lock folder"
	opReleaseLock host.Op = "release lock folder"
	opKeepLock    host.Op = "keep lock folder"
)

const (
	ownerFile    = "owner"
	staleLockAge = 10 * time.Second
	// Other programs hold their lock only while they write. The first pauses are
	// short, to get the lock between programs that retry every 50 ms. Pauses grow, to
	// cost little if the holder is dead.
	firstPause = time.Millisecond
	lastPause  = 20 * time.Millisecond
)

// held is an acquired lock. It consists of two locks. The first is an advisory lock
// between gaffer's own processes: the kernel serves them in order and releases it
// when its holder dies. The second exists only if the protocol defines it: the folder
// that all programs respect. Only the holder of the first lock tries to take the
// second.
type held struct {
	file   *File
	path   string // the document, with all links resolved
	kernel host.Lock
	folder string
}

// lock waits for the document's lock until ctx ends or LockTimeout has passed since
// since.
func (f *File) lock(ctx context.Context, since time.Time) (*held, error) {
	left := f.opts.LockTimeout - f.host.Now().Sub(since)
	ctx, cancel := context.WithTimeoutCause(ctx, max(left, time.Millisecond), errLockTimeout)
	defer cancel()
	path, err := resolve(f.host, f.path)
	if isForm(err) {
		return nil, err
	}
	if err != nil {
		return nil, &StepError{Step: opResolve, Path: f.path, Err: err}
	}
	name := sibling(path, "."+filepath.Base(path)+".flock")
	kernel, err := f.host.Lock(ctx, opLock, name)
	if err != nil {
		return nil, f.lockFailed(ctx, name, "another gaffer process", err)
	}
	h := &held{file: f, path: path, kernel: kernel}
	if f.opts.Locking == Folder {
		if err := h.takeFolder(ctx, f.path+".lock"); err != nil {
			if f.locked == 0 {
				f.Close()
			}
			h.release()
			return nil, err
		}
	}
	return h, nil
}

func isForm(err error) bool {
	var form *FormError
	return errors.As(err, &form)
}

var errLockTimeout = errors.New("lock timeout")

func (f *File) lockFailed(ctx context.Context, lock, holder string, err error) error {
	if errors.Is(context.Cause(ctx), errLockTimeout) {
		return &LockError{Path: lock, Waited: f.opts.LockTimeout, Holder: holder}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return &StepError{Step: opLock, Path: f.path, Err: err}
}

// release releases both locks. If a release fails, the next process finds the lock
// stale.
func (h *held) release() {
	if h.folder != "" {
		h.releaseFolder()
	}
	_ = h.kernel.Unlock()
}

// releaseFolder deletes the lock folder. From the second release on it hides the
// folder instead, for reuse by the next update. Creating and deleting the folder and
// its file costs half as much as the whole durable write.
func (h *held) releaseFolder() {
	f := h.file
	f.locked++
	if f.locked > 1 && f.kept == "" {
		aside := hidden(f.host, f.path, forLock)
		if f.host.RenameNew(opKeepLock, h.folder, aside) == nil {
			f.kept = aside
			return
		}
	}
	removeLock(f.host, h.folder)
}

func removeLock(m host.Host, folder string) {
	_ = m.Remove(opUnsignLock, filepath.Join(folder, ownerFile))
	_ = m.Remove(opReleaseLock, folder)
}

// takeFolder creates the lock folder, and waits while another program holds it.
func (h *held) takeFolder(ctx context.Context, folder string) error {
	m := h.file.host
	watched, pause := watchedLock{}, firstPause
	for {
		err := h.makeFolder(folder)
		if err == nil {
			h.folder = folder
			return nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return err
		}
		holder, stale := watched.judge(m, folder)
		if stale && h.breakFolder(folder, holder, watched.made) {
			continue
		}
		if err := m.Sleep(ctx, pause); err != nil {
			return h.file.lockFailed(ctx, folder, holder, err)
		}
		pause = min(pause*5/4, lastPause)
	}
}

// makeFolder takes the lock by renaming a folder that already contains the owner
// file. A process that dies therefore never leaves an anonymous lock. If the machine
// cannot rename without replacing, makeFolder creates the folder in place and writes
// the owner file afterwards.
func (h *held) makeFolder(folder string) error {
	f := h.file
	if f.kept == "" {
		aside := hidden(f.host, f.path, forLock) // beside the lock, not the document, which may be on another disk
		if err := h.makeSigned(aside); err != nil {
			return err
		}
		f.kept = aside
	}
	err := f.host.RenameNew(opMakeLock, f.kept, folder)
	switch {
	case err == nil:
		f.kept = ""
		return nil
	case errors.Is(err, fs.ErrExist):
		return err
	case errors.Is(err, errors.ErrUnsupported):
		f.Close()
		return h.makeSigned(folder)
	case errors.Is(err, fs.ErrNotExist): // another process has deleted the hidden folder
		f.kept = ""
		return h.makeFolder(folder)
	}
	return &StepError{Step: opMakeLock, Path: f.path, Err: err}
}

// makeSigned creates a folder with a file that names this process as the owner. The
// file also makes rmdir by another program fail.
func (h *held) makeSigned(folder string) error {
	m := h.file.host
	if err := m.Mkdir(opMakeLock, folder, 0o755); err != nil {
		return &StepError{Step: opMakeLock, Path: h.file.path, Err: err}
	}
	if err := h.sign(folder); err != nil {
		removeLock(m, folder)
		return &StepError{Step: opSignLock, Path: h.file.path, Err: err}
	}
	return nil
}

func (h *held) sign(folder string) error {
	m := h.file.host
	f, err := m.Create(opSignLock, filepath.Join(folder, ownerFile), 0o644)
	if err != nil {
		return err
	}
	text, err := json.Marshal(m.Self())
	if err == nil {
		err = f.Write(opSignLock, text)
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	return err
}

// watchedLock observes another program's lock folder until it disappears or is stale.
type watchedLock struct {
	made  time.Time // the folder's modification time
	since time.Time // when it was first seen with that time
}

// judge returns a description of the holder and reports whether the lock is stale.
//
// A lock is stale if its owner is dead, or if it has not changed while we watched it
// for staleLockAge. For a folder without an owner file the age of the folder counts
// as well. It does not count for a folder with an owner file, because gaffer may
// create that folder long before it uses it.
//
// A watched lock is stale even if its owner lives: we hold the kernel's lock, so the
// owner has released that one but could not delete the folder.
func (w *watchedLock) judge(m host.Host, folder string) (holder string, stale bool) {
	info, err := m.Lstat(opLookAtLock, folder) // a link also blocks other programs, whatever its target
	if err != nil {
		return "a program that just let go", false
	}
	now := m.Now()
	if made := info.ModTime(); !made.Equal(w.made) || w.since.IsZero() {
		w.made, w.since = made, now
	}
	watched := now.Sub(w.since) > staleLockAge
	owner, signed := readOwner(m, folder)
	if !signed {
		return "a program that left no name", watched || now.Sub(w.made) > staleLockAge
	}
	holder = fmt.Sprintf("process %d on %s", owner.PID, owner.Host)
	if m.Alive(owner) == host.Dead {
		return holder + ", which is dead", true
	}
	return holder, watched
}

// StaleLock describes the holder of a lock folder and reports whether the lock is
// stale, judged by its current state only.
func StaleLock(h host.Host, folder string) (holder string, stale bool) {
	return new(watchedLock).judge(h, folder)
}

func readOwner(m host.Host, folder string) (host.Process, bool) {
	var p host.Process
	text, err := ReadBytes(m, filepath.Join(folder, ownerFile))
	if err != nil || json.Unmarshal(text, &p) != nil {
		return host.Process{}, false
	}
	return p, true
}

// breakFolder removes a stale lock folder and reports whether it is gone. It renames
// the folder first, which only one process can do. If the renamed folder is a new
// lock, created since we looked, breakFolder puts it back.
func (h *held) breakFolder(folder, holder string, made time.Time) bool {
	m := h.file.host
	aside := hidden(m, folder, "broken")
	if err := m.Rename(opBreakLock, folder, aside); err != nil {
		return errors.Is(err, fs.ErrNotExist) // its owner has released it
	}
	info, err := m.Lstat(opBreakLock, aside)
	if err == nil && !info.ModTime().Equal(made) {
		_ = m.Rename(opBreakLock, aside, folder)
		return false
	}
	if err == nil && info.IsDir() { // do not delete files behind a link
		_ = m.Remove(opBreakLock, filepath.Join(aside, ownerFile))
	}
	_ = m.Remove(opBreakLock, aside)
	h.file.notice(LockBroken, folder, fmt.Sprintf("the lock held by %s was stale and has been broken", holder))
	return true
}
