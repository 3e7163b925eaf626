package connect

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

// Log implements [Fleet]. All attempts of a task write to one file, one after the
// other.
func (m machine) Log(ctx context.Context, t fleet.Task, to io.Writer, q fleet.LogQuery) error {
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
	defer func() { _ = f.Close() }() // nothing was written
	l := logFile{
		file: f, to: to, query: q,
		attempts: func() ([]fleet.Attempt, error) { return m.Attempts(ctx, t.Run, t.ID) },
		over:     func() (bool, error) { return ended(ctx, m, t, q.Attempt) },
	}
	return l.copy(ctx)
}

// pathOf is where the log of a task is. What is relative is below the project of
// its run, which may be another than the command's.
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

// ended reports whether nothing more will be written: the task has ended, or the
// attempt of that number if it is not 0.
func ended(ctx context.Context, f Fleet, t fleet.Task, attempt int) (bool, error) {
	now, err := f.Task(ctx, t.Run, t.ID)
	if err != nil {
		return false, err
	}
	a := now.Attempt
	return now.Status.Final() || attempt > 0 && a != nil && (a.Number > attempt || a.Status.Final()), nil
}

// pause is how long to wait before looking again at something that grows.
const pause = 200 * time.Millisecond

// logFile copies a log.
type logFile struct {
	file     *os.File
	to       io.Writer
	query    fleet.LogQuery
	attempts func() ([]fleet.Attempt, error)
	over     func() (bool, error)

	begun int   // the number of the attempt that is being copied
	at    int64 // where in the file
}

// copy copies what is there, and what is added until nothing more will be. That is
// asked before the last copy, so that nothing written before the end is missed.
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
		case <-time.After(pause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// part is what one attempt has written.
type part struct {
	attempt  int
	from, to int64
}

// parts are what the attempts have written that are wanted. While an attempt begins
// of which is not known yet where that is, there are none, unless this is the last
// look.
func (l *logFile) parts(last bool) ([]part, error) {
	attempts, err := l.attempts()
	if err != nil {
		return nil, err
	}
	info, err := l.file.Stat()
	if err != nil {
		return nil, err
	}
	begins := func(a fleet.Attempt) bool { return a.Log == "" && !a.Status.Final() }
	if !last && l.begun > 0 && slices.ContainsFunc(attempts, begins) {
		return nil, nil
	}
	parts := partsOf(attempts, info.Size())
	if l.query.Attempt == 0 {
		return parts, nil
	}
	parts = slices.DeleteFunc(parts, func(p part) bool { return p.attempt != l.query.Attempt })
	if len(parts) == 0 {
		return nil, exit.NotFound(fmt.Errorf("attempt %d has no log: there were %d attempts", l.query.Attempt, len(attempts)))
	}
	return parts, nil
}

// partsOf are the parts of a log of that size. An attempt without a log has not
// begun.
func partsOf(attempts []fleet.Attempt, size int64) (parts []part) {
	attempts = slices.DeleteFunc(slices.Clone(attempts), func(a fleet.Attempt) bool { return a.Log == "" })
	slices.SortFunc(attempts, func(a, b fleet.Attempt) int { return cmp.Compare(a.Number, b.Number) })
	for i, a := range attempts {
		p := part{attempt: a.Number, to: size}
		if i > 0 {
			p.from = min(max(a.LogFrom, parts[i-1].from), size)
			parts[i-1].to = p.from
		}
		parts = append(parts, p)
	}
	return parts
}

// from is where the first of the wanted lines begins.
func (l *logFile) from(parts []part) (int64, error) {
	if len(parts) == 0 {
		return 0, nil
	}
	begin, end := parts[0].from, parts[len(parts)-1].to
	section := io.NewSectionReader(l.file, begin, end-begin)
	if err := seek(section, l.query.Tail); err != nil {
		return 0, err
	}
	at, err := section.Seek(0, io.SeekCurrent)
	return begin + at, err
}

// part copies what is new of an attempt. One of which nothing is wanted is passed
// over.
func (l *logFile) part(p part) error {
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
