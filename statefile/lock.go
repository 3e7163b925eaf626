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
	if err != nil {
		return nil, &StepError{Step: opResolve, Path: f.path, Err: err}
	}
	name := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".flock")
	kernel, err := f.host.Lock(ctx, opLock, name)
	if err != nil {
		return nil, f.lockFailed(ctx, name, "another gaffer process", err)
	}
	h := &held{file: f, path: path, kernel: kernel}
	if f.opts.Locking == Folder {
		if err := h.takeFolder(ctx, f.path+".lock"); err != nil {
			h.release()
			return nil, err
		}
	}
	return h, nil
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
		_ = h.file.host.Remove(opUnsignLock, filepath.Join(h.folder, ownerFile))
		_ = h.file.host.Remove(opReleaseLock, h.folder)
	}
	_ = h.kernel.Unlock()
}

// takeFolder makes the lock folder, and waits for whoever has made it before.
func (h *held) takeFolder(ctx context.Context, folder string) error {
	m := h.file.host
	watched, pause := watchedLock{}, firstPause
	for {
		err := m.Mkdir(opMakeLock, folder, 0o777)
		if err == nil {
			if err = h.sign(folder); err == nil {
				h.folder = folder
				return nil
			}
			_ = m.Remove(opReleaseLock, folder)
		}
		switch {
		case errors.Is(err, fs.ErrExist):
			holder, stale := watched.judge(m, folder)
			if stale {
				h.breakFolder(folder, holder, watched.made)
			} else if err := m.Sleep(ctx, pause); err != nil {
				return h.file.lockFailed(ctx, folder, holder, err)
			}
			pause = min(pause*5/4, lastPause)
		case !errors.Is(err, fs.ErrNotExist) || !exists(m, filepath.Dir(folder)):
			return &StepError{Step: opMakeLock, Path: h.file.path, Err: err}
		}
		// The folder went away while it was being signed: start again.
	}
}

func exists(m host.Host, path string) bool {
	_, err := m.Stat(opLookAtLock, path)
	return err == nil
}

// sign puts our name into the lock folder, which also keeps another program's
// rmdir from removing it.
func (h *held) sign(folder string) error {
	m := h.file.host
	f, err := m.Create(opSignLock, filepath.Join(folder, ownerFile), 0o666)
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
// or nobody touched it for staleLockAge. That holds for a live owner of our own
// kind too: it does not have the kernel's lock, since we do, so it could not
// remove the folder when it let go. Both clocks count, the folder's and the time
// it was watched, since one of them may have been set back.
func (w *watchedLock) judge(m host.Host, folder string) (holder string, stale bool) {
	info, err := m.Stat(opLookAtLock, folder)
	if err != nil {
		return "a program that just let go", false
	}
	now := m.Now()
	if made := info.ModTime(); !made.Equal(w.made) || w.since.IsZero() {
		w.made, w.since = made, now
	}
	old := now.Sub(w.made) > staleLockAge || now.Sub(w.since) > staleLockAge
	owner, signed := readOwner(m, folder)
	if !signed {
		return "a program that left no name", old
	}
	holder = fmt.Sprintf("process %d on %s", owner.PID, owner.Host)
	if m.Alive(owner) == host.Dead {
		return holder + ", which is dead", true
	}
	return holder, old
}

func readOwner(m host.Host, folder string) (host.Process, bool) {
	var p host.Process
	text, err := ReadBytes(m, filepath.Join(folder, ownerFile))
	if err != nil || json.Unmarshal(text, &p) != nil {
		return host.Process{}, false
	}
	return p, true
}

// breakFolder takes a stale lock folder out of the way. It is renamed first,
// which only one can do; if it turns out to be a fresh one that was made since
// we looked, it is put back.
func (h *held) breakFolder(folder, holder string, made time.Time) {
	m := h.file.host
	aside := tempName(m, folder)
	if err := m.Rename(opBreakLock, folder, aside); err != nil {
		return // its owner was quicker
	}
	if info, err := m.Stat(opBreakLock, aside); err == nil && !info.ModTime().Equal(made) {
		_ = m.Rename(opBreakLock, aside, folder)
		return
	}
	_ = m.Remove(opBreakLock, filepath.Join(aside, ownerFile))
	_ = m.Remove(opBreakLock, aside)
	h.file.notice(LockBroken, folder, fmt.Sprintf("the lock held by %s was stale and has been broken", holder))
}
