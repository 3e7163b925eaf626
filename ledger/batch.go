package ledger

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"path/filepath"

	"gaffer/statefile"
	"gaffer/statefile/host"
)

// Names of the file operations that write the records of several attempts in a batch. Errors
// contain the name of the operation that failed.
const (
	opMakeNew    host.Op = "create new records"
	opWriteNew   host.Op = "write new records"
	opSyncNew    host.Op = "sync new records"
	opShowNew    host.Op = "show new records"
	opDropNew    host.Op = "drop new records"
	opSyncFolder host.Op = "sync folder of new records"
)

// FinishedAttempt holds the run record and the result record of an attempt that has ended. The
// status in Run must be Running: RecordNew adds the outcome to the run record.
type FinishedAttempt struct {
	Run    Run
	Result Result
}

// RecordNew writes the records of finished attempts in a batch: it locks and syncs the folders only
// once for the whole list. It skips attempts that it cannot write in this way, for example because
// the task already has a run record. recorded[i] reports whether list[i] was written. After an
// error, all are false, even if some records were written. The caller should call [Store.Record]
// for each attempt that was not written: Record writes it, or returns the reason why it cannot. For
// each attempt, the result record is synced to disk before the run record is written.
func (s *Store) RecordNew(ctx context.Context, list []FinishedAttempt) (recorded []bool, err error) {
	recorded = make([]bool, len(list))
	unlock, err := s.lockAll(ctx)
	if err != nil {
		return recorded, fmt.Errorf("record: %w", err)
	}
	defer unlock()
	var files [2][]newFile // files[0] has the result records, and files[1] has the run records
	for i, w := range list {
		run, result, ok := s.encodeNew(w)
		if ok {
			files[0] = append(files[0], newFile{attempt: i, path: s.path(ResultKind, w.Result.Bead), data: result})
			files[1] = append(files[1], newFile{attempt: i, path: s.path(RunKind, w.Run.Bead), data: run})
		}
	}
	shown := map[int]bool{}
	for n, kind := range []Kind{ResultKind, RunKind} {
		if n > 0 {
			files[n] = only(files[n], shown)
		}
		if shown, err = s.publish(s.Dir(kind), files[n]); err != nil {
			return recorded, fmt.Errorf("record: %w", err)
		}
	}
	for i, written := range shown {
		recorded[i] = written
	}
	return recorded, nil
}

// lockAll creates the folders for run records and result records, and locks both folders against
// other writers.
func (s *Store) lockAll(ctx context.Context) (unlock func(), err error) {
	var held []func()
	unlock = func() {
		for _, let := range held {
			let()
		}
	}
	for _, kind := range Kinds() {
		if err = statefile.MkdirIgnored(s.host, s.Dir(kind)); err != nil {
			break
		}
		var one func()
		if one, err = s.lock(ctx, s.Dir(kind)); err != nil {
			break
		}
		held = append(held, one)
	}
	if err != nil {
		unlock()
		return nil, err
	}
	return unlock, nil
}

// encodeNew returns the records of an attempt as [Store.Begin] and [Store.Finish] would write them.
// ok is false if the attempt is invalid or the task already has a run record. It is also false if
// the run record has a template name, because its JSON fields would be in another order than after
// Begin and Finish.
func (s *Store) encodeNew(w FinishedAttempt) (run, result []byte, ok bool) {
	if CheckBead(w.Run.Bead) != nil || w.Result.Bead != w.Run.Bead || w.Run.Status != Running || w.Run.TemplateName != nil {
		return nil, nil, false
	}
	to := s.path(RunKind, w.Run.Bead)
	if _, err := s.host.Lstat(opLook, to); !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, false
	}
	if w.Run.ResultFile == "" {
		w.Run.ResultFile = s.resultFile(w.Run.Bead)
	}
	r := fillResult(w.Result, w.Run, nil, s.opts.Now())
	if checkTransition(to, Running, r.Status) != nil {
		return nil, nil, false
	}
	run, err1 := encodeValid(RunKind, to, completed(w.Run, r))
	result, err2 := encodeValid(ResultKind, s.path(ResultKind, r.Bead), r)
	return run, result, err1 == nil && err2 == nil
}

// completed returns the run record run with the outcome in r added. It works on a Go value; the
// function complete does the same in the JSON tree of a run record.
func completed(run Run, r Result) Run {
	run.FinishedAt, run.DurationSeconds, run.Status, run.ExitCode = &r.FinishedAt, r.DurationSeconds, r.Status, r.ExitCode
	run.OutputSummary, run.Verification = r.OutputSummary, r.Verification
	if r.Status != Done {
		run.FailureReason = &r.Reason
	}
	return run
}

// newFile is a record that will be written to a new file.
type newFile struct {
	attempt    int // index of the record's attempt in the list that RecordNew was called with
	path, temp string
	data       []byte
	file       host.File
}

func only(files []newFile, of map[int]bool) (kept []newFile) {
	for _, f := range files {
		if of[f.attempt] {
			kept = append(kept, f)
		}
	}
	return kept
}

// publish writes the files to the folder dir. shown[i] reports whether the file of the attempt with
// the index i was written. A new file gets its final name only when its content is complete and
// synced to disk. A file that already exists stays unchanged.
func (s *Store) publish(dir string, files []newFile) (shown map[int]bool, err error) {
	defer func() {
		for _, f := range files {
			if f.temp != "" && !shown[f.attempt] {
				_ = s.host.Remove(opDropNew, f.temp) // ignore the error: a leftover temporary file does no harm
			}
		}
	}()
	if err := s.fillNew(files); err != nil {
		return nil, err
	}
	there := map[int]bool{}
	for _, f := range files {
		err := s.rename(f.temp, f.path)
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return there, &statefile.StepError{Step: opShowNew, Path: f.path, Err: err}
		}
		there[f.attempt] = err == nil
	}
	if len(files) == 0 {
		return there, nil
	}
	if err := s.host.SyncDir(opSyncFolder, dir); err != nil {
		return there, &statefile.StepError{Step: opSyncFolder, Path: dir, Replaced: true, Err: err}
	}
	return there, nil
}

// fillNew writes all files under temporary names and then syncs them all.
func (s *Store) fillNew(files []newFile) (err error) {
	for i := range files {
		if err == nil {
			err = s.fillOne(&files[i])
		}
	}
	for _, f := range files {
		if f.file == nil {
			continue
		}
		if err == nil {
			err = f.step(opSyncNew, f.file.Sync(opSyncNew))
		}
		if closeErr := f.file.Close(); err == nil {
			err = f.step(opSyncNew, closeErr)
		}
	}
	return err
}

func (s *Store) fillOne(f *newFile) (err error) {
	temp := filepath.Join(filepath.Dir(f.path), fmt.Sprintf(".%s.new-%d-%08x", filepath.Base(f.path), s.host.Self().PID, rand.Uint32()))
	if f.file, err = s.host.Create(opMakeNew, temp, 0o666); err != nil {
		f.file = nil
		return f.step(opMakeNew, err)
	}
	f.temp = temp
	return f.step(opWriteNew, f.file.Write(opWriteNew, f.data))
}

func (f newFile) step(op host.Op, err error) error {
	if err == nil {
		return nil
	}
	return &statefile.StepError{Step: op, Path: f.path, Err: err}
}

// rename renames temp to path. If path exists, it returns an error that wraps fs.ErrExist.
func (s *Store) rename(temp, path string) error {
	err := s.host.RenameNew(opShowNew, temp, path)
	if !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	if err := s.host.Link(opShowNew, temp, path); err != nil {
		return err
	}
	return s.host.Remove(opShowNew, temp)
}
