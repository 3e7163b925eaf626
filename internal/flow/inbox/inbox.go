// Package inbox processes the items that users leave in a project's inbox. Each type
// of item has a handler. Its result is stored on the item.
//
// A worker takes an item before it works on it and concludes it afterwards, both
// under the inbox's lock. Therefore only one process works on an item. If a process
// dies, its item stays taken, and the next process can take it at once.
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

// checkEvery is the default interval at which Watch looks for items taken by processes
// that have died. The death of a process changes no document, so Watch must poll.
const checkEvery = 10 * time.Second

// Worker processes the items of one inbox.
type Worker struct {
	Inbox  *workflow.Inbox
	Folder string       // the workflow folder, which contains the spec
	Owner  host.Process // this process, recorded as the owner of the items it takes
	Fetch  Fetch        // fetches the pages of references; if nil, they are not fetched
	Now    func() time.Time
	Report func(line string) // receives progress messages for the user; may be nil

	CheckEvery time.Duration // interval at which Watch looks for items of dead processes; 10 s if zero

	unsaved *result // a result that could not be stored; All stores it before it takes another item
}

// result is the result of processing an item.
type result struct {
	item     workflow.Item
	analysis []workflow.Field
	failure  error
}

// Fetch fetches a page.
type Fetch func(ctx context.Context, address string) (webpage.Page, error)

// ProcessAll processes items until none can be taken. It alternates between the types and
// takes the oldest item of each. It calls show for each processed item, also for failed
// ones. If a result cannot be stored at the moment, All returns an error, and the next
// All stores the result first.
func (w *Worker) ProcessAll(ctx context.Context, show func(workflow.Item) error) error {
	if w.unsaved != nil {
		item, err := w.store(ctx, *w.unsaved)
		if err := w.showProcessed(item, err, show); err != nil {
			return err
		}
	}
	for taken := true; taken; {
		taken = false
		for _, kind := range workflow.ItemTypes() {
			item, err := w.takeAndProcess(ctx, workflow.Claim{Type: kind, Owner: &w.Owner})
			if errors.Is(err, errNothingPending) {
				continue
			}
			taken = true
			if err := w.showProcessed(item, err, show); err != nil {
				return err
			}
		}
	}
	return nil
}

// showProcessed calls show for a processed item. If the result was lost, it only
// reports that and returns nil.
func (w *Worker) showProcessed(item workflow.Item, err error, show func(workflow.Item) error) error {
	if lost, ok := errors.AsType[*lostError](err); ok {
		w.report("%v", lost)
		return nil
	}
	if err != nil {
		return err
	}
	return show(item)
}

// errNothingPending reports that no item can be taken.
var errNothingPending = errors.New("nothing is pending")

// takeAndProcess takes an item and processes it. It reads the spec first: if the spec is
// unreadable, no item is taken.
func (w *Worker) takeAndProcess(ctx context.Context, claim workflow.Claim) (workflow.Item, error) {
	if err := ctx.Err(); err != nil {
		return workflow.Item{}, err
	}
	s, err := spec.Read(w.Folder)
	if err != nil {
		return workflow.Item{}, err
	}
	item, err := w.Inbox.Take(ctx, claim)
	if _, absent := errors.AsType[*workflow.NotFoundError](err); absent && claim.ID == "" {
		return workflow.Item{}, errNothingPending
	}
	if err != nil {
		return workflow.Item{}, err
	}
	return w.process(ctx, item, s)
}

// ProcessOne processes the item with this id. A reference that was processed without
// fetching is processed again if fetching is now allowed.
func (w *Worker) ProcessOne(ctx context.Context, id string) (workflow.Item, error) {
	items, err := w.Inbox.List()
	if err != nil {
		return workflow.Item{}, err
	}
	at := slices.IndexFunc(items, func(i workflow.Item) bool { return i.ID == id && id != "" })
	if at < 0 {
		return workflow.Item{}, &workflow.NotFoundError{What: fmt.Sprintf("no inbox item %q", id), Next: "'gaffer inbox list' shows every item"}
	}
	item := items[at]
	if handlers[item.Type] == nil {
		return workflow.Item{}, &typeError{item}
	}
	if w.Fetch == nil || !unfetched(item) {
		// Claim.Type checks the type again under the lock, because it may have
		// changed.
		return w.takeAndProcess(ctx, workflow.Claim{ID: id, Type: item.Type, Owner: &w.Owner})
	}
	s, err := spec.Read(w.Folder)
	if err != nil {
		return workflow.Item{}, err
	}
	if item, err = w.Inbox.Retake(ctx, id, w.Owner, unfetched); err != nil {
		return workflow.Item{}, err
	}
	return w.process(ctx, item, s)
}

// process processes a taken item and stores the result on it.
func (w *Worker) process(ctx context.Context, item workflow.Item, s spec.Spec) (workflow.Item, error) {
	w.report("%s: %s", item.ID, item.Type)
	analysis, err := handlers[item.Type](ctx, w, item, s)
	if ctx.Err() != nil {
		// The item stays marked as taken. When this process has ended, the next process
		// can take the item at once.
		return workflow.Item{}, fmt.Errorf("inbox item %s: %w", item.ID, context.Cause(ctx))
	}
	return w.store(ctx, result{item, analysis, err})
}

// store stores the result on the item. If the item is gone or another process has taken
// it, the result is lost. After any other error, store keeps the result for the next
// attempt: this process still owns the item, so no other process takes it.
func (w *Worker) store(ctx context.Context, r result) (workflow.Item, error) {
	w.unsaved = nil
	done, err := w.conclude(ctx, r)
	_, gone := errors.AsType[*workflow.NotFoundError](err)
	_, refused := errors.AsType[*workflow.TransitionError](err)
	switch {
	case gone || refused:
		return workflow.Item{}, &lostError{r.item.ID, err}
	case err != nil:
		w.unsaved = &r
		return workflow.Item{}, fmt.Errorf("inbox item %s: keep its result: %w", r.item.ID, err)
	}
	w.report("%s: %s", done.ID, outcome(done))
	return done, nil
}

func (w *Worker) conclude(ctx context.Context, r result) (workflow.Item, error) {
	c := workflow.Conclusion{Analysis: r.analysis}
	if r.failure != nil { // the error may quote text from a server
		c = workflow.Conclusion{Error: strings.ToValidUTF8(r.failure.Error(), "\ufffd")}
	}
	done, err := w.Inbox.Conclude(ctx, r.item, c)
	if shape, ok := errors.AsType[*workflow.ShapeError](err); ok && r.failure == nil {
		return w.conclude(ctx, result{item: r.item, failure: shape}) // keep the existing value, which has an unexpected type
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

func (w *Worker) report(format string, args ...any) {
	if w.Report != nil {
		w.Report(fmt.Sprintf(format, args...))
	}
}

// Watch runs All at once and whenever the inbox changes, until ctx ends. It reports
// errors and continues.
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
			stop(err) // the reader of the output has closed it
			return err
		}
		return nil
	}
	tick := time.NewTicker(cmp.Or(w.CheckEvery, checkEvery))
	defer tick.Stop()
	for {
		if err := w.ProcessAll(ctx, showOrStop); err != nil && ctx.Err() == nil {
			w.report("%v", err)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-changed:
		case <-tick.C:
		}
	}
}
