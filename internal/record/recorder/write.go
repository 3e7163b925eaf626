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

// write writes what is not written yet: the session's document, and records for
// as long as events may be kept waiting. With all it writes every record, and
// looks whether the document is still as it was written.
func (r *Recorder) write(ctx context.Context, all bool) {
	moved := r.picture.moved || len(r.pending) > 0
	if all || r.picture.moved && r.due() || r.told[theSession] != nil || r.recording.Disturbed() {
		r.tell(ctx, theSession, r.writeSession(ctx)) // first, for it takes in what came meanwhile
	}
	limit := time.Now().Add(r.opts.Pace)
	r.tell(ctx, theRecords, r.writeRecords(ctx, func() bool { return all || time.Now().Before(limit) }))
	if all || moved {
		r.tell(ctx, theCursor, r.keepCursor(ctx))
	}
}

// What a person is told of, each by itself.
const (
	theSession = "session"
	theRecords = "records"
	theCursor  = "cursor"
	theEvents  = "events"
)

// tell reports a problem once, until it is over.
func (r *Recorder) tell(ctx context.Context, what string, err error) {
	switch {
	case err == nil:
		delete(r.told, what)
	case ctx.Err() != nil: // it is ours that there was no time
		r.told[what] = err
	default:
		if r.told[what] == nil && !r.opts.Quiet {
			r.opts.Notice(fmt.Sprintf("the documents of run %s are behind: %v; the run goes on, and they are tried again", r.opts.Run, err))
		}
		r.told[what] = err
	}
}

// writeSession makes the session's document say what the picture shows. The
// events are read again while the document is locked: another program may be
// recording the same run.
func (r *Recorder) writeSession(ctx context.Context) error {
	began := time.Now()
	defer func() { r.wrote, r.took = time.Now(), time.Since(began) }()
	truth := func() (session.Truth, error) {
		if err := r.catchUp(ctx); err != nil {
			return session.Truth{}, err
		}
		return r.picture.truth(), nil
	}
	r.recording.Heed = r.opts.Cancel != nil
	err := r.recording.Write(ctx, truth)
	if asked := (*session.CancelledError)(nil); errors.As(err, &asked) {
		// The request is passed on before the document is written over: a crash in
		// between does not lose it.
		if err := r.cancel(ctx, asked); err != nil {
			return err
		}
		r.recording.Heed = false
		err = r.recording.Write(ctx, truth)
	}
	if err == nil {
		r.picture.written()
	}
	return err
}

// cancel cancels what another program has set to cancelled in the document.
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

// keepCursor remembers how far the records have come.
func (r *Recorder) keepCursor(ctx context.Context) error {
	to := r.seq
	if len(r.pending) > 0 {
		to = r.pending[0].seq - 1
	}
	if to <= r.recorded {
		return nil
	}
	err := r.opts.Store.Write(ctx, store.Need{}, func(tx *store.Tx) error {
		tx.PutCursor(store.Cursor{Name: r.name, Seq: to})
		return nil
	})
	if err == nil {
		r.recorded = to
	}
	return err
}

// writeRecords writes the records that are due, in their order, while there is
// time and up to the first that cannot be written now. One that never can be is
// passed over, and so is one in whose place there is no file: restore writes it
// when that is gone.
func (r *Recorder) writeRecords(ctx context.Context, goOn func() bool) error {
	var passed error
	for n := 0; len(r.pending) > 0 && goOn(); n++ {
		if n%nearby == 0 {
			r.writeTogether(ctx)
		}
		r.pending[0] = r.joined(r.pending[0])
		switch err := r.record(ctx, r.pending[0]); {
		case err == nil:
		case noFile(err):
			passed = cmp.Or(passed, err)
		case final(err):
			r.refuse(err)
		default:
			return err
		}
		r.pending[0] = entry{}
		r.pending = r.pending[1:]
	}
	return passed
}

// nearby is how far the end of an attempt is looked for: about as many are
// under way at once.
const nearby = 64

// joined is the beginning of an attempt with its end, if that is to be written
// as well: both are written at once, and the end is passed over when its turn
// comes.
func (r *Recorder) joined(e entry) entry {
	if e.result != nil || e.written {
		return e
	}
	for _, later := range r.pending[1:min(len(r.pending), nearby)] {
		if later.result != nil && later.task == e.task && later.number == e.number {
			e.whole = later.result
			break
		}
	}
	return e
}

// final reports whether trying again would not help: something else is in the
// record's place.
func final(err error) bool {
	var (
		other  *ledger.ImmutableError
		moved  *ledger.TransitionError
		record *ledger.RecordError
	)
	if errors.As(err, &other) {
		return other.Attempt > 0 // otherwise another process was quicker
	}
	return errors.As(err, &moved) || errors.As(err, &record)
}

// noFile reports whether a folder, or anything else that is no file, is in the
// record's place.
func noFile(err error) bool {
	form := (*statefile.FormError)(nil)
	return errors.As(err, &form) && strings.HasSuffix(form.Path, ".json") // otherwise it is the folder of the records
}

// refuse passes over a record. Only the first few are told of: where one cannot
// be written, thousands may not.
func (r *Recorder) refuse(err error) {
	const most = 5
	if r.refusals++; len(r.refused) < most {
		r.refused = append(r.refused, err)
		r.opts.Notice(fmt.Sprintf("a record of run %s is not written: %v", r.opts.Run, err))
	}
}

// record writes one entry. A damaged record in its place is kept aside first.
func (r *Recorder) record(ctx context.Context, e entry) error {
	err := r.put(ctx, e)
	var corrupt *statefile.CorruptError
	for errors.As(err, &corrupt) {
		if err := r.keepAside(corrupt, e); err != nil {
			return err
		}
		err = r.put(ctx, e)
	}
	return err
}

func (r *Recorder) keepAside(corrupt *statefile.CorruptError, e entry) error {
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
	r.opts.Notice(fmt.Sprintf("%v; its bytes are kept as %s and it is written anew", corrupt, aside))
	return os.Remove(corrupt.Path)
}

// put writes one entry: its beginning, or its end, which needs a beginning.
func (r *Recorder) put(ctx context.Context, e entry) error {
	if e.written {
		return nil
	}
	if e.result == nil {
		return r.begin(ctx, e)
	}
	if r.whole[attemptOf{e.task, e.number}] {
		delete(r.whole, attemptOf{e.task, e.number})
		return nil
	}
	result := r.named(e, *e.result)
	_, err := r.opts.Ledger.Finish(ctx, result)
	var gone *ledger.NoRunError
	if !errors.As(err, &gone) {
		return err
	}
	if err := r.begin(ctx, e); err != nil {
		return err
	}
	_, err = r.opts.Ledger.Finish(ctx, result)
	return err
}

// named is a result under the names that the ledger has.
func (r *Recorder) named(e entry, result ledger.Result) ledger.Result {
	as := r.picture.bead(r.opts.Run, e.task)
	result.Bead, result.Attempt = as.name, as.earlier+e.number
	return result
}

func (r *Recorder) begin(ctx context.Context, e entry) error {
	runs, err := r.runs(ctx, []entry{e})
	if err != nil {
		return err
	}
	run := runs[0]
	if e.whole == nil {
		return r.opts.Ledger.Begin(ctx, run)
	}
	if err := r.opts.Ledger.Record(ctx, run, r.named(e, *e.whole)); err != nil {
		return err
	}
	r.whole[attemptOf{e.task, e.number}] = true
	return nil
}

// attemptOf names an attempt.
type attemptOf struct {
	task   string
	number int
}
