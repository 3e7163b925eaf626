// Package inbox processes what people leave in a project's inbox. Each type
// of item has a handler; what the handler finds out is kept on the item.
//
// An item is taken before it is worked on and concluded afterwards, both under
// the inbox's lock, so that of any number of processes one works on it. A
// process that dies leaves an item that is taken, which the next one takes up
// at once.
package inbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"gaffer/internal/flow/inbox/webpage"
	"gaffer/internal/flow/spec"
	"gaffer/statefile"
	"gaffer/statefile/host"
	"gaffer/workflow"
)

// lookAgain is how often a watch looks for items that a dead process has left,
// if the worker does not say: a death changes no document.
const lookAgain = 10 * time.Second

// Worker processes the items of one inbox.
type Worker struct {
	Inbox  *workflow.Inbox
	Folder string       // the workflow folder, where the spec is
	Owner  host.Process // on whose behalf items are taken
	Fetch  Fetch        // how references are fetched; nil leaves them unfetched
	Now    func() time.Time
	Tell   func(line string) // progress, for a person; may be nil

	LookAgain time.Duration // how often a watch looks for what dead processes have left; 10 s if zero

	owed *result // what All keeps before it takes another item
}

// result is what came of an item.
type result struct {
	item     workflow.Item
	analysis []workflow.Field
	failure  error
}

// Fetch reads a page.
type Fetch func(ctx context.Context, address string) (webpage.Page, error)

// All processes what can be taken until nothing is left: of each type in turn
// the oldest item. Each item is shown as it is afterwards, also one that could
// not be processed and says why. A result that could not be kept for the moment
// ends it, and is the first thing that the next All sees to.
func (w *Worker) All(ctx context.Context, show func(workflow.Item) error) error {
	if w.owed != nil {
		item, err := w.keep(ctx, *w.owed)
		if err := w.pass(item, err, show); err != nil {
			return err
		}
	}
	for taken := true; taken; {
		taken = false
		for _, kind := range workflow.ItemTypes() {
			item, err := w.next(ctx, workflow.Claim{Type: kind, Owner: &w.Owner})
			if errors.Is(err, errNothing) {
				continue
			}
			taken = true
			if err := w.pass(item, err, show); err != nil {
				return err
			}
		}
	}
	return nil
}

// pass shows an item that was worked on. That one was lost is told, and no
// reason to end.
func (w *Worker) pass(item workflow.Item, err error, show func(workflow.Item) error) error {
	if lost, ok := errors.AsType[*lostError](err); ok {
		w.tell("%v", lost)
		return nil
	}
	if err != nil {
		return err
	}
	return show(item)
}

// errNothing is that no item can be taken.
var errNothing = errors.New("nothing is pending")

// next takes an item and works on it. The spec is read first: one that cannot
// be read must leave the item untouched.
func (w *Worker) next(ctx context.Context, claim workflow.Claim) (workflow.Item, error) {
	if err := ctx.Err(); err != nil {
		return workflow.Item{}, err
	}
	s, err := spec.Read(w.Folder)
	if err != nil {
		return workflow.Item{}, err
	}
	item, err := w.Inbox.Take(ctx, claim)
	if _, absent := errors.AsType[*workflow.NotFoundError](err); absent && claim.ID == "" {
		return workflow.Item{}, errNothing
	}
	if err != nil {
		return workflow.Item{}, err
	}
	return w.work(ctx, item, s)
}

// One processes the item with this id. A reference that was processed without
// being fetched is processed again when it can be.
func (w *Worker) One(ctx context.Context, id string) (workflow.Item, error) {
	item, err := w.find(id)
	if err != nil {
		return workflow.Item{}, err
	}
	if handlers[item.Type] == nil {
		return workflow.Item{}, &typeError{item}
	}
	if w.Fetch == nil || !unfetched(item) {
		// The type is asked for again under the lock: it may change meanwhile.
		return w.next(ctx, workflow.Claim{ID: id, Type: item.Type, Owner: &w.Owner})
	}
	s, err := spec.Read(w.Folder)
	if err != nil {
		return workflow.Item{}, err
	}
	if item, err = w.Inbox.Retake(ctx, id, w.Owner, unfetched); err != nil {
		return workflow.Item{}, err
	}
	return w.work(ctx, item, s)
}

// find returns the item with this id as it is now. No item is called nothing.
func (w *Worker) find(id string) (workflow.Item, error) {
	items, err := w.Inbox.List()
	if err != nil {
		return workflow.Item{}, err
	}
	at := slices.IndexFunc(items, func(i workflow.Item) bool { return i.ID == id && id != "" })
	if at < 0 {
		return workflow.Item{}, &workflow.NotFoundError{What: fmt.Sprintf("no inbox item %q", id), Next: "'gaffer inbox list' shows every item"}
	}
	return items[at], nil
}

// work handles an item that was taken and keeps the result on it.
func (w *Worker) work(ctx context.Context, item workflow.Item, s spec.Spec) (workflow.Item, error) {
	w.tell("%s: %s", item.ID, item.Type)
	analysis, err := handlers[item.Type](ctx, w, item, s)
	if ctx.Err() != nil {
		// It stays taken; this process ends, so the next one has it at once.
		return workflow.Item{}, fmt.Errorf("inbox item %s: %w", item.ID, context.Cause(ctx))
	}
	return w.keep(ctx, result{item, analysis, err})
}

// keep concludes the work on an item. Only an item that is gone or another's is
// lost; what else goes wrong may be over at the next look, and the item, which
// this process holds, would be taken up by nobody until then.
func (w *Worker) keep(ctx context.Context, r result) (workflow.Item, error) {
	w.owed = nil
	done, err := w.conclude(ctx, r)
	_, gone := errors.AsType[*workflow.NotFoundError](err)
	_, refused := errors.AsType[*workflow.TransitionError](err)
	switch {
	case gone || refused:
		return workflow.Item{}, &lostError{r.item.ID, err}
	case err != nil:
		w.owed = &r
		return workflow.Item{}, fmt.Errorf("inbox item %s: keep its result: %w", r.item.ID, err)
	}
	w.tell("%s: %s", done.ID, outcome(done))
	return done, nil
}

func (w *Worker) conclude(ctx context.Context, r result) (workflow.Item, error) {
	c := workflow.Conclusion{Analysis: r.analysis}
	if r.failure != nil { // which may quote what a server sent
		c = workflow.Conclusion{Error: strings.ToValidUTF8(r.failure.Error(), "\ufffd")}
	}
	done, err := w.Inbox.Conclude(ctx, r.item, c)
	if shape, ok := errors.AsType[*workflow.ShapeError](err); ok && r.failure == nil {
		return w.conclude(ctx, result{item: r.item, failure: shape}) // what stands there is not ours to replace
	}
	return done, err
}

func outcome(item workflow.Item) string {
	switch {
	case item.Status == workflow.ItemError:
		return "error: " + item.Error
	case item.Analysis != nil:
		return item.Analysis.Summary
	}
	return string(item.Status)
}

func (w *Worker) tell(format string, args ...any) {
	if w.Tell != nil {
		w.Tell(fmt.Sprintf(format, args...))
	}
}

// Watch is All, again whenever the inbox changes, until ctx ends. What goes
// wrong is told, and the watch goes on.
func (w *Worker) Watch(ctx context.Context, show func(workflow.Item) error) error {
	ctx, stop := context.WithCancelCause(ctx)
	changed := make(chan struct{}, 1)
	var watch sync.WaitGroup
	watch.Go(func() {
		stop(statefile.New(w.Inbox.Path(), statefile.Options{}).Watch(ctx, func([]byte, error) {
			select {
			case changed <- struct{}{}:
			default:
			}
		}))
	})
	defer watch.Wait()
	defer stop(nil)
	showOrStop := func(item workflow.Item) error {
		if err := show(item); err != nil {
			stop(err) // nobody takes the output any more
			return err
		}
		return nil
	}
	tick := time.NewTicker(cmp.Or(w.LookAgain, lookAgain))
	defer tick.Stop()
	for {
		if err := w.All(ctx, showOrStop); err != nil && ctx.Err() == nil {
			w.tell("%v", err)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-changed:
		case <-tick.C:
		}
	}
}
