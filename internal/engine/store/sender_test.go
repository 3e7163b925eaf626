package store

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
)

// sending is a database that answers a commit when the test says so.
type sending struct {
	*fake
	sent chan chan error // each channel takes the answer to one session
}

func newSending() *sending {
	s := &sending{fake: newFake(), sent: make(chan chan error, 9)}
	s.writer.Open = func(context.Context) (Session, error) { return s, nil }
	return s
}

func (s *sending) Send(c Changes) (answer func() error) {
	s.committed = append(s.committed, c)
	s.last += int64(len(c.Events))
	reply := make(chan error, 1)
	s.sent <- reply
	return func() error { return <-reply }
}

// start makes a change and returns a channel for its error.
func (s *sending) start(kind string) <-chan error {
	done := make(chan error, 1)
	go func() { done <- s.writer.Write(context.Background(), Need{}, event(kind)) }()
	return done
}

func (s *sending) kinds() (kinds []string) {
	for _, c := range s.committed {
		for _, e := range c.Events {
			kinds = append(kinds, fmt.Sprint(e.Seq, e.Kind))
		}
	}
	return kinds
}

func TestASessionIsSentBeforeTheOneBeforeItIsAnswered(t *testing.T) {
	s := newSending()
	var told []int64
	var mu sync.Mutex
	s.writer.Committed = func(last int64) {
		mu.Lock()
		defer mu.Unlock()
		told = append(told, last)
	}
	first := s.start("a")
	reply := <-s.sent
	second := s.start("b")
	reply2 := <-s.sent
	select {
	case err := <-first:
		t.Fatalf("a request returned before it was answered: %v", err)
	case err := <-second:
		t.Fatalf("a request returned before it was answered: %v", err)
	default:
	}
	reply <- nil
	if err := <-first; err != nil {
		t.Error(err)
	}
	lost := &CommitError{errors.New("lost")}
	reply2 <- lost
	if err := <-second; !errors.Is(err, lost) {
		t.Errorf("the error is %v", err)
	}
	if got := s.kinds(); !slices.Equal(got, []string{"1a", "2b"}) || !slices.Equal(told, []int64{1}) {
		t.Errorf("sent %v, told of %v", got, told)
	}
}

func TestAStaleSessionIsMadeAgain(t *testing.T) {
	s := newSending()
	done := s.start("a")
	for range 3 {
		(<-s.sent) <- ErrStale
	}
	(<-s.sent) <- nil
	if err := <-done; err != nil {
		t.Error(err)
	}
	if len(s.committed) != 4 {
		t.Errorf("it was sent %d times, want 4", len(s.committed))
	}
}

func TestSessionsUnderWayShareTheRequestsEvenly(t *testing.T) {
	s := newSending()
	s.writer.AtOnce = 2
	waiting := []int{16, 8, 3}
	s.writer.Open = func(context.Context) (Session, error) {
		for s.writer.group.Waiting() < waiting[0] {
			runtime.Gosched()
		}
		waiting = waiting[1:]
		return s, nil
	}
	var done []<-chan error
	for range 16 {
		done = append(done, s.start("a"))
	}
	first, second := <-s.sent, <-s.sent
	for range 3 { // too few for a session of their own
		done = append(done, s.start("b"))
	}
	third := <-s.sent
	for _, reply := range []chan error{first, second, third} {
		reply <- nil
	}
	for _, d := range done {
		if err := <-d; err != nil {
			t.Error(err)
		}
	}
	var sizes []int
	for _, c := range s.committed {
		sizes = append(sizes, len(c.Events))
	}
	if !slices.Equal(sizes, []int{8, 8, 3}) {
		t.Errorf("the sessions have %d requests", sizes)
	}
}

// A busy database is busy for all requests, so retrying each alone does not help.
type busy struct{}

func (busy) Error() string { return "busy" }
func (busy) Busy() bool    { return true }

func TestABusyDatabaseIsNotTriedByEachAlone(t *testing.T) {
	f := newFake()
	f.refuse = func(Changes) error { return busy{} }
	for _, err := range f.together(event("a"), event("b")) {
		if !errors.Is(err, busy{}) {
			t.Errorf("the error is %v", err)
		}
	}
	if f.sessions != 1 {
		t.Errorf("%d sessions, want 1", f.sessions)
	}
}
