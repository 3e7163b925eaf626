package ledger

import (
	"cmp"
	"context"
	"iter"
	"maps"
	"slices"

	"gaffer/statefile/jsontree"
)

// tasksByBead returns an iterator over the files of the ledger, grouped by the bead (task id)
// inside the record. Nearly all files have the same bead in the file name. Only the other files,
// called misnamed, are kept in memory. To find them, tasksByBead reads every record before it
// returns.
func (s *Store) tasksByBead(ctx context.Context) (iter.Seq2[task, error], error) {
	misnamed, err := s.misnamed(ctx)
	if err != nil || len(misnamed) == 0 {
		return tasks(s.folders()...), err
	}
	moved := map[string]bool{}
	for _, files := range misnamed {
		for _, f := range files {
			moved[f.path()] = true
		}
	}
	return func(yield func(task, error) bool) {
		left := slices.Sorted(maps.Keys(misnamed)) // beads whose misnamed files were not yielded yet
		for t, err := range tasks(s.folders()...) {
			if err != nil {
				yield(nil, err)
				return
			}
			bead := t[0].bead
			for len(left) > 0 && left[0] < bead {
				if !yield(misnamed[left[0]], nil) {
					return
				}
				left = left[1:]
			}
			t = slices.DeleteFunc(t, func(f file) bool { return moved[f.path()] })
			if len(left) > 0 && left[0] == bead {
				// Put the misnamed files first. mergeTask reads a task's files from last to first,
				// and keeps the first record of an attempt. So a file whose name contains the right
				// bead takes precedence.
				t = append(slices.Clone(misnamed[bead]), t...)
				slices.SortStableFunc(t, func(a, b file) int { return cmp.Compare(a.kind.order(), b.kind.order()) })
				left = left[1:]
			}
			if len(t) > 0 && !yield(t, nil) {
				return
			}
		}
		for _, bead := range left {
			if !yield(misnamed[bead], nil) {
				return
			}
		}
	}, nil
}

// misnamed returns the files whose record contains another bead than the file name. The files are
// grouped by the bead in the record. In each group, run records come before result records.
func (s *Store) misnamed(ctx context.Context) (map[string]task, error) {
	found := map[string]task{}
	look := func(f file) file {
		r := read(s.host, f)
		if bead, ok := r.value.Get("bead").Str(); ok && bead != "" && r.name == "" && r.value.Kind() == jsontree.Object {
			f.bead = bead
		}
		return f
	}
	for _, records := range s.folders() {
		err := inOrder(ctx, records.files(), look, func(f file) error {
			if f.bead != nameOf(f.file).bead {
				found[f.bead] = append(found[f.bead], f)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}
