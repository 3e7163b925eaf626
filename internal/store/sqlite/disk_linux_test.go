package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"gaffer/internal/store"
)

// images are what a disk would have if the power failed after each sync: the
// files as they were when it began.
type images struct {
	t     *testing.T
	store *Store
	dir   string

	mu     sync.Mutex
	synced int // how many there are whose sync has ended
	shown  []shown
}

// shown is an event that somebody outside was told of, and how many syncs had
// ended by then.
type shown struct {
	what  string
	event int64
	after int
}

func newImages(t *testing.T) *images {
	t.Helper()
	dir := t.TempDir()
	s, err := Open(t.Context(), filepath.Join(dir, "gaffer.db"))
	if err != nil {
		t.Fatal(err)
	}
	i := &images{t: t, store: s, dir: dir}
	s.disk.flush = i.flush
	return i
}

func (i *images) file(n int) string { return filepath.Join(i.dir, strconv.Itoa(n)) }

// flush keeps an image. No session is open meanwhile, so that the two files are of
// one moment.
func (i *images) flush(log *os.File) error {
	i.store.open <- struct{}{}
	for _, end := range []string{"", "-wal"} {
		if err := copyFile(i.store.path+end, i.file(i.synced)+end); err != nil {
			i.t.Error(err)
		}
	}
	<-i.store.open
	err := flush(log)
	i.mu.Lock()
	defer i.mu.Unlock()
	i.synced++
	return err
}

// copyFile takes away the locks that the connections of this process have on a
// database, which does not matter where there is no other process.
func copyFile(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o600)
}

// tell notes what somebody was told.
func (i *images) tell(what string, event int64) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.shown = append(i.shown, shown{what, event, i.synced})
}

// put writes an event and returns its number.
func put(s *Store) (number int64, err error) {
	return number, s.Write(context.Background(), store.Need{}, func(tx *store.Tx) error {
		number = tx.NextSeq()
		tx.PutTask(store.Task{TaskKey: store.TaskKey{Run: "r", Task: strconv.FormatInt(number, 10)}, Seq: number, Status: store.Queued})
		tx.Append(store.Event{Kind: "task.queued"})
		return nil
	})
}

func lastOf(s *Store) (last int64, err error) {
	return last, s.Read(context.Background(), func(r store.Reader) (err error) {
		last, err = r.LastSeq()
		return err
	})
}

// refused asks for a change that is made already.
func refused(s *Store) (last int64, err error) {
	made := errors.New("it is made")
	err = s.Write(context.Background(), store.Need{}, func(tx *store.Tx) error {
		last = tx.NextSeq() - 1
		return made
	})
	if errors.Is(err, made) {
		err = nil
	}
	return last, err
}

// check opens the image after each sync and looks for what was told before the
// next one.
func (i *images) check() {
	i.t.Helper()
	for n := 1; n <= i.synced; n++ {
		last := i.lastIn(n - 1)
		for _, s := range i.shown {
			if s.after == n && s.event > last {
				i.t.Errorf("after %d syncs the disk had events up to %d, and %s was event %d", n, last, s.what, s.event)
			}
		}
	}
	for _, s := range i.shown {
		if s.after == 0 && s.event > 0 {
			i.t.Errorf("event %d was told before the first sync", s.event)
		}
	}
}

func (i *images) lastIn(image int) int64 {
	s, err := Open(context.Background(), i.file(image))
	if err != nil {
		i.t.Fatal(err)
	}
	last, err := lastOf(s)
	if err := errors.Join(err, s.Close()); err != nil {
		i.t.Fatal(err)
	}
	return last
}

func TestNothingThatAnybodyWasToldIsLostWhenThePowerFails(t *testing.T) {
	const writers, writes = 12, 20
	i := newImages(t)
	run(t, i.store, "PRAGMA wal_autocheckpoint = 20") // so that the log begins anew now and then
	var work, look sync.WaitGroup
	var over atomic.Bool
	for range writers {
		work.Go(func() {
			for range writes {
				i.did("a write")(put(i.store))
				i.did("a refusal")(refused(i.store))
			}
		})
	}
	for _, reader := range []func(s *Store) (int64, error){lastOf, waited} {
		look.Go(func() {
			for !over.Load() {
				i.did("what a reader saw")(reader(i.store))
			}
		})
	}
	work.Wait()
	over.Store(true)
	look.Wait()
	if err := i.store.Close(); err != nil {
		t.Error(err)
	}
	if i.restarts() == 0 {
		t.Error("the log never began anew")
	}
	i.check()
	if i.synced >= 2*writers*writes {
		t.Errorf("%d syncs: each write had its own", i.synced)
	}
}

// waited is the number that the bell of a store has come to.
func waited(s *Store) (int64, error) { return s.lastSeq(context.Background()) }

// did notes the outcome of a request at once.
func (i *images) did(what string) func(event int64, err error) {
	return func(event int64, err error) {
		if err != nil {
			i.t.Error(err)
			return
		}
		i.tell(what, event)
	}
}

// restarts is how often the log of an image has another beginning than the one
// before.
func (i *images) restarts() (n int) {
	var before string
	for image := range i.synced {
		f, err := os.Open(i.file(image) + "-wal")
		if err != nil {
			i.t.Error(err)
			continue
		}
		salt := make([]byte, 8)
		_, err = f.ReadAt(salt, 16)
		_ = f.Close()
		if err == nil && before != "" && string(salt) != before {
			n++
		}
		before = string(salt)
	}
	return n
}

func run(t *testing.T, s *Store, statement string) {
	t.Helper()
	s.open <- struct{}{}
	defer func() { <-s.open }()
	if _, err := s.write.ExecContext(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
}

// together starts as many requests as are worth a session, and lets them in when
// all of them wait. Another session is on its way.
func together(s *Store, start func()) {
	s.slots <- struct{}{}
	for range worthwhile {
		start()
	}
	for s.writer.Waiting() < worthwhile {
		runtime.Gosched()
	}
	<-s.slots
}

var errDisk = errors.New("the disk is gone")

func TestNothingIsAcknowledgedAfterASyncThatFailed(t *testing.T) {
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "gaffer.db"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := put(s); err != nil {
		t.Fatal(err)
	}
	reached, fail := make(chan struct{}), make(chan struct{})
	s.disk.flush = func(*os.File) error {
		close(reached)
		<-fail
		return errDisk // once: a disk says it once
	}
	answers := make(chan error)
	start := func(ask func(*Store) (int64, error)) {
		go func() {
			_, err := ask(s)
			answers <- err
		}()
	}
	start(put)
	<-reached
	s.disk.flush = flush
	before := s.disk.last()
	together(s, func() { start(put) }) // they are committed while the other is synced
	for s.disk.last() == before {
		runtime.Gosched()
	}
	start(lastOf)
	close(fail)
	for range worthwhile + 2 {
		mustFail(t, <-answers)
	}
	for name, ask := range map[string]func(*Store) (int64, error){"write": put, "read": lastOf, "refusal": refused, "wait": waited} {
		if _, err := ask(s); err == nil {
			t.Errorf("a %s succeeded after the sync had failed", name)
		}
	}
	mustFail(t, s.Close())
}

func mustFail(t *testing.T, err error) {
	t.Helper()
	var failed *SyncError
	if !errors.As(err, &failed) || !errors.Is(err, errDisk) || failed.Hint() == "" {
		t.Errorf("the error is %v", err)
	}
}

func TestASessionIsMadeWhileTheOneBeforeIsSynced(t *testing.T) {
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "gaffer.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	if _, err := put(s); err != nil {
		t.Fatal(err)
	}
	reached, goOn := make(chan struct{}, 9), make(chan struct{})
	s.disk.flush = func(f *os.File) error {
		reached <- struct{}{}
		<-goOn
		return flush(f)
	}
	done := make(chan error, worthwhile+1)
	write := func() {
		_, err := put(s)
		done <- err
	}
	go write()
	<-reached
	before := s.disk.last()
	together(s, func() { go write() })
	for s.disk.last() == before { // the second is committed though the first is not synced
		select {
		case err := <-done:
			t.Fatalf("a write returned before it was synced: %v", err)
		default:
			runtime.Gosched()
		}
	}
	close(goOn)
	for range worthwhile + 1 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

func TestWhileOthersAreThereASessionIsSyncedBeforeTheySeeIt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "gaffer.db")
	one, err := Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = one.Close() }()
	var syncs atomic.Int64
	one.disk.flush = func(f *os.File) error {
		syncs.Add(1)
		return flush(f)
	}
	write := func(who string, own bool) {
		t.Helper()
		before := syncs.Load()
		if _, err := put(one); err != nil {
			t.Fatal(err)
		}
		if got := syncs.Load() > before; got != own || one.deep == own {
			t.Errorf("%s: synced by us is %v, by SQLite %v", who, got, one.deep)
		}
	}
	write("alone", true)
	two, err := Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if two.disk.last() == two.disk.synced {
		t.Error("what was there before is taken to be on the disk")
	}
	write("with another", false)
	if _, err := put(two); err != nil || !two.deep {
		t.Errorf("the other's session is synced by SQLite is %v: %v", two.deep, err)
	}
	if err := two.Close(); err != nil {
		t.Fatal(err)
	}
	write("alone again", true)
}

func TestASyncThatFailedIsNoLongerFeltOnceTheStoreIsOpenedAnew(t *testing.T) {
	path := filepath.Join(t.TempDir(), "gaffer.db")
	s, err := Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	s.disk.flush = func(*os.File) error { return errDisk }
	_, err = put(s)
	mustFail(t, err)
	var unknown *store.CommitError
	if !errors.As(err, &unknown) {
		t.Errorf("whether it was made is said to be known: %v", err)
	}
	mustFail(t, s.Close())
	if s, err = Open(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	if _, err := put(s); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Error(fmt.Errorf("close: %w", err))
	}
}

func TestCloseWaitsForASyncThatIsUnderWay(t *testing.T) {
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "gaffer.db"))
	if err != nil {
		t.Fatal(err)
	}
	reached, goOn := make(chan struct{}), make(chan struct{})
	s.disk.flush = func(f *os.File) error {
		close(reached)
		<-goOn
		return flush(f)
	}
	wrote, closed := make(chan error, 1), make(chan error, 1)
	go func() {
		_, err := put(s)
		wrote <- err
	}()
	<-reached
	go func() { closed <- s.Close() }()
	for len(s.slots) < atOnce { // it waits for the session
		runtime.Gosched()
	}
	select {
	case err := <-closed:
		t.Fatalf("it was closed before the sync had ended: %v", err)
	default:
	}
	close(goOn)
	for _, ended := range []chan error{wrote, closed} {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}
