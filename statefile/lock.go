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

// The steps of taking and giving back a lock.
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
	// Another program holds its lock for about as long as it writes. Waiting
	// starts short, to get a turn between programs that ask every 50 ms, and
	// grows, to cost nothing when the holder is dead.
	firstPause = time.Millisecond
	lastPause  = 20 * time.Millisecond
)

// held is a lock that is held: the advisory lock of our own programs, and under
// it, where the protocol has one, the folder that all programs respect. Our own
// queue for the first, which the kernel keeps in order and frees when its
// holder dies; only its holder looks at the second.
type held struct {
	file   *File
	path   string // the document, behind all links
	kernel host.Lock
	folder string
}

// lock waits for the document's lock until ctx ends, or until LockTimeout after
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

// release gives both locks back. What cannot be given back is found stale by
// the next holder.
func (h *held) release() {
	if h.folder != "" {
		h.releaseFolder()
	}
	_ = h.kernel.Unlock()
}

// releaseFolder removes the lock folder, or after the first time, when more is
// to be expected, puts it aside for the next: making a folder and a file in it
// and removing both costs half as much as the whole durable write.
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

// takeFolder makes the lock folder, and waits for whoever has made it before.
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

// makeFolder takes the lock with a folder that is signed already, so that a
// process that dies never leaves one without a name. Where a folder cannot be
// renamed without replacing another it is signed in place.
func (h *held) makeFolder(folder string) error {
	f := h.file
	if f.kept == "" {
		aside := hidden(f.host, f.path, forLock) // where the lock is to be: the document may be on another disk
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
	case errors.Is(err, fs.ErrNotExist): // somebody tidied up
		f.kept = ""
		return h.makeFolder(folder)
	}
	return &StepError{Step: opMakeLock, Path: f.path, Err: err}
}

// makeSigned makes a folder with our name in it, which also keeps another
// program's rmdir from removing it.
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

// watchedLock is a lock folder of somebody else, watched until it goes or is
// seen to be stale.
type watchedLock struct {
	made  time.Time // the folder's modification time
	since time.Time // when it was first seen with that time
}

// judge says who holds the folder and whether that is stale: its owner is dead,
// or it was watched for staleLockAge and nobody touched it. Of a folder without
// a name its own time counts as well. A folder with a name may have been made
// long before it was used; that it is stale after a while although its owner
// lives, is because the owner does not have the kernel's lock, since we do, so
// it could not remove the folder when it let go.
func (w *watchedLock) judge(m host.Host, folder string) (holder string, stale bool) {
	info, err := m.Lstat(opLookAtLock, folder) // a link keeps others out wherever it leads
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

// StaleLock says whether a lock folder was left behind, as far as one look can
// tell, and by whom.
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

// breakFolder takes a stale lock folder out of the way and reports whether it
// could. It is renamed first, which only one can do; if it turns out to be a
// fresh one that was made since we looked, it is put back.
func (h *held) breakFolder(folder, holder string, made time.Time) bool {
	m := h.file.host
	aside := hidden(m, folder, "broken")
	if err := m.Rename(opBreakLock, folder, aside); err != nil {
		return errors.Is(err, fs.ErrNotExist) // its owner was quicker
	}
	info, err := m.Lstat(opBreakLock, aside)
	if err == nil && !info.ModTime().Equal(made) {
		_ = m.Rename(opBreakLock, aside, folder)
		return false
	}
	if err == nil && info.IsDir() { // what a link leads to is not the lock
		_ = m.Remove(opBreakLock, filepath.Join(aside, ownerFile))
	}
	_ = m.Remove(opBreakLock, aside)
	h.file.notice(LockBroken, folder, fmt.Sprintf("the lock held by %s was stale and has been broken", holder))
	return true
}
