package sqlite

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// taken reports whether a new writer would have to wait. It does not call wait, because a cancelled
// wait may hold a lock for a short time after it has returned.
func taken(t *testing.T, q writerQueue) bool {
	t.Helper()
	p := &queueHandle{writerQueue: q}
	defer p.close() // closing the files releases the locks
	if err := p.open(); err != nil {
		t.Fatal(err)
	}
	return !p.try()
}

func TestATurnCanBeTakenAndReleasedRepeatedly(t *testing.T) {
	q := queueOf(filepath.Join(t.TempDir(), "db"))
	p := &queueHandle{writerQueue: q}
	defer p.close()
	for i := range 3 {
		turn, err := p.wait(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if !taken(t, q) {
			t.Errorf("turn %d: others need not wait", i)
		}
		if err := turn.Unlock(); err != nil {
			t.Fatal(err)
		}
		if taken(t, q) {
			t.Errorf("turn %d: others wait for nobody", i)
		}
	}
}

func TestTheLockOnAReplacedFileIsNotATurn(t *testing.T) {
	q := queueOf(filepath.Join(t.TempDir(), "db"))
	p := &queueHandle{writerQueue: q}
	defer p.close()
	for _, name := range []string{q.next, q.turn} {
		if err := p.open(); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(name); err != nil { // another program may delete the lock files
			t.Fatal(err)
		}
		if p.try() {
			t.Errorf("without %s it has the turn", name)
		}
		turn, err := p.wait(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if !taken(t, q) {
			t.Errorf("after %s others need not wait", name)
		}
		if err := turn.Unlock(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAWaitingWriterComesBeforeThePreviousWriter(t *testing.T) {
	q := queueOf(filepath.Join(t.TempDir(), "db"))
	p := &queueHandle{writerQueue: q}
	defer p.close()
	turn, err := p.wait(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got, free := make(chan error), make(chan error)
	go func() {
		other, err := q.wait(t.Context())
		got <- err
		if err == nil {
			err = other.Unlock()
		}
		free <- err
	}()
	for !taken(t, writerQueue{q.next, q.next + "-nobody"}) { // repeat until the other writer holds the lock next
	}
	if err := turn.Unlock(); err != nil {
		t.Fatal(err)
	}
	if p.try() {
		t.Error("who has just written is there first, or two have the turn")
		_ = p.Unlock()
	}
	if err := errors.Join(<-got, <-free); err != nil {
		t.Error(err)
	}
	if turn, err := p.wait(t.Context()); err != nil || turn.Unlock() != nil {
		t.Error(err)
	}
}
