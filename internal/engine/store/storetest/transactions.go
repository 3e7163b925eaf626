package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"gaffer/internal/engine/store"
)

var transactions = map[string]func(*testing.T, Database){
	"a change sees what it has put":                           ownPuts,
	"a change that fails writes nothing":                      failedChange,
	"a request that fails does not affect the others":         failingRequest,
	"a read sees a consistent snapshot":                       oneState,
	"two stores lose no update":                               twoStores,
	"a cancelled request is written completely or not at all": cancelledRequests,
}

func ownPuts(t *testing.T, db Database) {
	s := open(t, db)
	write(t, s, func(tx *store.Tx) {
		putAll(tx)
		run, err := tx.Run("r1")
		same(t, "run", run, err, aRun)
		task, err := tx.Task(aTask.TaskKey)
		same(t, "task", task, err, aTask)
		attempt, err := tx.Attempt("x1")
		same(t, "attempt", attempt, err, anAttempt)
		worker, err := tx.Worker("w1")
		same(t, "worker", worker, err, aWorker)
		question, err := tx.Question("q1")
		same(t, "question", question, err, aQuestion)
		account, err := tx.Account("claude")
		same(t, "account", account, err, anAccount)
		record, err := tx.IdempotencyRecord(anIdempotencyRecord.Key)
		same(t, "idempotency record", record, err, anIdempotencyRecord)
		item, err := tx.Item(anItem.ItemKey)
		same(t, "item", item, err, anItem)
		same(t, "next event", tx.NextSeq(), nil, 2)
	})
}

func failedChange(t *testing.T, db Database) {
	s := open(t, db)
	inTx(t, s, putAll) // inTx rolls the transaction back, so nothing is written
	emptyLists(t, db)
	write(t, s, func(tx *store.Tx) {
		_, err := tx.Run("r1")
		same(t, "not found", errors.Is(err, store.ErrNotFound), nil, true)
		same(t, "next event", tx.NextSeq(), nil, 1)
	})
}

func failingRequest(t *testing.T, db Database) {
	s := open(t, db)
	stop := errors.New("no")
	var wg sync.WaitGroup
	for i := range 64 {
		wg.Go(func() {
			err := s.Write(t.Context(), func(tx *store.Tx) error {
				tx.PutWorker(store.Worker{ID: fmt.Sprint(i)})
				tx.Append(store.Event{Kind: fmt.Sprint(i)})
				if i%2 == 0 {
					return stop
				}
				return nil
			})
			if (i%2 == 0) != errors.Is(err, stop) || i%2 == 1 && err != nil {
				t.Errorf("write %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	read(t, s, func(r store.Reader) {
		workers, err := r.Workers()
		same(t, "workers", len(workers), err, 32)
		last, err := r.LastSeq()
		same(t, "last event", last, err, 32)
	})
}

// oneState changes two rows together again and again. It checks that readers always see the same
// value in both rows.
func oneState(t *testing.T, db Database) {
	s, other := open(t, db), open(t, db)
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	put := func(tx *store.Tx, n int64) {
		tx.PutCursor(store.Cursor{Name: "a", Seq: n})
		tx.PutAccount(store.Account{Name: "b", Reason: fmt.Sprint(n)})
		tx.Append(store.Event{Kind: "k"})
	}
	write(t, s, func(tx *store.Tx) { put(tx, 1) })
	wg.Go(func() {
		for n := int64(2); ctx.Err() == nil; n++ {
			write(t, s, func(tx *store.Tx) { put(tx, n) })
		}
	})
	for range 200 {
		for _, s := range []store.Store{s, other} {
			read(t, s, func(r store.Reader) {
				account, err := r.Account("b")
				same(t, "account", account.Name, err, "b")
				cursor, err := r.Cursor("a")
				same(t, "cursor and account", fmt.Sprint(cursor.Seq), err, account.Reason)
				last, err := r.LastSeq()
				same(t, "last event", fmt.Sprint(last), err, account.Reason)
			})
		}
	}
	stop()
	wg.Wait()
}

// twoStores increments a stored number many times, through two stores at the same time, and checks
// the result.
func twoStores(t *testing.T, db Database) {
	const writers, times = 8, 25
	var wg sync.WaitGroup
	write(t, open(t, db), func(tx *store.Tx) { tx.PutWorker(store.Worker{ID: "n"}) })
	for _, s := range []store.Store{open(t, db), open(t, db)} {
		for range writers {
			wg.Go(func() {
				for range times {
					addOne(t, s)
				}
			})
		}
	}
	wg.Wait()
	read(t, open(t, db), func(r store.Reader) {
		worker, err := r.Worker("n")
		same(t, "number", worker.Slots, err, 2*writers*times)
		last, err := r.LastSeq()
		same(t, "last event", last, err, int64(2*writers*times))
	})
}

func addOne(t *testing.T, s store.Store) {
	t.Helper()
	err := s.Write(t.Context(), func(tx *store.Tx) error {
		w, err := tx.Worker("n")
		w.Slots++
		tx.PutWorker(w)
		tx.Append(store.Event{Kind: "k"})
		return err
	})
	if err != nil {
		t.Errorf("write: %v", err)
	}
}

func cancelledRequests(t *testing.T, db Database) {
	s := open(t, db)
	var wg sync.WaitGroup
	var mu sync.Mutex
	written := map[string]bool{}
	for i := range 64 {
		ctx, cancel := context.WithCancel(t.Context())
		wg.Go(func() {
			id := fmt.Sprint(i)
			err := s.Write(ctx, func(tx *store.Tx) error {
				tx.PutWorker(store.Worker{ID: id})
				return nil
			})
			if err != nil && !errors.Is(err, context.Canceled) {
				t.Errorf("write: %v", err)
			}
			mu.Lock()
			written[id] = err == nil
			mu.Unlock()
		})
		wg.Go(cancel)
	}
	wg.Wait()
	write(t, s, func(tx *store.Tx) { tx.PutWorker(store.Worker{ID: "after"}) })
	read(t, s, func(r store.Reader) {
		for id, want := range written {
			_, err := r.Worker(id)
			same(t, "worker "+id+" is there", err == nil, nil, want)
		}
	})
}
