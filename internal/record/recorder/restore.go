package recorder

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"gaffer/internal/engine/store"
	"gaffer/ledger"
)

// restoreDeleted writes those ledger records again that other programs have deleted. It only looks
// for missing files. It does not check the content of existing records, because programs must not
// change records.
func (r *Recorder) restoreDeleted(ctx context.Context) error {
	if r.opts.Ledger == nil || len(r.pending) > 0 {
		return nil
	}
	there, err := r.recordFiles()
	if err != nil {
		r.reportOnce(ctx, recordsProblem, err)
		return nil
	}
	gone := map[string]bool{}
	for task, i := range r.state.agentIndex {
		as, t := r.state.bead(r.opts.Run, task), r.state.attempts[i]
		if !there[ledger.RunKind].has(as, t.started) || !there[ledger.ResultKind].has(as, t.ended) {
			gone[task] = true
		}
	}
	if len(gone) == 0 {
		return nil
	}
	return r.recordAgain(ctx, gone)
}

// recordAgain writes the missing ledger records of these tasks. Existing records stay unchanged.
func (r *Recorder) recordAgain(ctx context.Context, tasks map[string]bool) error {
	_, rows, _, err := r.readRows(ctx)
	if err != nil {
		return err
	}
	stopping, seq := false, seqBeforeRun(rows)
	err = r.follow(ctx, &seq, func(e store.Event) error {
		n, ok, err := decodeEvent(e)
		if err != nil || !ok || e.Seq > r.seq {
			return err
		}
		if n.run != nil {
			stopping = n.run.Stopping != ""
		}
		if entry, ok := entryOf(n, stopping); ok && tasks[e.Task] {
			r.pending = append(r.pending, entry)
		}
		return nil
	})
	if err != nil {
		return err
	}
	r.reportOnce(ctx, recordsProblem, r.writeRecords(ctx, func() bool { return true }))
	return nil
}

// fileNames is the set of names of the regular files in a folder.
type fileNames map[string]bool

// has reports whether a record file exists for each attempt of a task. The parameter attempts is
// the number of these attempts. The parameter as has the name of the task in the ledger. The last
// attempt's file has this name, such as bd-1.json. The files of earlier attempts also have the
// attempt's number in their names.
func (n fileNames) has(as bead, attempts int) bool {
	if attempts > 0 && !n[as.name+".json"] {
		return false
	}
	for i := as.earlier + 1; i < as.earlier+attempts; i++ {
		if !n[fmt.Sprintf("%s.attempt-%d.json", as.name, i)] {
			return false
		}
	}
	return true
}

func (r *Recorder) recordFiles() (map[ledger.Kind]fileNames, error) {
	all := map[ledger.Kind]fileNames{}
	for _, kind := range ledger.Kinds() {
		names := fileNames{}
		entries, err := os.ReadDir(r.opts.Ledger.Dir(kind))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		for _, e := range entries {
			names[e.Name()] = e.Type().IsRegular()
		}
		all[kind] = names
	}
	return all, nil
}
