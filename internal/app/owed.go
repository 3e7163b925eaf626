package app

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"gaffer/internal/config"
	"gaffer/internal/engine/store"
	"gaffer/internal/pause"
	"gaffer/internal/project"
	"gaffer/internal/record/recorder"
	"gaffer/ledger"
	"gaffer/session"
)

// The documents of a run are "owed" from before the first write until all of them state
// how the run ended. The store has a row for each run with owed documents. So the debt
// survives a process that dies and a disk that is full. Writing a document is
// idempotent: a crash between writing the documents and deleting the row is harmless.

// owedKind is the kind of the store items that mark owed documents.
const owedKind = "owed documents"

func owedKey(run string) store.ItemKey { return store.ItemKey{Kind: owedKind, ID: run} }

// Owed describes a run that has ended although its documents do not state that yet.
type Owed struct {
	Run     string    `json:"run"`
	Project string    `json:"project"`
	Since   time.Time `json:"since"` // when the run ended; zero if it is still active
	Why     string    `json:"why"`   // why the documents were not written

	paths map[string]string
}

// diedBefore is the reason for owed documents if no process has recorded one.
const diedBefore = "gaffer ended before it had written them"

// OwedError reports that the documents of a run could not be written.
type OwedError struct{ Owed Owed }

func (e *OwedError) Error() string {
	if e.Owed.Since.IsZero() {
		return fmt.Sprintf("the documents of run %s are not all written: %s", e.Owed.Run, e.Owed.Why)
	}
	return fmt.Sprintf("run %s has ended, but its documents are not written: %s", e.Owed.Run, e.Owed.Why)
}

// Hint returns advice for the user.
func (e *OwedError) Hint() string {
	if e.Owed.Since.IsZero() {
		return fmt.Sprintf("remove what is in the way; 'gaffer resume %s' writes them", e.Owed.Run)
	}
	return "remove what is in the way; the next gaffer in the project writes them, and so does 'gaffer doctor --repair'"
}

// owing is the content of an owed item. Paths holds the document folders by the names
// of their settings, so that later changes of the settings do not matter. Why says what
// prevented the writing.
type owing struct {
	Paths map[string]string `json:"paths"`
	Why   string            `json:"why,omitempty"`
}

// owe records in the store that the documents of a run must be written.
func (a *App) owe(ctx context.Context, run, why string) error {
	o := owing{Paths: map[string]string{}, Why: why}
	for _, v := range a.opts.Config.Values() {
		if strings.HasPrefix(v.Key.Name, "paths.") {
			o.Paths[v.Key.Name] = a.opts.Config.Path(v.Key.Name)
		}
	}
	data, err := json.Marshal(o)
	if err != nil {
		return err
	}
	return a.store.Write(ctx, store.Need{Items: []store.ItemKey{owedKey(run)}}, func(tx *store.Tx) error {
		tx.PutItem(store.Item{ItemKey: owedKey(run), Data: data, Made: a.opts.Now()})
		return nil
	})
}

// settle deletes the owed item after the documents state how the run ended. If a task
// was retried meanwhile, the run is active again and the item stays.
func (a *App) settle(ctx context.Context, id string) error {
	return a.store.Write(ctx, store.Need{Runs: []string{id}, Items: []store.ItemKey{owedKey(id)}}, func(tx *store.Tx) error {
		run, err := tx.Run(id)
		if errors.Is(err, store.ErrNotFound) || err == nil && run.Status.Final() {
			tx.DropItem(owedKey(id))
			return nil
		}
		return err
	})
}

// concluded settles the documents of a run that has ended, or records why they could
// not be written. If the reason cannot be stored, the owed item from before remains.
func (a *App) concluded(ctx context.Context, run string, flushed error) {
	if flushed == nil {
		if err := a.settle(ctx, run); err != nil {
			a.opts.Notice(fmt.Sprintf("the documents of run %s are written, but that cannot be noted: %v; they will be written once more", run, err))
		}
		return
	}
	later := "the next gaffer in the project writes them, and so does 'gaffer doctor --repair'"
	if ended, err := a.hasEnded(ctx, run, ""); err == nil && !ended {
		later = fmt.Sprintf("'gaffer resume %s' writes them", run)
	}
	a.opts.Notice(fmt.Sprintf("the documents of run %s are not all written: %s; %s", run, oneLine(flushed), later))
	_ = a.owe(ctx, run, oneLine(flushed))
}

// oneLine returns the text of joined errors on one line.
func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

// Owed lists the runs of this machine that have ended although their documents do not
// state it, in this project or in all. It skips runs that a process is working on,
// because that process writes the documents.
func (a *App) Owed(ctx context.Context, everywhere bool) (list []Owed, err error) {
	err = a.store.Read(ctx, func(r store.Reader) error {
		list = nil
		items, err := r.Items(owedKind, "", math.MinInt64, math.MaxInt32)
		if err != nil {
			return err
		}
		for _, item := range items {
			run, err := r.Run(item.ID)
			if errors.Is(err, store.ErrNotFound) { // the run was pruned
				continue
			}
			if err != nil {
				return err
			}
			if !run.Status.Final() || !everywhere && run.Project != a.opts.Project.Root || !a.locks.WorkedOn(run) || a.locks.Owner(run.ID).Alive {
				continue
			}
			var o owing
			if err := json.Unmarshal(item.Data, &o); err != nil {
				return fmt.Errorf("the documents that run %s owes: %w", run.ID, err)
			}
			list = append(list, Owed{Run: run.ID, Project: run.Project, Since: run.Ended, Why: cmp.Or(o.Why, diedBefore), paths: o.Paths})
		}
		return nil
	})
	return list, err
}

// OwedBy returns an [*OwedError] if the documents of the run are owed.
func (a *App) OwedBy(ctx context.Context, run string) error {
	list, err := a.Owed(ctx, true)
	if err != nil {
		return err
	}
	for _, o := range list {
		if o.Run == run {
			return &OwedError{o}
		}
	}
	return nil
}

// payWithin is the time that a command spends on documents of earlier runs.
const payWithin = time.Second

// PayOnOpen writes the owed documents of this project within payWithin. Every command
// that opens the project calls it. If it fails, it prints a notice and the command
// continues.
func (a *App) PayOnOpen(ctx context.Context) {
	if _, closed := a.store.(*snapshot); closed {
		return
	}
	within, cancel := context.WithTimeout(ctx, payWithin)
	defer cancel()
	left, err := a.Pay(within, false)
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		a.opts.Notice(fmt.Sprintf("whether documents are owed is not known: %v", err))
	}
	for _, o := range left {
		a.opts.Notice(fmt.Sprintf("the documents of run %s are still not written: %s; 'gaffer doctor' lists them", o.Run, o.Why))
	}
}

// Pay writes the owed documents of this project, or of all projects on this machine. It
// returns those that it could not write.
func (a *App) Pay(ctx context.Context, everywhere bool) (left []Owed, err error) {
	list, err := a.Owed(ctx, everywhere)
	if err != nil {
		return nil, err
	}
	for _, o := range list {
		if err := a.pay(ctx, o); err != nil {
			o.Why = oneLine(err)
			left = append(left, o)
			continue
		}
		a.opts.Notice(fmt.Sprintf("the documents of run %s say now how it ended; they could not be written before: %s", o.Run, o.Why))
	}
	return left, nil
}

// pay writes the owed documents of one run.
func (a *App) pay(ctx context.Context, o Owed) error {
	in, err := a.at(o.Project, o.paths)
	if err != nil {
		return err
	}
	defer in.session.Close()
	s, _, err := in.look(ctx, o.Run)
	if err != nil {
		return err
	}
	if err := s.flush(ctx); err != nil {
		return err
	}
	return a.settle(ctx, o.Run)
}

// at returns an App on the same store for the project at root, with its documents at
// those paths.
func (a *App) at(root string, paths map[string]string) (*App, error) {
	in := &App{pays: true, opts: a.opts, state: a.state, locks: a.locks, database: a.database, store: a.store, engine: a.engine, query: a.query, Fleet: a.Fleet}
	var flags []config.Setting
	for name, path := range paths {
		flags = append(flags, config.Setting{Name: name, Text: path, Flag: "the run"})
	}
	var err error
	if in.opts.Project, err = project.At(root, "the run"); err != nil {
		return nil, err
	}
	if in.opts.Config, err = config.Load(config.Inputs{Root: root, Getenv: a.opts.Getenv, Flags: flags}); err != nil {
		return nil, err
	}
	in.openDocuments()
	return in, nil
}

// openDocuments opens the project's session and ledger documents.
func (a *App) openDocuments() {
	c := a.opts.Config
	a.session = session.New(c.Path("paths.session"), session.Options{
		Now: a.opts.Now, LogPrefix: a.shown(c.Path("paths.session")), LockTimeout: min(c.Duration("lock_timeout"), lockTimeout),
	})
	a.ledger = ledger.Open(c.Path("paths.ledger"), ledger.Options{
		Now: a.opts.Now, Name: a.shown(c.Path("paths.ledger")), LockTimeout: c.Duration("lock_timeout"),
	})
}

// payEvery is the interval at which a server looks for owed documents.
const payEvery = 30 * time.Second

// keepPaying writes owed documents of this machine until ctx ends. It reports each
// reason for a failure once.
func (a *App) keepPaying(ctx context.Context) {
	for told := map[string]string{}; ctx.Err() == nil; pause.For(ctx, payEvery) {
		left, err := a.Pay(ctx, true)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			left = append(left, Owed{Why: err.Error()})
		}
		now := map[string]string{}
		for _, o := range left {
			if now[o.Run] = o.Why; told[o.Run] != o.Why {
				a.opts.Notice(fmt.Sprintf("the documents of run %s are still not written: %s", o.Run, o.Why))
			}
		}
		told = now
	}
}

// refusedOnly reports whether the only problem is that other programs' records have the
// names of ours. Those records stay, so nothing is owed.
func refusedOnly(err error) bool {
	refused := (*recorder.RefusedError)(nil)
	return errors.As(err, &refused)
}
