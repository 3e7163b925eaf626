// Package inbox processes the items that users leave in a project's inbox. Each type of item has a
// handler. The handler's result is stored on the item.
//
// Before a worker works on an item, it marks the item as taken, and afterwards it stores the
// result, both under the inbox's lock. So only one process works on an item. If a process dies, its
// item stays marked, and another process can take it over at once.
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

// checkEvery is how often Watch looks for inbox items taken by processes that have died since,
// unless Worker.CheckEvery is set. Watch must poll for them, because no document changes when a
// process dies.
const checkEvery = 10 * time.Second

// Worker processes the items of one inbox.
type Worker struct {
	Inbox  *workflow.Inbox
	Folder string       // path of the workflow folder, which contains the spec
	Owner  host.Process // this process; recorded as the owner of the inbox items that it takes
	Fetch  Fetch        // fetches the web pages that inbox items link to; if nil, pages are not fetched
	Now    func() time.Time
	Report func(line string) // receives progress messages for the user; may be nil

	CheckEvery time.Duration // how often Watch looks for inbox items that dead processes have taken; 0 means 10 s

	// unsaved is a result that could not be stored yet, or nil. ProcessAll stores it before it
	// takes another item.
	unsaved *result
}

// result is the result of processing an inbox item: the analysis of the item, or a failure.
type result struct {
	item     workflow.Item
	analysis []workflow.Field
	failure  error
}

// Fetch fetches the web page at an address.
type Fetch func(ctx context.Context, address string) (webpage.Page, error)

// ProcessAll processes inbox items until none can be taken. It alternates between the types of
// items, and of each type it takes the oldest item first. It calls the function show for each
// processed item, even if its processing failed. If a result cannot be stored now, ProcessAll
// returns an error, and the next call stores the result first.
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

// showProcessed calls the function show for a processed inbox item. If the item's result was lost,
// it reports the loss to the user and returns nil.
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

// errNothingPending reports that the inbox has no item that can be taken.
var errNothingPending = errors.New("nothing is pending")

// takeAndProcess takes an inbox item and processes it. It reads the spec first, so that no item is
// taken if the spec is unreadable. If claim does not name an item by its id, and no item can be
// taken, takeAndProcess returns errNothingPending.
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

// ProcessOne processes the inbox item with this id. An item that is already processed is processed
// again if it is a reference whose page was not fetched, and fetching is allowed now.
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
		// Pass the type too, so that takeAndProcess checks it again under the lock: another program
		// may have changed the item's type.
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

// process calls the handler of an inbox item that this process has taken, and stores the result on
// the item.
func (w *Worker) process(ctx context.Context, item workflow.Item, s spec.Spec) (workflow.Item, error) {
	w.report("%s: %s", item.ID, item.Type)
	analysis, err := handlers[item.Type](ctx, w, item, s)
	if ctx.Err() != nil {
		// The item stays taken. When this process has ended, another process can take it over.
		return workflow.Item{}, fmt.Errorf("inbox item %s: %w", item.ID, context.Cause(ctx))
	}
	return w.store(ctx, result{item, analysis, err})
}

// store stores the result r on its inbox item. If the item is gone or another process has taken it,
// the result is lost. After any other error, store keeps the result in w.unsaved, so that it can be
// stored later: this process still owns the item, so no other process takes it.
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
	// The error may contain text from a web server, so replace invalid UTF-8.
	if r.failure != nil {
		c = workflow.Conclusion{Error: strings.ToValidUTF8(r.failure.Error(), "\ufffd")}
	}
	done, err := w.Inbox.Conclude(ctx, r.item, c)
	// If a value of the inbox item has an unexpected type, no analysis can be added to the item.
	// Then store this error as the item's failure.
	if shape, ok := errors.AsType[*workflow.ShapeError](err); ok && r.failure == nil {
		return w.conclude(ctx, result{item: r.item, failure: shape})
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

// Watch calls ProcessAll at the start, whenever the inbox changes, and at the interval CheckEvery.
// If ProcessAll fails, Watch reports the error to the user and continues. Watch returns when ctx
// ends, or when the function show fails.
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
			stop(err) // end Watch: nobody reads the output of the function show any more
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
