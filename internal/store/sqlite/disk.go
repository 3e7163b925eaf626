package sqlite

import (
	"errors"
	"fmt"
	"os"
	"sync"
)

// disk is how far the write-ahead log has come to the disk. While nobody else has
// the database open, a session is committed to the log without waiting for the
// disk, so that the next can be made meanwhile. One sync then is for all sessions
// that were committed before it began. Nothing that is not synced leaves the
// process: neither as the answer to a request nor as what a reader saw.
//
// Sessions are numbered as they are committed, one after the other.
type disk struct {
	flush func(log *os.File) error // tests look on, and fail

	log *os.File // a file of our own, which has our mark

	mu      sync.Mutex
	changed sync.Cond // told when one of those below has changed
	begun   int64     // a reader may see this commit, and those before it
	ended   int64     // this one is in the log, unless it failed
	synced  int64     // this one is on the disk
	busy    bool      // there is a sync under way
	err     error     // of the sync that failed, after which there is no other
}

func newDisk() *disk {
	d := &disk{flush: flush}
	d.changed.L = &d.mu
	return d
}

// attach opens the log of a database that a connection of ours has open, so that
// nobody takes that file away, and marks it as in use. It must be our turn to
// write. What is in the log may have come from a process that was killed before it
// had synced it.
func (d *disk) attach(database string) error {
	log, err := os.OpenFile(database+"-wal", os.O_RDWR, 0)
	if err != nil {
		return err
	}
	info, err := log.Stat()
	if err == nil {
		err = mark(log)
	}
	if err != nil {
		return errors.Join(err, log.Close())
	}
	d.log = log
	if info.Size() > 0 {
		d.begun, d.ended = 1, 1
	}
	return nil
}

// detach gives the log back. The connections must be closed by then: they see what
// others commit, who must know that we are there.
func (d *disk) detach() error {
	if d.log == nil {
		return nil
	}
	return d.log.Close()
}

// commit numbers a commit. It is synced by itself if deep is set.
func (d *disk) commit(deep bool, commit func() error) (number int64, err error) {
	d.mu.Lock()
	d.begun++
	number = d.begun
	d.mu.Unlock()

	err = commit()

	d.mu.Lock()
	defer d.mu.Unlock()
	d.ended = number
	if deep && err == nil {
		d.synced = number
	}
	d.changed.Broadcast()
	return number, err
}

// last is the last commit that anybody can have seen by now.
func (d *disk) last() int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.begun
}

// wait returns when a commit is on the disk. One of those who wait syncs for all.
func (d *disk) wait(number int64) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for d.synced < number {
		switch {
		case d.err != nil:
			return d.err
		case d.busy || d.ended < number:
			d.changed.Wait()
		default:
			d.sync()
		}
	}
	return nil
}

// sync syncs all that is in the log. An error is final: the kernel tells it once,
// and the next sync would succeed without what this one has lost.
func (d *disk) sync() {
	d.busy = true
	covered := d.ended
	d.mu.Unlock()
	err := d.flush(d.log)
	d.mu.Lock()
	d.busy = false
	if err != nil {
		d.err = &SyncError{Path: d.log.Name(), Err: err}
	} else {
		d.synced = max(d.synced, covered)
	}
	d.changed.Broadcast()
}

// failed is the error of the sync that failed, if one did.
func (d *disk) failed() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.err
}

// SyncError is a disk that did not take what was written. What was written since
// the last sync may be lost, so that the store is of no use until it is opened anew.
type SyncError struct {
	Path string
	Err  error
}

func (e *SyncError) Error() string {
	return fmt.Sprintf("the disk did not take what was written to %s: %v", e.Path, e.Err)
}

func (e *SyncError) Unwrap() error { return e.Err }

// Hint says what to do.
func (e *SyncError) Hint() string {
	return "see what the disk has (dmesg, df), and start gaffer again"
}
