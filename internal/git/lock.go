package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"gaffer/statefile"
	"gaffer/statefile/host"
)

// busyPause is how long awaitOrphans waits before it checks again whether all git processes of a
// killed gaffer have ended.
const busyPause = 20 * time.Millisecond

// Locked calls fn while it holds the repository's lock. All gaffer processes take that lock before
// they change branches or worktrees. The lock is needed because git itself does not wait: of
// several git processes that add a worktree at the same time, some fail.
func (r *Repo) Locked(ctx context.Context, fn func(Client) error) error {
	if err := statefile.MkdirAll(r.Host, r.StatePath()); err != nil {
		return err
	}
	lock, err := r.Host.Lock(ctx, "lock worktrees", r.StatePath("lock"))
	if err != nil {
		return err
	}
	defer func() { _ = lock.Unlock() }() // ignore the error: the lock file is closed even if Unlock fails
	busy, err := r.awaitOrphans(ctx)
	if err != nil {
		return err
	}
	defer busy.Close()
	g := r.writer()
	g.hold = busy
	return fn(g)
}

// awaitOrphans waits for git processes that a killed gaffer has left running. These processes keep
// the file gaffer/busy locked, because they have inherited it from gaffer. The kernel releases the
// lock when the last of them ends. Then awaitOrphans locks the file and returns it open, so that
// the caller's git processes can inherit it.
func (r *Repo) awaitOrphans(ctx context.Context) (*os.File, error) {
	f, err := host.OpenLock(r.StatePath("busy"))
	if err != nil {
		return nil, err
	}
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return f, nil
		}
		if errors.Is(err, syscall.EWOULDBLOCK) {
			err = r.Host.Sleep(ctx, busyPause)
		}
		if err != nil && !errors.Is(err, syscall.EINTR) {
			_ = f.Close()
			return nil, fmt.Errorf("wait for a git that an earlier gaffer started: %w", err)
		}
	}
}
