package storetest

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"gaffer/internal/engine/store"
)

var crowds = map[string]func(*testing.T, Database){
	"10,000 tasks go to 16 claimers, each to one": concurrentClaims,
}

const (
	claimersAtOnce = 16
	tasksToClaim   = 10_000
)

// concurrentClaims lets several goroutines claim tasks through two stores on one database. The
// claims must be linearizable: there must be an order of all claims, consistent with the times of
// the calls, in which each claim takes the first task that no earlier claim has taken.
func concurrentClaims(t *testing.T, db Database) {
	s, other := open(t, db), open(t, db)
	write(t, s, func(tx *store.Tx) {
		for i := range tasksToClaim {
			tx.PutTask(ready(fmt.Sprint(i), int64(i), 0))
		}
	})
	histories := make([][]porcupine.Operation, claimersAtOnce)
	var wg sync.WaitGroup
	start := time.Now()
	for c := range claimersAtOnce {
		wg.Go(func() {
			s := []store.Store{s, other}[c%2]
			for taken := 0; taken >= 0; {
				call := time.Since(start)
				var err error
				taken, err = claimOne(t, s)
				if err != nil {
					t.Errorf("claim: %v", err)
					return
				}
				histories[c] = append(histories[c], porcupine.Operation{
					ClientId: c, Call: int64(call), Output: taken, Return: int64(time.Since(start)),
				})
			}
		})
	}
	wg.Wait()
	history := slices.Concat(histories...)
	claims := map[int]int{}
	for _, o := range history {
		claims[o.Output.(int)]++
	}
	for i := range tasksToClaim {
		if claims[i] != 1 {
			t.Errorf("task %d was claimed %d times", i, claims[i])
		}
	}
	if !porcupine.CheckOperations(queue, history) {
		t.Error("the history of claims is not one of a queue")
	}
}

// claimOne claims the first ready task, by setting its status to Running, and returns the task's
// Seq. It returns -1 if no task is ready.
func claimOne(t *testing.T, s store.Store) (taken int, err error) {
	err = s.Write(t.Context(), func(tx *store.Tx) error {
		taken = -1
		list, err := tx.ClaimableTasks(claim(1))
		if err != nil || len(list) == 0 {
			return err
		}
		task := list[0]
		task.Status, task.Ready = store.Running, false
		tx.PutTask(task)
		tx.Append(store.Event{Kind: "task.running", Run: task.Run, Task: task.Task})
		taken = int(task.Seq)
		return nil
	})
	return taken, err
}

// queue describes for the linearizability checker how correct claims behave: like a queue of the
// numbers from 0 to tasksToClaim-1. Its state is the next number that a claim must return.
var queue = porcupine.Model{
	Init: func() any { return 0 },
	Step: func(state, _, output any) (bool, any) {
		next, taken := state.(int), output.(int)
		if taken == -1 {
			return next == tasksToClaim, next
		}
		return taken == next, next + 1
	},
}
