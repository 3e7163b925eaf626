// Package retention deletes the data of runs that ended long ago: rows in the database, and files
// on this machine.
package retention

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"gaffer/internal/app/localrun"
	"gaffer/internal/attempt/runlock"
	"gaffer/internal/engine/store"
	"gaffer/internal/pause"
	"gaffer/internal/record/prune"
	"gaffer/statefile"
)

// Options are the settings and dependencies of a Pruner.
type Options struct {
	Store    store.Store
	Locks    runlock.Locks
	State    string // path of gaffer's state folder on this machine
	Database string // path of the database file, or URL of the database
	Author   string // name of the author in the events about deletions
	// Protocol finds the old rows that clients of the coordinator protocol have created.
	Protocol prune.ProtocolRows
	// ForgetChanges deletes git refs in a project's repository. These refs protect the changes of
	// the given runs from git's garbage collection. It is called after the runs were deleted.
	ForgetChanges func(ctx context.Context, project string, runs []string) error
	Now           func() time.Time
	Notice        func(text string) // prints a message for the user
}

// Pruner finds and deletes old data.
type Pruner struct{ opts Options }

// New returns a Pruner with these options.
func New(opts Options) *Pruner { return &Pruner{opts} }

// Policy says for how long data of ended runs is kept.
type Policy struct {
	OlderThan time.Duration // delete the data of runs that ended longer ago than this
	// KeepLatest is how many runs of each project are kept even if they ended longer ago than
	// OlderThan. The runs that ended last are kept. 0 means none.
	KeepLatest int
}

// Pruned counts the data that can be deleted, or that was deleted.
type Pruned struct {
	Before    time.Time `json:"before"`
	Runs      int       `json:"runs"`
	Oldest    time.Time `json:"oldest,omitzero"` // when the first of the counted runs ended
	Newest    time.Time `json:"newest,omitzero"` // when the last of the counted runs ended
	Tasks     int       `json:"tasks"`
	Attempts  int       `json:"attempts"`
	Questions int       `json:"questions"`
	Inputs    int       `json:"inputs"`
	Notes     int       `json:"notes"`
	Promises  int       `json:"promises"`
	Workers   int       `json:"workers"`
	Events    int       `json:"events"`
	Folders   int       `json:"folders"` // number of folders of the counted runs in gaffer's state folder
	IDs       []string  `json:"run_ids"`
	// Kept is the number of old runs that are kept because they are among the latest runs of their
	// project.
	Kept   int      `json:"kept"`
	Spared []Spared `json:"spared"`
	Taken  bool     `json:"taken"` // the data was deleted, not only counted
	// The path of the database's file, its size, and how many bytes of it are free for reuse. They
	// are set only after a deletion, and only if the database is a file.
	File      string `json:"file,omitempty"`
	FileBytes int64  `json:"file_bytes,omitempty"`
	FreeBytes int64  `json:"free_bytes,omitempty"`
}

// Spared is an old run that is not deleted, and why.
type Spared struct {
	Run string `json:"run"`
	Why string `json:"why"`
}

// Nothing reports whether no data can be deleted.
func (p Pruned) Nothing() bool {
	return p.Runs+p.Tasks+p.Attempts+p.Questions+p.Inputs+p.Notes+p.Promises+p.Workers+p.Events+p.Folders == 0
}

// Pruning is the old data that Find has found and Delete can delete.
type Pruning struct {
	Pruned
	pruner *Pruner
	found  prune.Found
}

// Find finds the data of runs that ended long ago, in the database and on this machine. It changes
// nothing.
func (p *Pruner) Find(ctx context.Context, policy Policy) (*Pruning, error) {
	now := p.opts.Now()
	k := &keeper{locks: p.opts.Locks, latest: map[string]string{}}
	found, err := prune.Find(ctx, p.opts.Store, prune.Retention{
		Before: now.Add(-policy.OlderThan), Now: now, KeepLatest: policy.KeepLatest, ReasonToKeep: k.reasonToKeep, Protocol: p.opts.Protocol,
	})
	if err != nil {
		return nil, fmt.Errorf("look for what is old: %w", err)
	}
	old := &Pruning{pruner: p, found: found, Pruned: toPruned(found.Counts)}
	old.Before, old.Kept, old.IDs, old.Spared = found.Before, found.Kept, []string{}, []Spared{}
	for _, run := range found.Ended {
		old.IDs = append(old.IDs, run.ID)
		old.Folders += len(p.leftovers(run.ID))
		if old.Oldest.IsZero() || run.Ended.Before(old.Oldest) {
			old.Oldest = run.Ended
		}
		if run.Ended.After(old.Newest) {
			old.Newest = run.Ended
		}
	}
	for _, s := range found.Spared {
		old.Spared = append(old.Spared, Spared(s))
	}
	return old, nil
}

func toPruned(c prune.Counts) Pruned {
	return Pruned{
		Runs: c.Runs, Tasks: c.Tasks, Attempts: c.Attempts, Questions: c.Questions, Inputs: c.Inputs, Notes: c.Notes,
		Promises: c.Promises, Workers: c.Workers, Events: c.Events,
	}
}

// Delete deletes the data that Find has found. It keeps data that was used after the call of Find,
// because such data is not old any more.
func (p *Pruning) Delete(ctx context.Context) (Pruned, error) {
	by, gone := p.pruner, []string{}
	folders := 0
	counts, err := prune.Delete(ctx, by.opts.Store, p.found, prune.DeleteOptions{
		Now: by.opts.Now, Author: by.opts.Author, Notice: by.opts.Notice,
		LockRun: func(run string) (func(), error) {
			if err := statefile.CheckName("run", run); err != nil {
				return nil, err // unsafe in a file path: another program has stored this id
			}
			return by.opts.Locks.Lock(ctx, run)
		},
		OnDeleted: func(run string) {
			gone = append(gone, run)
			folders += by.deleteLeftovers(run)
		},
	})
	byProject := map[string][]string{}
	for _, run := range p.found.Ended {
		if run.OnlyWorker == run.ID && slices.Contains(gone, run.ID) { // a local run: run.Project is the path of its project
			byProject[run.Project] = append(byProject[run.Project], run.ID)
		}
	}
	for project, runs := range byProject {
		if err := by.opts.ForgetChanges(ctx, project, runs); err != nil {
			by.opts.Notice(fmt.Sprintf("what the repository %s has kept of deleted runs: %v", project, err))
		}
	}
	done := toPruned(counts)
	done.Before, done.Oldest, done.Newest, done.Kept, done.Spared = p.Before, p.Oldest, p.Newest, p.Kept, p.Spared
	done.Folders, done.IDs, done.Taken = folders, gone, true
	if file, ok := by.opts.Store.(interface {
		Size(ctx context.Context) (bytes, free int64, err error)
	}); ok && err == nil {
		done.File = by.opts.Database
		done.FileBytes, done.FreeBytes, err = file.Size(ctx)
	}
	return done, err
}

// leftovers returns the paths of those folders in the state folder that belong to a run. The run's
// documents, which are in the project, are not among them.
func (p *Pruner) leftovers(run string) (there []string) {
	if statefile.CheckName("run", run) != nil {
		return nil
	}
	for _, path := range []string{localrun.AttemptsFolder(p.opts.State, run), filepath.Join(p.opts.State, "merges", run)} {
		if _, err := os.Lstat(path); err == nil {
			there = append(there, path)
		}
	}
	return there
}

// deleteLeftovers deletes the folders that [Pruner.leftovers] returns, and the run's log and lock
// files. It returns the number of deleted folders. The caller must hold the run's lock.
func (p *Pruner) deleteLeftovers(run string) (folders int) {
	for _, path := range p.leftovers(run) {
		if err := os.RemoveAll(path); err != nil {
			p.opts.Notice(fmt.Sprintf("what is left of run %s: %v", run, err))
			continue
		}
		folders++
	}
	// Delete the log file of the run's background process, and the run's lock file. This process
	// holds the lock.
	for _, file := range []string{filepath.Join(p.opts.State, "runs", run+".log"), p.opts.Locks.File(run)} {
		if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			p.opts.Notice(fmt.Sprintf("what is left of run %s: %v", run, err))
		}
	}
	return folders
}

const (
	// firstAfter is how long [Pruner.Run] waits before it looks for old data for the first time.
	// Without this delay, the search would slow down the start of the program.
	firstAfter = time.Minute
	// checkEvery is how often [Pruner.Run] looks for old data after the first time.
	checkEvery = time.Hour
)

// Run deletes old data at intervals until stop is called. stop waits for a deletion in progress.
// If a deletion fails, Run prints the error and tries again after the next interval.
func (p *Pruner) Run(policy Policy) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for wait := firstAfter; ; wait = checkEvery {
			if pause.For(ctx, wait); ctx.Err() != nil {
				return
			}
			if err := p.pruneOnce(ctx, policy); err != nil && ctx.Err() == nil {
				p.opts.Notice(fmt.Sprintf("retention: %v; trying again in an hour", err))
			}
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

func (p *Pruner) pruneOnce(ctx context.Context, policy Policy) error {
	old, err := p.Find(ctx, policy)
	if err != nil || old.Nothing() {
		return err
	}
	_, err = old.Delete(ctx)
	return err
}
