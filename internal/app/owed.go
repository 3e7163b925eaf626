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

// The documents of a run are owed from before the first of them is written until
// all of them say how the run ended. The store has a row for each run of which they
// are, so that a process that dies, and a disk that is full, leave the debt behind.
// Writing a document again writes the same: a crash between paying and clearing is
// harmless.

// owedKind is the kind of the rows that say whose documents are owed.
const owedKind = "owed documents"

func owedKey(run string) store.ItemKey { return store.ItemKey{Kind: owedKind, ID: run} }

// Owed is a run that has ended and whose documents do not say so yet.
type Owed struct {
	Run     string    `json:"run"`
	Project string    `json:"project"`
	Since   time.Time `json:"since"` // when the run ended; zero if it goes on
	Why     string    `json:"why"`   // what kept them from being written

	paths map[string]string
}

// diedBefore is why documents are owed if no process has said why.
const diedBefore = "gaffer ended before it had written them"

// OwedError is that the documents of a run could not be written.
type OwedError struct{ Owed Owed }

func (e *OwedError) Error() string {
	if e.Owed.Since.IsZero() {
		return fmt.Sprintf("the documents of run %s are not all written: %s", e.Owed.Run, e.Owed.Why)
	}
	return fmt.Sprintf("run %s has ended, but its documents are not written: %s", e.Owed.Run, e.Owed.Why)
}

// Hint says what to do next.
func (e *OwedError) Hint() string {
	if e.Owed.Since.IsZero() {
		return fmt.Sprintf("remove what is in the way; 'gaffer resume %s' writes them", e.Owed.Run)
	}
	return "remove what is in the way; the next gaffer in the project writes them, and so does 'gaffer doctor --repair'"
}

// owing is what the row of a debt says: where the documents are, by the names of the
// settings, whatever the settings say later; and what kept them from being written.
type owing struct {
	Paths map[string]string `json:"paths"`
	Why   string            `json:"why,omitempty"`
}

// owe notes that the documents of a run are to be written.
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

// settle notes that the documents of a run say how it ended. If a task was retried
// meanwhile, the run goes on and they are still owed.
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

// concluded settles the documents of a run that has ended, or notes why they could
// not be written. Without room for the note the debt is noted all the same.
func (a *App) concluded(ctx context.Context, run string, flushed error) {
	if flushed == nil {
		if err := a.settle(ctx, run); err != nil {
			a.opts.Notice(fmt.Sprintf("the documents of run %s are written, but that cannot be noted: %v; they will be written once more", run, err))
		}
		return
	}
	later := "the next gaffer in the project writes them, and so does 'gaffer doctor --repair'"
	if ended, err := a.hasEnded(ctx, run); err == nil && !ended {
		later = fmt.Sprintf("'gaffer resume %s' writes them", run)
	}
	a.opts.Notice(fmt.Sprintf("the documents of run %s are not all written: %s; %s", run, oneLine(flushed), later))
	_ = a.owe(ctx, run, oneLine(flushed))
}

// oneLine is the text of errors that were joined.
func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

// Owed lists the runs of this machine that have ended and whose documents do not say
// so: those of this project, or of all. A run that a process works on is not among
// them, as that process writes its documents.
func (a *App) Owed(ctx context.Context, everywhere bool) (list []Owed, err error) {
	err = a.store.Read(ctx, func(r store.Reader) error {
		list = nil
		items, err := r.Items(owedKind, "", math.MinInt64, math.MaxInt32)
		if err != nil {
			return err
		}
		for _, item := range items {
			run, err := r.Run(item.ID)
			if errors.Is(err, store.ErrNotFound) { // it was pruned
				continue
			}
			if err != nil {
				return err
			}
			if !run.Status.Final() || !everywhere && run.Project != a.opts.Project.Root || !a.worked(run) || a.owner(run.ID).Alive {
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

// OwedBy returns an [*OwedError] if the documents of a run are owed.
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

// payWithin bounds how long a command waits for documents that it was not asked for.
const payWithin = time.Second

// PayOnOpen writes the documents that are owed in this project, as far as that is
// quick. Every command that opens the project calls it. A command that cannot does
// what it was asked for all the same.
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

// Pay writes the documents that are owed, in this project or everywhere on this
// machine, and returns those that still are.
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

// pay writes the documents of one run.
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

// at is gaffer in the project of that root, with documents at those paths, on the
// same store.
func (a *App) at(root string, paths map[string]string) (*App, error) {
	in := &App{pays: true, opts: a.opts, state: a.state, database: a.database, store: a.store, engine: a.engine, lookout: a.lookout}
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

// openDocuments opens the documents of the project.
func (a *App) openDocuments() {
	c := a.opts.Config
	a.session = session.New(c.Path("paths.session"), session.Options{
		Now: a.opts.Now, LogPrefix: a.shown(c.Path("paths.session")), LockTimeout: min(c.Duration("lock_timeout"), lockTimeout),
	})
	a.ledger = ledger.Open(c.Path("paths.ledger"), ledger.Options{
		Now: a.opts.Now, Name: a.shown(c.Path("paths.ledger")), LockTimeout: c.Duration("lock_timeout"),
	})
}

// payEvery is how often a server looks for documents that are owed.
const payEvery = 30 * time.Second

// keepPaying writes the documents that are owed on this machine until ctx ends. A
// reason is reported once.
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

// refusedOnly reports whether all that is wrong with documents is that records of
// other programs are in the place of ours. They stay: nothing is owed.
func refusedOnly(err error) bool {
	refused := (*recorder.RefusedError)(nil)
	return errors.As(err, &refused)
}
