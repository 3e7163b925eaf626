package localrun

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"gaffer/internal/engine/store"
	"gaffer/internal/engine/store/memory"
)

// sick is a store whose reads fail until a given time.
type sick struct {
	store.Store
	until time.Time
}

var errSick = errors.New("disk I/O error")

func (s *sick) Read(ctx context.Context, look func(store.Reader) error) error {
	if time.Now().Before(s.until) {
		return errSick
	}
	return s.Store.Read(ctx, look)
}

func TestAStoreThatCannotBeReadForAWhileDoesNotEndTheWork(t *testing.T) {
	for _, c := range []struct {
		sick  time.Duration
		wants error
	}{{20 * time.Second, nil}, {time.Hour, errSick}} {
		synctest.Test(t, func(t *testing.T) {
			s := &sick{Store: memory.New(), until: time.Now().Add(c.sick)}
			defer s.Close()
			err := s.Write(t.Context(), func(tx *store.Tx) error {
				tx.Append(store.Event{Kind: "run.complete", Run: "r", To: string(store.Complete)})
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			var told []string
			opts := &Options{Store: s, Now: time.Now, Notice: func(text string) { told = append(told, text) }}
			work := &activeRun{opts: opts, run: store.Run{ID: "r"}}
			if err := work.watch(t.Context()); !errors.Is(err, c.wants) || len(told) != 1 {
				t.Errorf("sick for %s: %v, told %q", c.sick, err, told)
			}
		})
	}
}
