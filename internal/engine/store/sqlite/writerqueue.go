package sqlite

import (
	"context"
	"errors"
	"os"
	"syscall"

	"gaffer/statefile/host"
)

// writerQueue lets the processes that write to one database take turns. SQLite's own lock is not
// fair: a waiting writer only polls the lock. So it may wait forever, because the process that has
// just written can always take the lock again first. writerQueue uses two lock files, called next
// and turn. A writer locks next, waits until it can lock turn, and unlocks next. While a second
// writer waits for turn, it holds next. So the writer that has just finished its turn cannot take
// another one before the second writer. The kernel releases both locks when a process ends.
type writerQueue struct{ next, turn string }

func queueOf(path string) writerQueue { return writerQueue{path + "-next", path + "-turn"} }

const (
	opNext host.Op = "wait to be the next writer"
	opTurn host.Op = "wait for the writer"
)

// wait waits for this process's turn to write. Unlocking the returned lock ends the turn. After
// lockTimeout, wait returns a [*BusyError].
func (q writerQueue) wait(ctx context.Context) (host.Lock, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, lockTimeout, errLockTimeout)
	defer cancel()
	next, err := host.OS().Lock(ctx, opNext, q.next)
	if err != nil {
		return nil, q.fail(ctx, err)
	}
	turn, err := host.OS().Lock(ctx, opTurn, q.turn)
	if err != nil {
		_ = next.Unlock()
		return nil, q.fail(ctx, err)
	}
	return turn, next.Unlock()
}

var errLockTimeout = errors.New("timeout while waiting for other writers")

func (q writerQueue) fail(ctx context.Context, err error) error {
	if errors.Is(context.Cause(ctx), errLockTimeout) {
		return &BusyError{q.turn, err}
	}
	return err
}

// queueHandle is a [writerQueue] for a process that writes often. It keeps the two lock files open.
// So taking a turn is fast if no other process has the turn or waits for it. queueHandle is not
// safe for concurrent use.
type queueHandle struct {
	writerQueue
	files [2]*os.File    // the lock files next and turn; nil if they are not open
	infos [2]os.FileInfo // identify the open files, to notice when they are replaced
}

// wait waits for this process's turn to write, like [writerQueue.wait], but first tries the open
// lock files. The caller must have ended its previous turn.
func (p *queueHandle) wait(ctx context.Context) (host.Lock, error) {
	if p.open() == nil && p.try() {
		return p, nil
	}
	return p.writerQueue.wait(ctx)
}

// try takes the turn if no process has it or waits for it, and reports whether it has taken it. It
// returns false if a lock file was replaced, because a lock on the old file does not exclude other
// processes.
func (p *queueHandle) try() bool {
	if !tryLock(p.files[0]) {
		return false
	}
	got := tryLock(p.files[1])
	_ = unlock(p.files[0]) // unlocking an open file cannot fail
	if got && !p.filesUnchanged() {
		p.close() // closing the files releases the lock
		return false
	}
	return got
}

func (p *queueHandle) filesUnchanged() bool {
	for i, name := range p.names() {
		if now, err := os.Lstat(name); err != nil || !os.SameFile(now, p.infos[i]) {
			return false
		}
	}
	return true
}

func (p *queueHandle) names() [2]string { return [2]string{p.next, p.turn} }

// Unlock implements [host.Lock]. It ends the turn that try has taken.
func (p *queueHandle) Unlock() error { return unlock(p.files[1]) }

// open opens the lock files if they are not open.
func (p *queueHandle) open() (err error) {
	if p.files[1] != nil {
		return nil
	}
	for i, name := range p.names() {
		p.files[i], err = host.OpenLock(name)
		if err == nil {
			p.infos[i], err = p.files[i].Stat()
		}
		if err != nil {
			p.close()
			return err
		}
	}
	return nil
}

func (p *queueHandle) close() {
	for _, f := range p.files {
		if f != nil {
			_ = f.Close() // ignore the error: a lock file has no content that could be lost
		}
	}
	p.files = [2]*os.File{}
}

func tryLock(f *os.File) bool { return flock(f, syscall.LOCK_EX|syscall.LOCK_NB) == nil }

func unlock(f *os.File) error { return flock(f, syscall.LOCK_UN) }

func flock(f *os.File, how int) error {
	for {
		if err := syscall.Flock(int(f.Fd()), how); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}
