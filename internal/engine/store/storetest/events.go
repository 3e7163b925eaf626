package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"gaffer/internal/engine/store"
)

var events = map[string]func(*testing.T, Database){
	"events are read from a number on":                eventsAfter,
	"events and questions of one run are read":        eventsOfRun,
	"a follower sees every event once while 16 write": follower,
	"waiting ends when there is an event":             waitWakes,
	"waiting ends with its context":                   waitEnds,
}

func eventsAfter(t *testing.T, db Database) {
	s := open(t, db)
	for i := range 5 {
		write(t, s, func(tx *store.Tx) {
			tx.Append(store.Event{Kind: fmt.Sprint(2 * i)})
			tx.Append(store.Event{Kind: fmt.Sprint(2*i + 1)})
		})
	}
	kinds := func(list []store.Event) string { return names(list, func(e store.Event) string { return e.Kind }) }
	read(t, s, func(r store.Reader) {
		list, err := r.Events(0, 3)
		same(t, "the first three", kinds(list), err, "0 1 2")
		list, err = r.Events(3, 100)
		same(t, "the rest", kinds(list), err, "3 4 5 6 7 8 9")
		list, err = r.Events(10, 100)
		same(t, "none", kinds(list), err, "")
		list, err = r.Events(99, 100)
		same(t, "none yet", kinds(list), err, "")
		last, err := r.LastSeq()
		same(t, "last", last, err, 10)
	})
}

func eventsOfRun(t *testing.T, db Database) {
	s := open(t, db)
	// An event whose Run is empty belongs to no run, so EventsOf must not return it.
	runs := []string{"r", "", "r\"x", "r-2"}
	for i := range 12 {
		write(t, s, func(tx *store.Tx) {
			run := runs[i%len(runs)]
			tx.Append(store.Event{Kind: fmt.Sprint(i), At: at(i), Run: run, Row: []byte(`{"a":1}`), AttemptRow: []byte(`{"b":2}`)})
			tx.PutQuestion(store.Question{ID: fmt.Sprintf("q%02d", 20-i), Run: run, Asked: at(i / 8), Closed: i > 4})
		})
	}
	kinds := func(list []store.Event) string { return names(list, func(e store.Event) string { return e.Kind }) }
	read(t, s, func(r store.Reader) {
		for i, want := range []string{"0 4 8", "", "2 6 10", "3 7 11"} {
			list, err := r.EventsOf(runs[i], 0, 100)
			same(t, "events of "+runs[i], kinds(list), err, want)
		}
		list, err := r.EventsOf("r", 1, 1)
		same(t, "one after the first", kinds(list), err, "4")
		if len(list) == 1 {
			same(t, "with its rows", string(list[0].Row)+string(list[0].AttemptRow), nil, `{"a":1}{"b":2}`)
		}
		list, err = r.EventsOf("r", 9, 10)
		same(t, "none after the last", kinds(list), err, "")
		list, err = r.EventsOf("other", 0, 10)
		same(t, "none of another run", kinds(list), err, "")
		questions, err := r.QuestionsOf("r\"x")
		same(t, "questions, by time and id", names(questions, questionName), err, "q14 q18 q10")
		questions, err = r.QuestionsOf("other")
		same(t, "no questions", names(questions, questionName), err, "")
	})
}

// follower reads events through one store while many goroutines append events through two other
// stores. The sequence numbers that it reads must never have a gap. After a gap, a reader would
// miss the event that gets the missing number later.
func follower(t *testing.T, db Database) {
	const writers, times = 16, 25
	s, other := open(t, db), open(t, db)
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for n := range times {
				to := s
				if n%2 == 0 {
					to = other
				}
				write(t, to, func(tx *store.Tx) {
					tx.Append(store.Event{Kind: "a", Who: fmt.Sprint(w), Why: fmt.Sprint(n)})
					tx.Append(store.Event{Kind: "b", Who: fmt.Sprint(w), Why: fmt.Sprint(n)})
				})
			}
		})
	}
	seen := follow(t, open(t, db), 2*writers*times)
	wg.Wait()
	for w := range writers {
		for n := range times {
			if got := seen[fmt.Sprintf("%d %d", w, n)]; got != 2 {
				t.Errorf("writer %d wrote 2 events for its change %d, of which %d were seen", w, n, got)
			}
		}
	}
}

func follow(t *testing.T, s store.Store, until int64) map[string]int {
	t.Helper()
	ctx := soon(t)
	seen := map[string]int{}
	for last := int64(0); last < until; {
		if err := s.Wait(ctx, last); err != nil {
			t.Fatalf("wait for an event after %d: %v", last, err)
		}
		read(t, s, func(r store.Reader) {
			list, err := r.Events(last, 100)
			if err != nil || len(list) == 0 {
				t.Fatalf("events after %d: %d, %v", last, len(list), err)
			}
			for _, e := range list {
				if e.Seq != last+1 {
					t.Fatalf("after event %d comes %d", last, e.Seq)
				}
				last = e.Seq
				seen[e.Who+" "+e.Why]++
			}
		})
	}
	return seen
}

func waitWakes(t *testing.T, db Database) {
	s, other := open(t, db), open(t, db)
	for round := range 3 {
		from := []store.Store{s, other}[round%2]
		woken := make(chan error, 2)
		for _, waiter := range []store.Store{s, other} {
			go func() { woken <- waiter.Wait(soon(t), int64(round)) }()
		}
		write(t, from, func(tx *store.Tx) { tx.Append(store.Event{Kind: "k"}) })
		for range 2 {
			if err := <-woken; err != nil {
				t.Errorf("wait: %v", err)
			}
		}
	}
	if err := other.Wait(soon(t), 0); err != nil {
		t.Errorf("wait for what is there: %v", err)
	}
}

func waitEnds(t *testing.T, db Database) {
	s := open(t, db)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := s.Wait(ctx, 0); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("wait: %v, want the context's error", err)
	}
}
