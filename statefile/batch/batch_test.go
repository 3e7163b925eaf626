package batch_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gaffer/statefile/batch"
)

// leader is a batch.Leader whose work takes a second.
type leader struct {
	prepare func()
	work    func(all []int)
}

func (l leader) Prepare(context.Context, int) (func(), error) {
	if l.prepare != nil {
		l.prepare()
	}
	return func() {}, nil
}

func (l leader) Work(all []int) []error {
	time.Sleep(time.Second)
	if l.work != nil {
		l.work(all)
	}
	return make([]error, len(all))
}

// A queue with waiting callers starts a batch as soon as the previous one ends. When the last
// caller returns, no goroutine of the queue is running.
func TestBatchesFollowEachOtherWhileCallersWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q batch.Queue[int]
		var mu sync.Mutex
		var batches [][]int
		note := leader{work: func(all []int) {
			mu.Lock()
			defer mu.Unlock()
			batches = append(batches, all)
		}}
		began := time.Now()
		var all sync.WaitGroup
		for i := range 4 {
			all.Go(func() {
				if err := q.Do(context.Background(), i, note); err != nil {
					t.Error(err)
				}
			})
			time.Sleep(2 * time.Second / 5) // so no caller arrives exactly when work ends: that order would be undefined
		}
		all.Wait()
		if got := fmt.Sprint(batches); got != "[[0] [1 2] [3]]" {
			t.Errorf("the work was %s", got)
		}
		if took := time.Since(began); took != 3*time.Second {
			t.Errorf("it took %s", took)
		}
	})
}

func TestAPanicReachesTheLeaderAndTheOthersGetAnError(t *testing.T) {
	for name, c := range map[string]struct {
		bad    leader
		value  bool  // whether the leader panics with the original value
		others error // expected error of the callers that queued before the work began
	}{
		"work":         {leader{work: func([]int) { panic("a mistake") }}, true, batch.ErrPanic},
		"prepare":      {leader{prepare: func() { time.Sleep(time.Second); panic("a mistake") }}, true, nil},
		"exit":         {leader{work: func([]int) { runtime.Goexit() }}, false, batch.ErrPanic},
		"prepare exit": {leader{prepare: func() { time.Sleep(time.Second); runtime.Goexit() }}, false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var q batch.Queue[int]
				var all sync.WaitGroup
				do := func(i int, by leader) (value any, err error) {
					defer func() { value = recover() }()
					return nil, q.Do(context.Background(), i, by)
				}
				all.Go(func() { _, _ = do(0, leader{}) })
				time.Sleep(time.Second / 2)
				all.Go(func() {
					if value, err := do(1, c.bad); (value != nil) != c.value || value == nil && !errors.Is(err, batch.ErrPanic) {
						t.Errorf("the leader got %v, %v", err, value)
					}
				})
				time.Sleep(time.Second / 4)
				all.Go(func() {
					if value, err := do(2, leader{}); value != nil || !errors.Is(err, c.others) {
						t.Errorf("another got %v, %v", err, value)
					}
				})
				all.Wait()
				if value, err := do(3, leader{}); err != nil || value != nil {
					t.Errorf("one who came later got %v, %v", err, value)
				}
			})
		})
	}
}

func TestAWorkerThatEndsItsGoroutineLeavesNoCallerWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q batch.Queue[int]
		var all sync.WaitGroup
		all.Go(func() {
			_ = q.Do(context.Background(), 0, leader{work: func([]int) { runtime.Goexit() }})
			t.Error("it goes on")
		})
		time.Sleep(time.Second / 2)
		all.Go(func() {
			if err := q.Do(context.Background(), 1, leader{}); err != nil {
				t.Errorf("who came meanwhile got %v", err)
			}
		})
		all.Wait()
	})
}
