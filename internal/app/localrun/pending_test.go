package localrun

import (
	"context"
	"testing"
	"time"

	"gaffer/internal/attempt/runlock"
	"gaffer/internal/engine/store"
	"gaffer/internal/engine/store/memory"
	"gaffer/internal/record/pending"
)

// storeWithFinish is a store in which another process finishes its work just after the
// first read.
type storeWithFinish struct {
	store.Store
	finish func()
}

func (s *storeWithFinish) Read(ctx context.Context, read func(store.Reader) error) error {
	err := s.Store.Read(ctx, read)
	if finish := s.finish; finish != nil {
		s.finish = nil
		finish()
	}
	return err
}

func TestDocumentsThatAreWrittenMeanwhileAreNotPending(t *testing.T) {
	s := &storeWithFinish{Store: memory.New()}
	defer s.Close()
	locks := runlock.Locks(t.TempDir())
	for _, run := range []string{"written", "unwritten"} {
		release, err := locks.Lock(t.Context(), run) // leaves the lock file of a process that has ended
		if err != nil {
			t.Fatal(err)
		}
		release()
	}
	list := pending.List{Store: s, Now: time.Now}
	for _, run := range []string{"written", "unwritten"} {
		err := s.Write(t.Context(), func(tx *store.Tx) error {
			tx.PutRun(store.Run{ID: run, OnlyWorker: run, Status: store.Complete})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := list.Add(t.Context(), run, nil, ""); err != nil {
			t.Fatal(err)
		}
	}
	s.finish = func() {
		if err := list.Remove(t.Context(), "written"); err != nil {
			t.Error(err)
		}
	}
	found, err := NewPending(PendingOptions{Store: s, Locks: locks, Now: time.Now}).List(t.Context(), true)
	if err != nil || len(found) != 1 || found[0].Run != "unwritten" {
		t.Errorf("pending: %+v, %v", found, err)
	}
}
