package openfleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"gaffer/fleet"
	"gaffer/internal/exit"
)

// Log implements [Fleet]. It reads one file: all attempts of a task write to the same file, one
// after the other.
func (m machine) Log(ctx context.Context, t fleet.Task, w io.Writer, q fleet.LogQuery) error {
	path, err := m.pathOf(ctx, t)
	if err != nil {
		return err
	}
	f, err := openRegular(path)
	if errors.Is(err, fs.ErrNotExist) {
		return exit.NotFound(fmt.Errorf("task %s of run %s has no log: its agent was never started, or the log was taken away", t.ID, t.Run))
	}
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // ignore the error: the file was only read
	l := logFile{
		file: f, to: w, query: q,
		attempts: func() ([]fleet.Attempt, error) { return m.Attempts(ctx, t.Run, t.ID) },
		over:     func() (bool, error) { return logComplete(ctx, m, t, q.Attempt) },
	}
	return l.copy(ctx)
}

// pathOf returns the path of a task's log. If t.Attempt.Log is relative, it starts from the root of
// the project of the task's run. That project may differ from the command's project.
func (m machine) pathOf(ctx context.Context, t fleet.Task) (string, error) {
	if t.Attempt == nil || t.Attempt.Log == "" {
		return "", exit.NotFound(fmt.Errorf("task %s of run %s has no log, it is %s", t.ID, t.Run, t.Status))
	}
	if filepath.IsAbs(t.Attempt.Log) {
		return t.Attempt.Log, nil
	}
	root, err := m.ProjectOf(ctx, t.Run)
	return filepath.Join(root, t.Attempt.Log), err
}

// logComplete reports whether nothing more will be written to the requested part of a task's log.
// If attempt is 0, that is the case when the task has ended. Otherwise it is the case when the
// attempt with this number has ended.
func logComplete(ctx context.Context, f Fleet, t fleet.Task, attempt int) (bool, error) {
	now, err := f.Task(ctx, t.Run, t.ID)
	if err != nil {
		return false, err
	}
	a := now.Attempt
	return now.Status.Final() || attempt > 0 && a != nil && (a.Number > attempt || a.Status.Final()), nil
}

// pollInterval is the interval between checks of a growing log.
const pollInterval = 200 * time.Millisecond

// logFile holds the state of copying a task's log file to a writer.
type logFile struct {
	file     *os.File
	to       io.Writer
	query    fleet.LogQuery
	attempts func() ([]fleet.Attempt, error)
	over     func() (bool, error)

	begun int   // number of the attempt being copied; 0 before the first one
	at    int64 // offset in file of the next byte to copy
}

// copy copies the log to the writer. If the query's Follow is set, it also copies what is appended,
// until the log is complete. In each round it first checks whether the log is complete and then
// copies the new output, so that nothing is lost at the end.
func (l *logFile) copy(ctx context.Context) error {
	for first := true; ; first = false {
		last, err := !l.query.Follow, error(nil)
		if !last {
			if last, err = l.over(); err != nil {
				return err
			}
		}
		parts, err := l.parts(last)
		if err != nil {
			return err
		}
		if first {
			if l.at, err = l.from(parts); err != nil {
				return err
			}
		}
		for _, p := range parts {
			if err := l.part(p); err != nil {
				return err
			}
		}
		if last {
			return nil
		}
		if c, ok := l.to.(interface{ CaughtUp() error }); ok && first {
			if err := c.CaughtUp(); err != nil {
				return err
			}
		}
		select {
		case <-time.After(pollInterval):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// attemptPart is the section of the file that one attempt wrote.
type attemptPart struct {
	attempt  int
	from, to int64
}

// parts returns the sections of the log that belong to the requested attempts. While an attempt is
// starting, the offset of its output in the log is unknown. If copying has begun, parts then
// returns nil, so that the caller copies nothing in this round. In the caller's last round, final
// is true, and parts returns the known sections even then.
func (l *logFile) parts(final bool) ([]attemptPart, error) {
	attempts, err := l.attempts()
	if err != nil {
		return nil, err
	}
	info, err := l.file.Stat()
	if err != nil {
		return nil, err
	}
	begins := func(a fleet.Attempt) bool { return a.Log == "" && !a.Status.Final() }
	if !final && l.begun > 0 && slices.ContainsFunc(attempts, begins) {
		return nil, nil
	}
	parts := partsOf(attempts, info.Size())
	if l.query.Attempt == 0 {
		return parts, nil
	}
	parts = slices.DeleteFunc(parts, func(p attemptPart) bool { return p.attempt != l.query.Attempt })
	if len(parts) == 0 {
		return nil, exit.NotFound(fmt.Errorf("attempt %d has no log: there were %d attempts", l.query.Attempt, len(attempts)))
	}
	return parts, nil
}

// partsOf divides a log into the sections of the attempts. size is the log's size in bytes. partsOf
// leaves out attempts without a log path, because they have not started.
func partsOf(attempts []fleet.Attempt, size int64) (parts []attemptPart) {
	attempts = slices.DeleteFunc(slices.Clone(attempts), func(a fleet.Attempt) bool { return a.Log == "" })
	slices.SortFunc(attempts, func(a, b fleet.Attempt) int { return cmp.Compare(a.Number, b.Number) })
	for i, a := range attempts {
		p := attemptPart{attempt: a.Number, to: size}
		if i > 0 {
			p.from = min(max(a.LogFrom, parts[i-1].from), size)
			parts[i-1].to = p.from
		}
		parts = append(parts, p)
	}
	return parts
}

// from returns the offset in the file at which copying starts. If the query's Tail is not negative,
// copying starts that number of lines before the end of the last part.
func (l *logFile) from(parts []attemptPart) (int64, error) {
	if len(parts) == 0 {
		return 0, nil
	}
	begin, end := parts[0].from, parts[len(parts)-1].to
	section := io.NewSectionReader(l.file, begin, end-begin)
	if err := seekLastLines(section, l.query.Tail); err != nil {
		return 0, err
	}
	at, err := section.Seek(0, io.SeekCurrent)
	return begin + at, err
}

// part copies the output of the attempt p that was not copied yet. It does nothing if there is
// none, or if copying has already reached a later attempt.
func (l *logFile) part(p attemptPart) error {
	if p.attempt < l.begun || p.to <= l.at {
		return nil
	}
	if p.attempt > l.begun {
		l.begun = p.attempt
		if b, ok := l.to.(interface{ Begin(attempt int) error }); ok {
			if err := b.Begin(p.attempt); err != nil {
				return err
			}
		}
	}
	n, err := io.Copy(l.to, io.NewSectionReader(l.file, l.at, p.to-l.at))
	l.at += n
	return err
}
