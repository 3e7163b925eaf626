package statefile_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"gaffer/internal/testkit/testenv"
	"gaffer/statefile"
	"gaffer/statefile/host"
	"gaffer/statefile/jsontree"
)

func TestUpdatesFromManyGoroutinesShareWritesAndAreAllKept(t *testing.T) {
	for name, locking := range lockings {
		t.Run(name, func(t *testing.T) {
			const goroutines, updates = 64, 50
			path := document(t, "{\n  \"count\": 0\n}\n")
			machine := counting()
			var finished int // used only by the leader
			f := statefile.New(path, statefile.Options{Host: machine, Locking: locking, Finish: func(d *jsontree.Doc) error {
				finished++
				d.Root().Set("count", d.Root().Len()-1)
				return nil
			}})
			var wg sync.WaitGroup
			for g := range goroutines {
				wg.Go(func() {
					for i := range updates {
						if err := set(context.Background(), f, fmt.Sprintf("%d-%d", g, i), i); err != nil {
							t.Error(err)
						}
					}
				})
			}
			wg.Wait()
			doc, err := f.Load()
			if err != nil {
				t.Fatal(err)
			}
			if got, _ := doc.Value().Get("count").Int(); got != goroutines*updates || doc.Value().Len() != goroutines*updates+1 {
				t.Errorf("kept are %d, counted %d, of %d", doc.Value().Len()-1, got, goroutines*updates)
			}
			writes := machine.made("rename", "rename")
			if writes > goroutines*updates/8 {
				t.Errorf("%d updates took %d writes", goroutines*updates, writes)
			}
			if finished != writes || machine.made("sync temp", "sync") != writes || machine.made("sync folder", "sync") != writes {
				t.Errorf("%d writes, finished %d times, synced %d and %d times", writes, finished,
					machine.made("sync temp", "sync"), machine.made("sync folder", "sync"))
			}
			folderHolds(t, path)
		})
	}
}

// gate blocks the first update at a step until the test has queued other updates.
type gate struct {
	at      host.Op
	once    sync.Once
	reached chan struct{}
	open    chan struct{}
}

func newGate(at host.Op) *gate {
	return &gate{at: at, reached: make(chan struct{}), open: make(chan struct{})}
}

func (g *gate) hold(s step) error {
	if s.op == g.at {
		g.once.Do(func() {
			close(g.reached)
			<-g.open
		})
	}
	return nil
}

// queued starts the updates one after the other and returns when all of them are waiting.
func queued(t *testing.T, f *statefile.File, from int, updates ...func() error) []chan error {
	t.Helper()
	var results []chan error
	for i, update := range updates {
		result := make(chan error, 1)
		go func() { result <- update() }()
		results = append(results, result)
		awaitQueue(t, f, from+i+1)
	}
	return results
}

func awaitQueue(t *testing.T, f *statefile.File, n int) {
	t.Helper()
	testenv.Wait(t, fmt.Sprintf("%d updates that wait", n), func() error {
		if now := f.Waiting(); now != n {
			return fmt.Errorf("%d wait", now)
		}
		return nil
	})
}

func answer(t *testing.T, result <-chan error) error {
	t.Helper()
	select {
	case err := <-result:
		return err
	case <-time.After(patience):
		t.Fatal("an update does not return")
		return nil
	}
}

func TestAFailedChangeDoesNotDisturbTheOthersOfItsWrite(t *testing.T) {
	path := document(t, `{}`)
	g := newGate("lock")
	machine := newHooked(g.hold)
	f := statefile.New(path, statefile.Options{Host: machine})
	refused := errors.New("refused")
	ctx := context.Background()
	results := queued(t, f, 0,
		func() error { return set(ctx, f, "a", 1) },
		func() error {
			return f.Update(ctx, func(d *jsontree.Doc) error {
				d.Root().Set("half", 1)
				d.Root().Set("a", "changed")
				return refused
			})
		},
		func() error {
			return f.Update(ctx, func(d *jsontree.Doc) error {
				d.Root().Set("half", 1)
				d.Root().Append(1)
				return nil
			})
		},
		func() error { return set(ctx, f, "b", 2) },
	)
	close(g.open)
	for i, want := range []string{"<nil>", "refused", "append to an object", "<nil>"} {
		if err := answer(t, results[i]); fmt.Sprint(err) != want {
			t.Errorf("update %d: %v, should be %s", i, err, want)
		}
	}
	compareContent(t, path, "{\n  \"a\": 1,\n  \"b\": 2\n}")
	if n := machine.made("rename", "rename"); n != 1 {
		t.Errorf("it took %d writes", n)
	}
}

func TestWhenAllChangesFailNothingIsWritten(t *testing.T) {
	path := document(t, `{"a":1}`)
	machine := counting()
	f := statefile.New(path, statefile.Options{Host: machine, Finish: func(*jsontree.Doc) error {
		t.Error("finished what was not changed")
		return nil
	}})
	refused := errors.New("refused")
	err := f.Update(context.Background(), func(d *jsontree.Doc) error {
		d.Root().Set("a", 2)
		return refused
	})
	if !errors.Is(err, refused) {
		t.Errorf("%v, should be the change's own error", err)
	}
	if n := machine.made("create temp", "create"); n != 0 {
		t.Errorf("%d files were written", n)
	}
	compareContent(t, path, `{"a":1}`)
}

func TestAChangesOwnErrorIsReturnedAlsoWhenTheWriteOfTheOthersFails(t *testing.T) {
	path := document(t, `{}`)
	g := newGate("lock")
	f := statefile.New(path, statefile.Options{Host: newHooked(func(s step) error {
		if s.op == "rename" {
			return syscall.EIO
		}
		return g.hold(s)
	})})
	refused := errors.New("refused")
	results := queued(t, f, 0,
		func() error { return set(context.Background(), f, "a", 1) },
		func() error { return f.Update(context.Background(), func(*jsontree.Doc) error { return refused }) },
	)
	close(g.open)
	if err := answer(t, results[0]); !errors.Is(err, syscall.EIO) {
		t.Errorf("the write: %v", err)
	}
	if err := answer(t, results[1]); !errors.Is(err, refused) {
		t.Errorf("the change: %v, should be its own error", err)
	}
}

func TestAChangeThatCannotBeFinishedFailsAlone(t *testing.T) {
	path := document(t, `{}`)
	g := newGate("lock")
	bad := errors.New("bad is not allowed")
	f := statefile.New(path, statefile.Options{
		Host: newHooked(g.hold),
		Finish: func(d *jsontree.Doc) error {
			if d.Root().Child("bad") != nil {
				return bad
			}
			return nil
		},
	})
	ctx := context.Background()
	results := queued(t, f, 0,
		func() error { return set(ctx, f, "a", 1) },
		func() error { return set(ctx, f, "bad", 1) },
		func() error { return set(ctx, f, "b", 2) },
	)
	close(g.open)
	for i, want := range []error{nil, bad, nil} {
		if err := answer(t, results[i]); !errors.Is(err, want) {
			t.Errorf("update %d: %v, should be %v", i, err, want)
		}
	}
	compareContent(t, path, "{\n  \"a\": 1,\n  \"b\": 2\n}")
}

func TestACallerThatStopsWaitingLeavesWithoutItsChange(t *testing.T) {
	path := document(t, `{}`)
	g := newGate("create temp")
	f := statefile.New(path, statefile.Options{Host: newHooked(g.hold)})
	ctx, cancel := context.WithCancel(context.Background())
	first := make(chan error, 1)
	go func() { first <- set(context.Background(), f, "first", 1) }()
	<-g.reached // the first update is being written, so later updates wait for the next write
	var ran atomic.Bool
	results := queued(t, f, 0,
		func() error {
			return f.Update(ctx, func(*jsontree.Doc) error { ran.Store(true); return nil })
		},
		func() error { return set(context.Background(), f, "last", 1) },
	)
	cancel()
	if err := answer(t, results[0]); !errors.Is(err, context.Canceled) {
		t.Errorf("who stopped waiting got %v", err)
	}
	close(g.open)
	if err := errors.Join(answer(t, first), answer(t, results[1])); err != nil {
		t.Error(err)
	}
	if ran.Load() {
		t.Error("its change was made all the same")
	}
	compareContent(t, path, "{\n  \"first\": 1,\n  \"last\": 1\n}")
}

func TestAStartedWriteIsNotCancelled(t *testing.T) {
	path := document(t, `{}`)
	g := newGate("rename")
	f := statefile.New(path, statefile.Options{Host: newHooked(g.hold)})
	ctx, cancel := context.WithCancel(context.Background())
	result := make(chan error, 1)
	go func() { result <- set(ctx, f, "a", 1) }()
	<-g.reached
	cancel()
	close(g.open)
	if err := answer(t, result); err != nil {
		t.Errorf("%v, although it was written", err)
	}
	compareContent(t, path, "{\n  \"a\": 1\n}")
}

func TestACancelledLeaderIsReplaced(t *testing.T) {
	for name, locking := range lockings {
		t.Run(name, func(t *testing.T) {
			path := document(t, `{}`)
			other, err := host.OS().Lock(context.Background(), "lock", filepath.Join(filepath.Dir(path), ".doc.json.flock"))
			if err != nil {
				t.Fatal(err)
			}
			f := statefile.New(path, statefile.Options{Locking: locking})
			ctx, cancel := context.WithCancel(context.Background())
			results := queued(t, f, 0,
				func() error { return set(ctx, f, "leader", 1) },
				func() error { return set(context.Background(), f, "next", 1) },
				func() error { return set(context.Background(), f, "last", 1) },
			)
			cancel()
			if err := answer(t, results[0]); !errors.Is(err, context.Canceled) {
				t.Errorf("the leader got %v", err)
			}
			if err := other.Unlock(); err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(answer(t, results[1]), answer(t, results[2])); err != nil {
				t.Error(err)
			}
			compareContent(t, path, "{\n  \"next\": 1,\n  \"last\": 1\n}")
			folderHolds(t, path)
		})
	}
}

func TestALockErrorFailsOnlyTheLeader(t *testing.T) {
	path := document(t, `{}`)
	other, err := host.OS().Lock(context.Background(), "lock", filepath.Join(filepath.Dir(path), ".doc.json.flock"))
	if err != nil {
		t.Fatal(err)
	}
	f := statefile.New(path, statefile.Options{LockTimeout: 50 * time.Millisecond})
	err = set(context.Background(), f, "a", 1)
	var locked *statefile.LockError
	if !errors.As(err, &locked) || !locked.Conflict() || locked.Hint() == "" {
		t.Errorf("%v is not a conflict", err)
	}
	if err := other.Unlock(); err != nil {
		t.Fatal(err)
	}
	if err := set(context.Background(), f, "b", 1); err != nil {
		t.Error(err)
	}
	compareContent(t, path, "{\n  \"b\": 1\n}")
}

// A server may survive a panic in a handler. Its documents must not stay locked then.
func TestAChangeThatPanicsReleasesTheLock(t *testing.T) {
	for name, locking := range lockings {
		t.Run(name, func(t *testing.T) {
			path := document(t, `{}`)
			f := statefile.New(path, statefile.Options{Locking: locking, LockTimeout: time.Second})
			func() {
				defer func() { _ = recover() }()
				_ = f.Update(context.Background(), func(*jsontree.Doc) error { panic("a mistake") })
			}()
			if err := set(context.Background(), f, "a", 1); err != nil {
				t.Error(err)
			}
			folderHolds(t, path)
		})
	}
}
