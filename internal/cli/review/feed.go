package review

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"gaffer/fleet"
	"gaffer/internal/cli/openfleet"
	"gaffer/internal/exit"
	"gaffer/internal/pause"
	"gaffer/internal/ui/tui/program"
	screen "gaffer/internal/ui/tui/review"
)

// feed reads changes and reviews for the review screen, and performs the user's actions.
type feed struct {
	fleet   openfleet.Fleet
	notices <-chan string
	send    func(any)

	again chan struct{} // receives a value when the list of changes and the shown change must be read again
	mu    sync.Mutex
	// shown is what the screen shows: the change of a task, or the list of changes if shown.Task is
	// empty.
	shown screen.Show
	// read is the text that stateOf returned when the shown change was last read. The change must
	// be read again if read is "" or if stateOf now returns another text.
	read string

	// unsaved is the last comment that could not be saved, with its idempotency key. It is zero if
	// there is none.
	unsaved screen.Act
}

const (
	pace      = 500 * time.Millisecond
	retryTime = 2 * time.Second // pause after an error, before watching for changes again
)

func newFeed(f openfleet.Fleet, notices <-chan string) *feed {
	return &feed{fleet: f, notices: notices, again: make(chan struct{}, 1)}
}

// perform starts an action of the user. For [screen.Show], it stores what the screen shows, and
// requests that [feed.run] reads it. For other actions, it returns a [program.Task], a background
// job of the screen that performs the action.
func (f *feed) perform(ctx context.Context, action any) program.Task {
	switch action := action.(type) {
	case screen.Show:
		f.mu.Lock()
		f.shown, f.read = action, ""
		f.mu.Unlock()
		f.requestRead()
	case screen.Read:
		return program.Task{Name: "read " + action.Path, Do: func() (any, error) {
			diff, err := f.fleet.ChangedFile(ctx, action.Run, action.Task, fleet.FileQuery{Path: action.Path, Tree: action.Tree, From: action.From})
			if err != nil {
				// Return the error as a message for the screen. If it were returned as the error of
				// the background job, the command would fail if the user left the screen before the
				// error is shown.
				return screen.ReadFailure{Run: action.Run, Task: action.Task, Path: action.Path, Why: errorText(err)}, nil
			}
			return screen.File{Of: action, Diff: diff}, nil
		}}
	case screen.Act:
		return program.Task{Name: string(action.Kind) + " " + action.Task, Do: func() (any, error) {
			err := f.act(ctx, action)
			f.mu.Lock()
			f.read = ""
			f.mu.Unlock()
			f.requestRead()
			return screen.Done{Act: action, Err: err}, err
		}}
	}
	return program.Task{}
}

// requestRead makes [feed.run] read the list and the shown change again.
func (f *feed) requestRead() {
	select {
	case f.again <- struct{}{}:
	default:
	}
}

// run reads the list of changes and the shown change again whenever something may have changed,
// until ctx ends. It also passes notices, which are messages of gaffer for the user, to the screen.
// It returns when all its goroutines have ended.
func (f *feed) run(ctx context.Context) {
	var all sync.WaitGroup
	all.Go(func() {
		for ctx.Err() == nil {
			_ = f.fleet.Changes(ctx, pace, func() error { f.requestRead(); return nil }) // ignore the error: the loop tries again
			pause.For(ctx, retryTime)
		}
	})
	for {
		select {
		case <-ctx.Done():
			all.Wait()
			return
		case notice := <-f.notices:
			// With a server, the notices only say that the server does not answer, or that it
			// answers again. Do not show them, because the screen itself shows this.
			if f.fleet.Where() == "" {
				f.send(screen.Done{Err: errors.New(notice)})
			}
		case <-f.again:
			f.readAll(ctx)
		}
	}
}

// readAll reads the list of changes and sends it to the screen. It reads and sends the shown change
// only if its task or review has changed, because git takes some time to read a change.
func (f *feed) readAll(ctx context.Context) {
	f.mu.Lock()
	shown, before := f.shown, f.read
	f.mu.Unlock()
	list, err := changesOf(ctx, f.fleet, shown.Run)
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		f.send(screen.ReadFailure{Run: shown.Run, Why: errorText(err)})
		if shown.Task != "" && before == "" {
			f.send(screen.ReadFailure{Run: shown.Run, Task: shown.Task, Why: errorText(err)})
		}
		return
	}
	f.send(list)
	if shown.Task == "" {
		return
	}
	failed := func(err error) bool {
		if err != nil && ctx.Err() == nil {
			f.send(screen.ReadFailure{Run: shown.Run, Task: shown.Task, Why: errorText(err)})
		}
		return err != nil
	}
	at := slices.IndexFunc(list.Entries, func(e screen.Entry) bool { return e.Task.ID == shown.Task })
	var entry screen.Entry
	if at >= 0 {
		entry = list.Entries[at]
	} else { // the list leaves out some tasks, such as tasks without a change and those that compete to do the same work
		if entry.Task, err = f.fleet.Task(ctx, shown.Run, shown.Task); failed(err) {
			return
		}
		if entry.Review, err = f.fleet.Review(ctx, shown.Run, shown.Task); failed(err) {
			return
		}
	}
	state := stateOf(entry)
	if state == before {
		return
	}
	page, err := f.readPage(ctx, shown)
	if failed(err) {
		return
	}
	f.send(page)
	f.mu.Lock()
	if f.shown == shown && f.read == before {
		f.read = state
	}
	f.mu.Unlock()
}

// stateOf returns a text that identifies the state of an entry in the list of changes. If the text
// differs from the text at the last read, the change must be read again.
func stateOf(e screen.Entry) string {
	attempt := ""
	if a := e.Task.Attempt; a != nil {
		attempt = a.ID + a.Ended.String()
	}
	return fmt.Sprint(e.Task.Status, " ", attempt, " ", e.Review.State, " ", e.Review.Updated, " ", len(e.Review.Comments))
}

// readPage reads a change, its review and the messages to the task's agent.
func (f *feed) readPage(ctx context.Context, shown screen.Show) (p screen.Page, err error) {
	if p.Task, err = f.fleet.Task(ctx, shown.Run, shown.Task); err != nil {
		return p, err
	}
	if shown.Since {
		r, err := f.fleet.Review(ctx, shown.Run, shown.Task)
		if err != nil {
			return p, err
		}
		if p.Since = r.Seen; p.Since == "" {
			return p, errors.New("you have not sent back or approved this change yet")
		}
	}
	c, err := f.fleet.Change(ctx, shown.Run, shown.Task, fleet.ChangeQuery{Since: p.Since})
	p.Change, p.Review, p.Anchors, p.Messages = c.Change, c.Review, c.Anchors, c.Messages
	return p, err
}

// changesOf reads a run and the changes of its tasks with their reviews.
func changesOf(ctx context.Context, f openfleet.Fleet, run string) (list screen.Changes, err error) {
	if list.Run, err = f.Run(ctx, run); err != nil {
		return list, err
	}
	reviews, err := f.Reviews(ctx, run)
	if err != nil {
		return list, err
	}
	byTask := map[string]fleet.Task{}
	for _, t := range list.Run.Tasks {
		byTask[t.ID] = t
	}
	for _, r := range reviews.Reviews {
		list.Entries = append(list.Entries, screen.Entry{Task: byTask[r.Task], Review: r})
	}
	list.Run.Tasks = nil
	return list, nil
}

// act performs an action of the user on a change or its review, such as a merge or a comment.
func (f *feed) act(ctx context.Context, a screen.Act) error {
	switch a.Kind {
	case screen.Merge:
		results, err := f.fleet.Merge(ctx, fleet.MergeRequest{Run: a.Run, Task: a.Task, Yes: true})
		if err != nil {
			return err
		}
		for _, m := range results {
			if m.Failed() {
				return mergeError(m)
			}
		}
		return nil
	case screen.Discard:
		_, err := f.fleet.Discard(ctx, a.Run, a.Task)
		return err
	case screen.UndoMerge:
		m, err := f.fleet.UndoMerge(ctx, fleet.MergeRequest{Run: a.Run, Task: a.Task, Yes: true})
		if err == nil && m.Failed() {
			err = mergeError(m)
		}
		return err
	case screen.SendBack:
		_, _, err := openfleet.SendBack(ctx, f.fleet, a.Run, a.Task, a.Tree)
		return err
	case screen.Restore:
		_, err := f.fleet.Restore(ctx, a.Run, a.Task)
		return err
	}
	if a.Kind == screen.Comment {
		a.Comment.Key = f.keyOf(a)
	}
	action := fleet.ReviewAction{Action: string(a.Kind), Comment: a.Comment, ID: a.Comment.ID, Path: a.Path, Digest: a.Digest, Tree: a.Tree}
	if a.Kind == screen.Resolve {
		action.Resolved = &a.Comment.Resolved
	}
	if _, err := f.fleet.ChangeReview(ctx, a.Run, a.Task, action); err != nil {
		if a.Kind == screen.Comment {
			f.mu.Lock()
			f.unsaved = a
			f.mu.Unlock()
		}
		return err
	}
	return nil
}

// keyOf returns the idempotency key of a new comment. A request that seems to have failed may have
// stored the comment: only the response may be lost. So if the user sends the last unsaved comment
// again, keyOf returns its old key, and the comment is not stored twice. For any other comment, it
// returns a new key. In both cases it forgets the unsaved comment.
func (f *feed) keyOf(a screen.Act) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if before := f.unsaved; before.Comment.Key != "" {
		f.unsaved = screen.Act{}
		key := before.Comment.Key
		if before.Comment.Key = ""; before == a {
			return key
		}
	}
	return rand.Text()
}

// mergeError returns an error which says why a change was not merged, and what the user can do.
func mergeError(m fleet.MergeResult) error {
	why := []string{m.Why}
	for _, more := range append([]string{m.Hint}, m.Commands...) {
		if more != "" {
			why = append(why, more)
		}
	}
	return errors.New(strings.Join(why, "; "))
}

// errorText returns the text of an error and of its hint.
func errorText(err error) string {
	if hint := exit.Hint(err); hint != "" {
		return err.Error() + "; " + hint
	}
	return err.Error()
}
