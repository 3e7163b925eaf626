package workflow

import (
	"context"
	"strings"

	"gaffer/statefile/host"
	"gaffer/statefile/jsontree"
	"gaffer/statefile/timestamp"
)

// Conclusion is the result of the work on an inbox item. If Error is not empty, the work failed.
type Conclusion struct {
	// Analysis contains the members to set in the object analysis of the inbox item. Other members
	// of this object stay unchanged.
	Analysis []Field
	Error    string
}

// Conclude ends the work on an inbox item: it stores the result and marks the item as processed or
// failed. The parameter taken is the item as [Inbox.Take] or [Inbox.Retake] returned it. Conclude
// fails if another process has taken the item since then, so that a late result does not overwrite
// a newer one.
func (b *Inbox) Conclude(ctx context.Context, taken Item, c Conclusion) (Item, error) {
	if err := c.check(); err != nil {
		return Item{}, err
	}
	var done Item
	err := b.update(ctx, func(items *jsontree.Node) error {
		n, err := findClaimed(items, taken)
		if err != nil {
			return err
		}
		if err := c.write(n); err != nil {
			return err
		}
		n.Delete("takenAt")
		n.Delete("takenBy")
		done = readItem(n.Value())
		return nil
	})
	return done, err
}

func (c Conclusion) check() error {
	if err := checkText("error", c.Error); err != nil {
		return err
	}
	for _, f := range c.Analysis {
		if text, ok := f.Value.(string); ok {
			if err := checkText("analysis."+f.Name, text); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c Conclusion) write(n *jsontree.Node) error {
	if len(c.Analysis) > 0 {
		analysis, err := object(n, "analysis of inbox item "+shorten(n.Get("id").Text()), "analysis")
		if err != nil {
			return err
		}
		for _, f := range c.Analysis {
			analysis.Set(f.Name, f.Value)
		}
	}
	if strings.TrimSpace(c.Error) == "" {
		n.Set("status", Processed)
		return nil
	}
	n.Set("status", ItemError)
	n.Set("error", c.Error)
	return nil
}

// findClaimed returns the JSON node of the inbox item that the caller has taken. It returns an
// error if the item has since been taken again or concluded. A node is the right one if its item is
// still being processed and has the same id, owner and time of taking as the parameter taken. The
// id alone is not enough, because several items may have the same id or none.
func findClaimed(items *jsontree.Node, taken Item) (*jsontree.Node, error) {
	for _, n := range items.Items() {
		if now := readItem(n.Value()); n.Kind() == jsontree.Object && now.sameClaim(taken) {
			return n, nil
		}
	}
	n, err := findItem(items, taken.ID)
	if err != nil {
		return nil, err
	}
	now := readItem(n.Value())
	return nil, &TransitionError{
		What: "inbox item " + shorten(taken.ID), From: string(now.Status), To: string(Processed),
		Why: "it is no longer held by the process that took it at " + shorten(taken.TakenAt),
	}
}

func (i Item) sameClaim(taken Item) bool {
	if i.Status != Processing || i.ID != taken.ID || i.TakenAt != taken.TakenAt {
		return false
	}
	if i.TakenBy == nil || taken.TakenBy == nil {
		return i.TakenBy == taken.TakenBy
	}
	return *i.TakenBy == *taken.TakenBy
}

// Retake takes a processed inbox item again, so that the process owner can work on it. It does so
// only if the function mayRetake returns true for the item. mayRetake is called while the inbox is
// locked, so only one of several callers gets the item. If the item's status is not processed, or
// mayRetake returns false, Retake returns a [*TransitionError].
func (b *Inbox) Retake(ctx context.Context, id string, owner host.Process, mayRetake func(Item) bool) (Item, error) {
	var taken Item
	err := b.update(ctx, func(items *jsontree.Node) error {
		n, err := findItem(items, id)
		if err != nil {
			return err
		}
		item := readItem(n.Value())
		if item.Status != Processed || !mayRetake(item) {
			return &TransitionError{
				What: "inbox item " + shorten(id), From: shorten(string(item.Status)), To: string(Processing),
				Why: "nothing is left to do for it",
			}
		}
		n.Set("status", Processing)
		n.Set("takenAt", timestamp.Format(b.store.opts.Now()))
		n.Set("takenBy", owner)
		taken = readItem(n.Value())
		return nil
	})
	return taken, err
}
