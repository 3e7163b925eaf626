package machines

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"gaffer/coordinator"
)

// follower reads a coordinator's stream of changes from the beginning. If the coordinator fails, it
// continues with another.
type follower struct {
	name   string
	cancel context.CancelFunc
	done   sync.WaitGroup

	mu      sync.Mutex
	changes []int64 // numbers of the changes, in the order in which they arrived
	gaps    int
	err     error
}

func follow(name string, c *coordinator.Client) *follower {
	ctx, cancel := context.WithCancel(context.Background())
	f := &follower{name: name, cancel: cancel}
	f.done.Go(func() {
		err := c.Stream(ctx, coordinator.StreamQuery{After: "0"}, f.take)
		f.mu.Lock()
		defer f.mu.Unlock()
		f.err = err
	})
	return f
}

func (f *follower) take(change coordinator.Change) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if change.Gap {
		f.gaps++
	}
	if change.Type == "" {
		return nil
	}
	n, err := strconv.ParseInt(change.ID, 10, 64)
	f.changes = append(f.changes, n)
	return err
}

func (f *follower) last() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.changes) == 0 {
		return 0
	}
	return f.changes[len(f.changes)-1]
}

// stop ends the follower and returns the numbers of the changes that it received.
func (f *follower) stop() []int64 {
	f.cancel()
	f.done.Wait()
	return f.changes
}

// check waits until the follower has received the last change of want. All numbers that it received
// until then must equal want.
func (f *follower) check(t *testing.T, want []int64) {
	t.Helper()
	if len(want) == 0 {
		t.Fatal("there were no changes")
	}
	last := want[len(want)-1]
	Eventually(t, 60*time.Second, f.name+" receives the last change", func() bool { return f.last() >= last })
	got := f.stop()
	if end := slices.Index(got, last); end >= 0 {
		got = got[:end+1]
	}
	if f.gaps > 0 {
		t.Errorf("%s received %d gaps", f.name, f.gaps)
	}
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || got[i] != want[i] {
			t.Errorf("%s received %d changes of %d, and is wrong from the %dth on: got %v, want %v",
				f.name, len(got), len(want), i+1, around(got, i), around(want, i))
			return
		}
	}
}

func around(list []int64, i int) []int64 {
	return list[max(min(i-2, len(list)), 0):min(i+3, len(list))]
}
