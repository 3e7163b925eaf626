package logstore_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"gaffer/internal/engine"
	"gaffer/internal/engine/logstore"
	"gaffer/internal/engine/store"
	"gaffer/internal/engine/store/memory"
	"gaffer/internal/engine/store/sqlite"
)

const attempt = "a1"

// logs is a store with the log of one attempt, and functions to change and read it.
type logs struct {
	t      *testing.T
	store  store.Store
	engine *engine.Engine
	keep   int64
}

func onEach(t *testing.T, keep int64, test func(l *logs)) {
	for name, open := range map[string]func() (store.Store, error){
		"memory": func() (store.Store, error) { return memory.New(), nil },
		"sqlite": func() (store.Store, error) { return sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "gaffer.db")) },
	} {
		t.Run(name, func(t *testing.T) {
			s, err := open()
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			}()
			test(&logs{t, s, engine.New(s, engine.Options{Now: time.Now, NewID: func() string { return "" }, Rand: rand.Float64}), keep})
		})
	}
}

func (l *logs) write(offset int64, data []byte, last bool) (next int64, err error) {
	l.t.Helper()
	do := logstore.Append
	if last {
		do = logstore.End
	}
	err = l.engine.Do(l.t.Context(), "test", func(s *engine.Tx) error {
		next, err = do(s, attempt, offset, data, l.keep)
		return err
	})
	return next, err
}

func (l *logs) append(offset int64, data []byte) int64 {
	l.t.Helper()
	next, err := l.write(offset, data, false)
	if err != nil {
		l.t.Fatal(err)
	}
	return next
}

// kept reads the part of the log that the store has kept, size bytes at a time. start is the offset
// of its first byte.
func (l *logs) kept(size int) (start int64, text []byte, done bool) {
	l.t.Helper()
	err := l.store.Read(context.Background(), func(r store.Reader) error {
		first, to, err := logstore.Span(r, attempt)
		if err != nil {
			return err
		}
		start, text = first, nil
		for at := first; at < to; {
			piece, err := logstore.Read(r, attempt, at, size)
			if err != nil || len(piece) == 0 || len(piece) > size {
				return fmt.Errorf("%d bytes at %d of %d: %w", len(piece), at, to, err)
			}
			at += int64(len(piece))
			text = append(text, piece...)
		}
		done, err = logstore.Done(r, attempt)
		return err
	})
	if err != nil {
		l.t.Fatal(err)
	}
	return start, text, done
}

func (l *logs) rows() (n int) {
	l.t.Helper()
	err := l.store.Read(context.Background(), func(r store.Reader) error {
		list, err := r.Items("log", attempt, -1, 1<<20)
		n = len(list)
		return err
	})
	if err != nil {
		l.t.Fatal(err)
	}
	return n
}

func TestWhatWasAppendedIsReadAgain(t *testing.T) {
	onEach(t, logstore.DefaultKeep, func(l *logs) {
		var all []byte
		for n, size := range []int{1, 10, 0, 5000, 3, 70_000, 256 << 10, 1} {
			data := bytes.Repeat([]byte{byte('a' + n)}, size)
			all = append(all, data...)
			if next := l.append(int64(len(all)-size), data); next != int64(len(all)) {
				t.Fatalf("next is %d after %d bytes", next, len(all))
			}
		}
		for _, size := range []int{1 << 20, 4096, 70_001} {
			if from, text, done := l.kept(size); from != 0 || done || !bytes.Equal(text, all) {
				t.Errorf("in pieces of %d: %d bytes from %d, done %v; want %d", size, len(text), from, done, len(all))
			}
		}
	})
}

func TestALogWithoutDataIsEmpty(t *testing.T) {
	onEach(t, 100, func(l *logs) {
		if from, text, done := l.kept(10); from != 0 || len(text) != 0 || done {
			t.Errorf("%d %q %v", from, text, done)
		}
	})
}

func TestSayingItTwiceIsSayingItOnce(t *testing.T) {
	onEach(t, logstore.DefaultKeep, func(l *logs) {
		l.append(0, []byte("one two "))
		for _, again := range []struct {
			at   int64
			text string
		}{{0, "one two "}, {0, "one "}, {4, "two "}, {8, ""}, {0, ""}, {4, "two three"}, {0, "one two three"}} {
			if next := l.append(again.at, []byte(again.text)); next < 8 {
				t.Errorf("%q at %d: next is %d", again.text, again.at, next)
			}
		}
		if _, text, _ := l.kept(100); string(text) != "one two three" {
			t.Errorf("%q", text)
		}
	})
}

func TestAGapIsAConflictWithTheOffsetThatIsWanted(t *testing.T) {
	onEach(t, logstore.DefaultKeep, func(l *logs) {
		l.append(0, []byte("12345"))
		_, err := l.write(6, []byte("x"), false)
		var gap *logstore.GapError
		if !errors.As(err, &gap) || gap.Want != 5 || !gap.Conflict() || gap.Offset() != 5 {
			t.Errorf("%v", err)
		}
		if _, err := l.write(6, nil, true); !errors.As(err, &gap) {
			t.Errorf("an end beyond the end: %v", err)
		}
		if _, text, done := l.kept(100); string(text) != "12345" || done {
			t.Errorf("%q %v", text, done)
		}
	})
}

func TestAfterItsEndNothingIsAddedToALog(t *testing.T) {
	onEach(t, logstore.DefaultKeep, func(l *logs) {
		l.append(0, []byte("all"))
		for range 2 {
			if next, err := l.write(0, []byte("all"), true); err != nil || next != 3 {
				t.Errorf("%d, %v", next, err)
			}
		}
		_, err := l.write(3, []byte("more"), false)
		var over *logstore.EndedError
		if !errors.As(err, &over) || !over.Conflict() {
			t.Errorf("%v", err)
		}
		if _, text, done := l.kept(100); string(text) != "all" || !done {
			t.Errorf("%q %v", text, done)
		}
	})
}

func TestALogThatIsCompleteMayBeEmpty(t *testing.T) {
	onEach(t, logstore.DefaultKeep, func(l *logs) {
		if next, err := l.write(0, nil, true); err != nil || next != 0 {
			t.Fatalf("%d, %v", next, err)
		}
		if _, text, done := l.kept(10); len(text) != 0 || !done {
			t.Errorf("%q %v", text, done)
		}
	})
}

func TestOnlyTheLastBytesAreKept(t *testing.T) {
	const keep = 100_000
	onEach(t, keep, func(l *logs) {
		random := rand.New(rand.NewPCG(1, 2))
		var all []byte
		for len(all) < 600_000 {
			data := make([]byte, random.IntN(40_000))
			for i := 0; i < len(data); i += 97 {
				data[i] = byte(random.IntN(256))
			}
			l.append(int64(len(all)), data)
			all = append(all, data...)
			from, to := int64(0), int64(len(all))
			if err := l.store.Read(t.Context(), func(r store.Reader) (err error) {
				from, to, err = logstore.Span(r, attempt)
				return err
			}); err != nil {
				t.Fatal(err)
			}
			if kept := to - from; to != int64(len(all)) || kept < min(keep, to) || kept > keep+(64<<10) {
				t.Fatalf("kept %d to %d of %d", from, to, len(all))
			}
		}
		from, text, _ := l.kept(10_000)
		if !bytes.Equal(text, all[from:]) {
			t.Errorf("what is kept from %d is not what was said", from)
		}
		if n := l.rows(); n > keep/4096+20 {
			t.Errorf("%d rows", n)
		}
	})
}

func TestManySmallWordsMakeFewRows(t *testing.T) {
	onEach(t, logstore.DefaultKeep, func(l *logs) {
		at := int64(0)
		for range 300 {
			at = l.append(at, []byte("a line of forty characters, as agents do\n"))
		}
		if n := l.rows(); n > 6 {
			t.Errorf("%d rows for %d bytes", n, at)
		}
	})
}

func TestADroppedLogLeavesNothing(t *testing.T) {
	onEach(t, logstore.DefaultKeep, func(l *logs) {
		at := int64(0)
		for range 40 {
			at = l.append(at, make([]byte, 5000))
		}
		for more := true; more; {
			err := l.engine.Do(t.Context(), "test", func(s *engine.Tx) (err error) {
				more, err = logstore.Drop(s, attempt)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		if from, text, _ := l.kept(10); from != 0 || len(text) != 0 || l.rows() != 0 {
			t.Errorf("%d bytes from %d in %d rows", len(text), from, l.rows())
		}
	})
}
