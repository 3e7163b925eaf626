package sqlite

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// taken reports whether somebody who comes now has to wait.
func taken(t *testing.T, q queue) bool {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	turn, err := q.wait(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		return true
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := turn.Unlock(); err != nil {
		t.Fatal(err)
	}
	return false
}

func TestAPlaceInTheQueueIsTakenAndGivenBackAgainAndAgain(t *testing.T) {
	q := queueOf(filepath.Join(t.TempDir(), "db"))
	p := &place{queue: q}
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
		if i == 1 { // somebody tidies up
			if err := errors.Join(os.Remove(q.next), os.Remove(q.turn)); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestWhoStandsInLineComesFirst(t *testing.T) {
	q := queueOf(filepath.Join(t.TempDir(), "db"))
	p := &place{queue: q}
	defer p.close()
	turn, err := p.wait(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan error)
	go func() {
		other, err := q.wait(t.Context())
		got <- err
		got <- other.Unlock()
	}()
	for !taken(t, queue{q.next, q.next + "-nobody"}) { // until it stands there
	}
	if err := turn.Unlock(); err != nil {
		t.Fatal(err)
	}
	if p.try() {
		// The other has the turn, or is about to: it is not for us to have it again.
		select {
		case err := <-got:
			t.Errorf("two have the turn (%v)", err)
		case <-time.After(time.Second):
			t.Error("who has just written is there first")
		}
		_ = p.Unlock()
	}
	if err := errors.Join(<-got, <-got); err != nil {
		t.Error(err)
	}
	if turn, err := p.wait(t.Context()); err != nil || turn.Unlock() != nil {
		t.Error(err)
	}
}
