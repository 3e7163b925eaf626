package ledger

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"math/rand/v2"
	"slices"
	"testing"

	"gaffer/statefile/host"
)

// listing is a machine on which every folder contains the same names.
type listing struct {
	host.Host
	names []string
	err   error // returned after the last name
	reads int
}

func (l *listing) Names(host.Op, string) iter.Seq2[string, error] {
	l.reads++
	return func(yield func(string, error) bool) {
		for _, name := range l.names {
			if !yield(name, nil) {
				return
			}
		}
		if l.err != nil {
			yield("", l.err)
		}
	}
}

// shuffled returns records of n beads, with two attempts each, in random order.
func shuffled(n int) []string {
	names := []string{".hidden.json", "bd-1.json.bak"}
	for i := range n {
		bead := fmt.Sprintf("bd-%d", i)
		names = append(names, keptName(bead, 1), bead+extension)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	rng.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	return names
}

func TestAFolderLargerThanTheWindowIsReadInOrder(t *testing.T) {
	for _, n := range []int{0, 1, window / 2, window/2 + 1, 2*window + 3} {
		l := &listing{Host: host.OS(), names: shuffled(n)}
		var got []fileName
		for f, err := range (folder{host: l, kind: RunKind}).files() {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, f.fileName)
		}
		if len(got) != 2*n || !slices.IsSortedFunc(got, compareNames) {
			t.Errorf("%d of %d files, sorted: %v", len(got), 2*n, slices.IsSortedFunc(got, compareNames))
		}
		if most := 2*n/window + 1; l.reads > most {
			t.Errorf("the folder of %d files was read %d times, want at most %d", 2*n, l.reads, most)
		}
	}
}

func TestAnInterruptedListingIsAnError(t *testing.T) {
	l := &listing{Host: host.OS(), names: shuffled(3), err: fs.ErrPermission}
	s := Open("state", Options{Host: l})
	each := func(ValidatedFile) error { return nil }
	if err := s.Validate(t.Context(), ValidateOptions{}, each); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("validate: %v", err)
	}
	if _, err := s.Report(t.Context(), Query{}, func(Attempt) error { return nil }); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("report: %v", err)
	}
	if err := s.Fix(t.Context(), func(Fix) error { return nil }); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("fix: %v", err)
	}
}
