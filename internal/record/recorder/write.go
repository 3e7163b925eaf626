package recorder

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"gaffer/internal/engine/store"
	"gaffer/ledger"
	"gaffer/session"
	"gaffer/statefile"
)

// write writes the session's document if it is out of date, and the pending ledger records. It
// stops writing records after the time r.opts.Pace, so that new events do not wait too long. If the
// parameter everything is true, it writes all records, and it writes the document even if the last
// write was recent.
func (r *Recorder) write(ctx context.Context, everything bool) {
	moved := r.state.unwritten || len(r.pending) > 0
	if everything || r.state.unwritten && r.due() || r.failing[sessionProblem] != nil || r.recording.Disturbed() {
		// Write the session before the records, because writing the session also reads new events,
		// which may need records.
		r.reportOnce(ctx, sessionProblem, r.writeSession(ctx))
	}
	limit := time.Now().Add(r.opts.Pace)
	r.reportOnce(ctx, recordsProblem, r.writeRecords(ctx, func() bool { return everything || time.Now().Before(limit) }))
	if everything || moved {
		r.reportOnce(ctx, cursorProblem, r.keepCursor(ctx))
	}
}

// The kinds of problems. The Recorder reports the problems of each kind separately.
const (
	sessionProblem = "session"
	recordsProblem = "records"
	cursorProblem  = "cursor"
	eventsProblem  = "events"
)

// reportOnce prints an error when a problem of this kind begins, unless Options.Quiet is set. It
// prints no further errors of the same kind until the problem is solved. If err is nil, the problem
// is solved.
func (r *Recorder) reportOnce(ctx context.Context, problem string, err error) {
	switch {
	case err == nil:
		delete(r.failing, problem)
	case ctx.Err() != nil: // do not print an error that only means that ctx has ended
		r.failing[problem] = err
	default:
		if r.failing[problem] == nil && !r.opts.Quiet {
			r.opts.Notice(fmt.Sprintf("the documents of run %s are not up to date: %v; the run continues, and gaffer tries again", r.opts.Run, err))
		}
		r.failing[problem] = err
	}
}

// writeSession writes the session's document. It reads new events while it holds the document's
// lock, so that it does not replace a newer document that another process has just written.
func (r *Recorder) writeSession(ctx context.Context) error {
	began := time.Now()
	defer func() { r.lastWrite, r.lastWriteTook = time.Now(), time.Since(began) }()
	contents := func() (session.Contents, error) {
		if err := r.catchUp(ctx); err != nil {
			return session.Contents{}, err
		}
		return r.state.contents(), nil
	}
	r.recording.DetectCancel = r.opts.Cancel != nil
	err := r.recording.Write(ctx, contents)
	if asked := (*session.CancelledError)(nil); errors.As(err, &asked) {
		// The document contains a request to cancel the run or some tasks. Cancel them before the
		// document is overwritten, so that a crash in between does not lose the request.
		if err := r.cancel(ctx, asked); err != nil {
			return err
		}
		r.recording.DetectCancel = false
		err = r.recording.Write(ctx, contents)
	}
	if err == nil {
		r.state.written()
	}
	return err
}

// cancel cancels the tasks that another program has set to cancelled in the document. If that
// program has set the whole session to cancelled, cancel cancels the run.
func (r *Recorder) cancel(ctx context.Context, asked *session.CancelledError) error {
	tasks := asked.Agents
	if asked.All {
		tasks = []string{""}
	}
	for _, task := range tasks {
		if err := r.opts.Cancel(ctx, task, "another program set it to cancelled in the session's document"); err != nil {
			return err
		}
	}
	r.opts.Notice(asked.Error() + "; it is cancelled")
	return nil
}

// keepCursor stores the cursor: the sequence number of the last event whose ledger records are
// written.
func (r *Recorder) keepCursor(ctx context.Context) error {
	to := r.seq
	if len(r.pending) > 0 {
		to = r.pending[0].seq - 1
	}
	if to <= r.recorded {
		return nil
	}
	err := r.opts.Store.Write(ctx, func(tx *store.Tx) error {
		tx.PutCursor(store.Cursor{Name: r.cursor, Seq: to})
		return nil
	})
	if err == nil {
		r.recorded = to
	}
	return err
}

// writeRecords writes the pending ledger records in order, while the function goOn returns true. It
// skips records that can never be written. If a folder or special file has the name of a record,
// writeRecords skips the record, too, and finally returns an error about it. When the user has
// removed the folder or special file, restoreDeleted writes the record. At any other error,
// writeRecords stops.
func (r *Recorder) writeRecords(ctx context.Context, goOn func() bool) error {
	var passed error
	for n := 0; len(r.pending) > 0 && goOn(); n++ {
		if n%lookahead == 0 {
			r.writeTogether(ctx)
		}
		r.pending[0] = r.withEnd(r.pending[0])
		switch err := r.record(ctx, r.pending[0]); {
		case err == nil:
		case isOtherFileType(err):
			passed = cmp.Or(passed, err)
		case isPermanent(err):
			r.refuse(err)
		default:
			return err
		}
		r.pending[0] = entry{}
		r.pending = r.pending[1:]
	}
	return passed
}

// lookahead is how many pending records are searched for the end of an attempt whose start is to be
// written.
const lookahead = 64

// withEnd looks among the pending records for the end of the attempt whose start is the entry e. If
// it finds the end, it adds the end to e, so that both are written together. The pending end is
// then skipped later.
func (r *Recorder) withEnd(e entry) entry {
	if e.result != nil || e.written {
		return e
	}
	for _, later := range r.pending[1:min(len(r.pending), lookahead)] {
		if later.result != nil && later.task == e.task && later.number == e.number {
			e.end = later.result
			break
		}
	}
	return e
}

// isPermanent reports whether a record can never be written, because another record has its file
// name, or because its content or its change of status is invalid.
func isPermanent(err error) bool {
	var (
		other  *ledger.ImmutableError
		moved  *ledger.TransitionError
		record *ledger.RecordError
	)
	if errors.As(err, &other) {
		// If other.Attempt is 0, another program has changed the record in the meantime. Then a new
		// try may succeed.
		return other.Attempt > 0
	}
	return errors.As(err, &moved) || errors.As(err, &record)
}

// isOtherFileType reports whether a record could not be written because there is a folder or
// special file with its name.
func isOtherFileType(err error) bool {
	form := (*statefile.FormError)(nil)
	return errors.As(err, &form) && strings.HasSuffix(form.Path, ".json") // the files of records end with .json; other paths are folders of records
}

// refuse counts a record that can never be written. It stores and prints only the first few errors,
// because there may be thousands.
func (r *Recorder) refuse(err error) {
	const most = 5
	if r.refusedCount++; len(r.refused) < most {
		r.refused = append(r.refused, err)
		r.opts.Notice(fmt.Sprintf("a record of run %s is not written: %v", r.opts.Run, err))
	}
}

// record writes one entry, the start or the end of an attempt, to the ledger. If the entry's file
// exists but is damaged, record renames the damaged file first.
func (r *Recorder) record(ctx context.Context, e entry) error {
	err := r.writeEntry(ctx, e)
	var corrupt *statefile.CorruptError
	for errors.As(err, &corrupt) {
		if err := r.renameDamaged(corrupt, e); err != nil {
			return err
		}
		err = r.writeEntry(ctx, e)
	}
	return err
}

func (r *Recorder) renameDamaged(corrupt *statefile.CorruptError, e entry) error {
	base := fmt.Sprintf("%s.corrupt-%d", corrupt.Path, e.seq)
	aside := base
	err := os.Link(corrupt.Path, aside)
	for n := 2; errors.Is(err, fs.ErrExist); n++ {
		aside = fmt.Sprintf("%s-%d", base, n)
		err = os.Link(corrupt.Path, aside)
	}
	if err != nil {
		return err
	}
	r.opts.Notice(fmt.Sprintf("%v; its bytes are kept as %s and it is written again", corrupt, aside))
	return os.Remove(corrupt.Path)
}

// writeEntry writes one entry: the start or the end of an attempt. Before an end it writes the
// start, if the start is missing.
func (r *Recorder) writeEntry(ctx context.Context, e entry) error {
	if e.written {
		return nil
	}
	if e.result == nil {
		return r.writeStart(ctx, e)
	}
	if r.writtenWithStart[attemptKey{e.task, e.number}] {
		delete(r.writtenWithStart, attemptKey{e.task, e.number})
		return nil
	}
	result := r.withBeadName(e, *e.result)
	_, err := r.opts.Ledger.Finish(ctx, result)
	var gone *ledger.NoRunError
	if !errors.As(err, &gone) {
		return err
	}
	if err := r.writeStart(ctx, e); err != nil {
		return err
	}
	_, err = r.opts.Ledger.Finish(ctx, result)
	return err
}

// withBeadName returns the result with the fields Bead and Attempt set. Bead is the task's name in
// the ledger. Attempt is the number of the attempt among all attempts under this name, also those
// of other runs.
func (r *Recorder) withBeadName(e entry, result ledger.Result) ledger.Result {
	as := r.state.bead(r.opts.Run, e.task)
	result.Bead, result.Attempt = as.name, as.earlier+e.number
	return result
}

func (r *Recorder) writeStart(ctx context.Context, e entry) error {
	runs, err := r.runRecords(ctx, []entry{e})
	if err != nil {
		return err
	}
	run := runs[0]
	if e.end == nil {
		return r.opts.Ledger.Begin(ctx, run)
	}
	if err := r.opts.Ledger.Record(ctx, run, r.withBeadName(e, *e.end)); err != nil {
		return err
	}
	r.writtenWithStart[attemptKey{e.task, e.number}] = true
	return nil
}

// attemptKey identifies an attempt of the run.
type attemptKey struct {
	task   string
	number int
}
