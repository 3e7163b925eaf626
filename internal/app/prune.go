package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"gaffer/internal/api/protocol"
	"gaffer/internal/app/localrun"
	"gaffer/internal/engine/store"
	"gaffer/internal/engine/store/sqlite"
	"gaffer/internal/pause"
	"gaffer/internal/record/pending"
	"gaffer/internal/record/prune"
	"gaffer/statefile"
)

// Retention says how long ended runs are kept.
type Retention struct {
	Older time.Duration // delete what ended longer ago than this
	Keep  int           // but keep this many of the latest runs of each project
}

// Pruned counts what can be deleted, or was deleted.
type Pruned struct {
	Before    time.Time `json:"before"`
	Runs      int       `json:"runs"`
	Oldest    time.Time `json:"oldest,omitzero"` // when the oldest and the newest of these runs ended
	Newest    time.Time `json:"newest,omitzero"`
	Tasks     int       `json:"tasks"`
	Attempts  int       `json:"attempts"`
	Questions int       `json:"questions"`
	Inputs    int       `json:"inputs"`
	Notes     int       `json:"notes"`
	Promises  int       `json:"promises"`
	Workers   int       `json:"workers"`
	Events    int       `json:"events"`
	Folders   int       `json:"folders"` // on this machine
	IDs       []string  `json:"run_ids"`
	Kept      int       `json:"kept"` // old runs that are among the latest of their project
	Spared    []Spared  `json:"spared"`
	Taken     bool      `json:"taken"` // it was deleted; otherwise it was only counted
	// For a database in a file, after the deletion: the size of the file, and how much
	// of it is free for reuse.
	File      string `json:"file,omitempty"`
	FileBytes int64  `json:"file_bytes,omitempty"`
	FreeBytes int64  `json:"free_bytes,omitempty"`
}

// Spared is an old run that is kept.
type Spared struct {
	Run string `json:"run"`
	Why string `json:"why"`
}

// Nothing reports whether there is nothing to delete.
func (p Pruned) Nothing() bool {
	return p.Runs+p.Tasks+p.Attempts+p.Questions+p.Inputs+p.Notes+p.Promises+p.Workers+p.Events+p.Folders == 0
}

// Pruning is a list of old data to delete.
type Pruning struct {
	Pruned
	app   *App
	found prune.Found
}

// Prunable finds data of runs that ended long ago, in this database and on this
// machine. It changes nothing.
func (a *App) Prunable(ctx context.Context, r Retention) (*Pruning, error) {
	now := a.opts.Now()
	s := &sparing{app: a, resumable: map[string]string{}}
	found, err := prune.Look(ctx, a.store, prune.Retention{Before: now.Add(-r.Older), Now: now, Keep: r.Keep, Spare: s.why, Protocol: protocol.Rows{}})
	if err != nil {
		return nil, fmt.Errorf("look for what is old: %w", err)
	}
	p := &Pruning{app: a, found: found, Pruned: counted(found.Counts)}
	p.Before, p.Kept, p.IDs, p.Spared = found.Before, found.Kept, []string{}, []Spared{}
	for _, run := range found.Ended {
		p.IDs = append(p.IDs, run.ID)
		p.Folders += len(a.leftovers(run.ID))
		if p.Oldest.IsZero() || run.Ended.Before(p.Oldest) {
			p.Oldest = run.Ended
		}
		if run.Ended.After(p.Newest) {
			p.Newest = run.Ended
		}
	}
	for _, s := range found.Spared {
		p.Spared = append(p.Spared, Spared(s))
	}
	return p, nil
}

func counted(c prune.Counts) Pruned {
	return Pruned{
		Runs: c.Runs, Tasks: c.Tasks, Attempts: c.Attempts, Questions: c.Questions, Inputs: c.Inputs, Notes: c.Notes,
		Promises: c.Promises, Workers: c.Workers, Events: c.Events,
	}
}

// Take deletes the data that was found, as far as it still qualifies.
func (p *Pruning) Take(ctx context.Context) (Pruned, error) {
	a, gone := p.app, []string{}
	folders := 0
	counts, err := prune.Delete(ctx, a.store, p.found, prune.DeleteOptions{
		Now: a.opts.Now, Who: a.opts.who(), Tell: a.opts.Notice,
		Hold: func(run string) (func(), error) {
			if err := statefile.CheckName("run", run); err != nil {
				return nil, err // another program stored this id; it must not become part of a path
			}
			return a.locks.Lock(ctx, run)
		},
		Gone: func(run string) {
			gone = append(gone, run)
			folders += a.clear(run)
		},
	})
	done := counted(counts)
	done.Before, done.Oldest, done.Newest, done.Kept, done.Spared = p.Before, p.Oldest, p.Newest, p.Kept, p.Spared
	done.Folders, done.IDs, done.Taken = folders, gone, true
	if err == nil {
		err = a.weigh(ctx, &done)
	}
	return done, err
}

// leftovers returns the folders of a run on this machine, apart from its documents.
func (a *App) leftovers(run string) (there []string) {
	if statefile.CheckName("run", run) != nil {
		return nil
	}
	for _, path := range []string{localrun.Attempts(a.state, run), filepath.Join(a.state, "merges", run)} {
		if _, err := os.Lstat(path); err == nil {
			there = append(there, path)
		}
	}
	return there
}

// clear deletes the leftovers of a run on this machine. The caller holds the run's
// lock.
func (a *App) clear(run string) (folders int) {
	for _, path := range a.leftovers(run) {
		if err := os.RemoveAll(path); err != nil {
			a.opts.Notice(fmt.Sprintf("what is left of run %s: %v", run, err))
			continue
		}
		folders++
	}
	// The log of a background gaffer, and the lock that we hold.
	for _, file := range []string{filepath.Join(a.state, "runs", run+".log"), a.locks.File(run)} {
		if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			a.opts.Notice(fmt.Sprintf("what is left of run %s: %v", run, err))
		}
	}
	return folders
}

// weigh sets the size of the database file.
func (a *App) weigh(ctx context.Context, p *Pruned) (err error) {
	if file, ok := a.store.(*sqlite.Store); ok {
		p.File = a.database
		p.FileBytes, p.FreeBytes, err = file.Size(ctx)
	}
	return err
}

const (
	// retainAfter is the delay of the first check, so that it does not slow down the
	// start.
	retainAfter = time.Minute
	// retainEvery is the interval between checks for old data.
	retainEvery = time.Hour
)

// Retain deletes old data periodically until stop is called. stop waits for a deletion
// in progress. Errors are reported and retried.
func (a *App) Retain(r Retention) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for wait := retainAfter; ; wait = retainEvery {
			if pause.For(ctx, wait); ctx.Err() != nil {
				return
			}
			if err := a.retain(ctx, r); err != nil && ctx.Err() == nil {
				a.opts.Notice(fmt.Sprintf("retention: %v; trying again in an hour", err))
			}
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

func (a *App) retain(ctx context.Context, r Retention) error {
	p, err := a.Prunable(ctx, r)
	if err != nil || p.Nothing() {
		return err
	}
	_, err = p.Take(ctx)
	return err
}

// sparing decides which old runs are kept.
type sparing struct {
	app       *App
	alive     map[string]int    // pid of a live process, by run; nil before look
	resumable map[string]string // id of the latest run, by kind and project
}

// why returns the reason to keep a run, or "". Earlier runs of a bead need not be kept:
// its attempts are numbered from its records.
func (s *sparing) why(r store.Reader, run store.Run) (string, error) {
	if o := s.app.locks.Owner(run.ID); o.Alive {
		return fmt.Sprintf("gaffer with pid %d works on it", o.PID), nil
	}
	switch _, err := r.Item(pending.Key(run.ID)); {
	case err == nil:
		return "its documents are not written: 'gaffer doctor'", nil
	case !errors.Is(err, store.ErrNotFound):
		return "", err
	}
	if err := s.look(r); err != nil {
		return "", err
	}
	if pid := s.alive[run.ID]; pid > 0 {
		return fmt.Sprintf("process %d of it is alive: 'gaffer doctor --repair'", pid), nil
	}
	if run.Status == store.Complete {
		return "", nil
	}
	kind, err := resumableAs(run)
	if err != nil || kind == "" {
		return "", err
	}
	latest, err := s.latest(r, run, kind)
	if err != nil || latest != run.ID {
		return "", err
	}
	return fmt.Sprintf("it is the latest %s of its project, and can be resumed", kind), nil
}
