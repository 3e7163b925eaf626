package workflow

import (
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"gaffer/statefile"
	"gaffer/statefile/host"
	"gaffer/statefile/jsontree"
	"gaffer/statefile/timestamp"
)

// Inbox is the queue of ideas that users leave for later commands. It is stored in inbox.json,
// apart from the workflow state, so [StartSession] does not clear it.
type Inbox struct {
	store *Store
	doc   *statefile.File
	self  *host.Process // process that was passed to [Inbox.As]; nil if As was not called
}

// As returns the inbox for use by the process self. Done and Fail of the returned inbox return an
// error for an item that another process has taken and has not abandoned; see [Item.Abandoned].
// Without this check, a process could by mistake end the work of another process.
func (b *Inbox) As(self host.Process) *Inbox { return &Inbox{b.store, b.doc, &self} }

// Path returns the file path of the inbox.
func (b *Inbox) Path() string { return b.doc.Path() }

// List reads the items of the inbox, in their order in inbox.json. It skips values that are not
// JSON objects.
func (b *Inbox) List() ([]Item, error) {
	doc, err := load(b.doc, jsontree.Array, "[]")
	if err != nil {
		return nil, err
	}
	var items []Item
	for _, v := range doc.Value().Items() {
		if v.Kind() == jsontree.Object {
			items = append(items, readItem(v))
		}
	}
	return items, nil
}

// Add appends a new pending item to the inbox and returns it.
func (b *Inbox) Add(ctx context.Context, kind ItemType, content string) (Item, error) {
	if !slices.Contains(ItemTypes(), kind) {
		return Item{}, &ArgumentError{What: fmt.Sprintf("type %q", shorten(string(kind))), Problem: "unknown, want " + joinWords(ItemTypes(), "or")}
	}
	if strings.TrimSpace(content) == "" {
		return Item{}, &ArgumentError{What: "content", Problem: "is empty"}
	}
	if err := checkText("content", content); err != nil {
		return Item{}, err
	}
	var added Item
	err := b.update(ctx, func(items *jsontree.Node) error {
		now := b.store.opts.Now()
		id, err := b.newID(items, now)
		if err != nil {
			return err
		}
		v := newObject(Field{"id", id}, Field{"type", kind}, Field{"content", content},
			Field{"timestamp", timestamp.Format(now)}, Field{"status", Pending})
		items.Append(v)
		added = readItem(v)
		return nil
	})
	return added, err
}

// newID returns a new random id that differs from the ids of all items of the inbox.
func (b *Inbox) newID(items *jsontree.Node, now time.Time) (string, error) {
	const tries = 10
	for range tries {
		var random [3]byte
		if _, err := io.ReadFull(b.store.opts.Rand, random[:]); err != nil {
			return "", fmt.Errorf("draw an id: %w", err)
		}
		id := fmt.Sprintf("inbox-%d-%s", now.UnixMilli(), hex.EncodeToString(random[:]))
		if len(withID(items, id)) == 0 {
			return id, nil
		}
	}
	return "", fmt.Errorf("draw an id: %d in a row were taken", tries)
}

// Claim says which inbox item [Inbox.Take] takes, and which process will work on it.
type Claim struct {
	ID   string   // id of the item; if empty, Take takes the oldest item that is pending or abandoned
	Type ItemType // required type of the item; empty means any type
	// Owner is the process that will work on the item. As soon as this process is known to be dead,
	// the item can be taken again. If Owner is nil, the item can be taken again after
	// AbandonedAfter. Owner is nil, for example, for 'gaffer inbox take' without --owner.
	Owner *host.Process
	// Again makes Take accept the item with the id ID even if another process may still work on it.
	// If ID is empty, Again has no effect.
	Again bool
}

// Take takes the inbox item that c selects: it sets the item's status to processing and returns the
// item.
func (b *Inbox) Take(ctx context.Context, c Claim) (Item, error) {
	var taken Item
	err := b.update(ctx, func(items *jsontree.Node) error {
		now := b.store.opts.Now()
		n, err := b.find(items, c, now)
		if err != nil {
			return err
		}
		if n.Get("status").Text() == string(ItemError) {
			n.Delete("error")
		}
		n.Set("status", Processing)
		n.Set("takenAt", timestamp.Format(now))
		n.Delete("takenBy")
		if c.Owner != nil {
			n.Set("takenBy", c.Owner)
		}
		taken = readItem(n.Value())
		return nil
	})
	return taken, err
}

// find returns the inbox item that c selects, or an error if that item cannot be taken.
func (b *Inbox) find(items *jsontree.Node, c Claim, now time.Time) (*jsontree.Node, error) {
	if c.ID == "" {
		return b.oldest(items, c.Type, now)
	}
	n, err := findItem(items, c.ID)
	if err != nil {
		return nil, err
	}
	item := readItem(n.Value())
	if c.Type != "" && item.Type != c.Type {
		return nil, &NotFoundError{What: fmt.Sprintf("inbox item %s is of type %s, not %s", item.ID, item.Type, c.Type)}
	}
	if item.Status == Processing {
		if c.Again || b.abandoned(item, now) {
			return n, nil
		}
		return nil, &TransitionError{What: "inbox item " + item.ID, From: string(Processing), To: string(Processing), Why: item.holder()}
	}
	return n, item.check(Processing)
}

func (b *Inbox) oldest(items *jsontree.Node, kind ItemType, now time.Time) (*jsontree.Node, error) {
	var found *jsontree.Node
	var since time.Time
	for _, n := range items.Items() {
		item := readItem(n.Value())
		if n.Kind() != jsontree.Object || kind != "" && item.Type != kind {
			continue
		}
		if item.Status != Pending && !b.abandoned(item, now) {
			continue
		}
		at, err := timestamp.Parse(item.Timestamp, time.UTC)
		if err != nil {
			at = now // an item without a time counts as the newest
		}
		if found == nil || at.Before(since) {
			found, since = n, at
		}
	}
	if found == nil {
		what := "nothing is pending in the inbox"
		if kind != "" {
			what = fmt.Sprintf("nothing of type %s is pending in the inbox", kind)
		}
		return nil, &NotFoundError{What: what, Next: "'gaffer inbox list' shows every item"}
	}
	return found, nil
}

// abandoned reports whether the process that took an inbox item no longer works on it; see
// [Item.Abandoned].
func (b *Inbox) abandoned(item Item, now time.Time) bool {
	var written time.Time // modification time of the inbox; zero if unknown
	if info, err := b.store.opts.Host.Stat(opLook, b.doc.Path()); err == nil {
		written = info.ModTime()
	}
	return item.Abandoned(b.store.opts.Host.Alive, written, now)
}

func (b *Inbox) isTakenByAnother(item Item) bool {
	return b.self != nil && item.Status == Processing && item.TakenBy != nil && *item.TakenBy != *b.self && !b.abandoned(item, b.store.opts.Now())
}

// Done marks an inbox item as processed. The parameter consumedBy names what has used the item,
// such as a command or a commit; it may be empty.
func (b *Inbox) Done(ctx context.Context, id, consumedBy string) (Item, error) {
	return b.finish(ctx, id, Processed, func(n *jsontree.Node) {
		if consumedBy != "" {
			n.Set("consumedBy", consumedBy)
		}
	})
}

// Fail marks an inbox item as failed. The parameter reason says why, and must not be empty.
func (b *Inbox) Fail(ctx context.Context, id, reason string) (Item, error) {
	if strings.TrimSpace(reason) == "" {
		return Item{}, &ArgumentError{What: "reason", Problem: "is empty"}
	}
	if err := checkText("reason", reason); err != nil {
		return Item{}, err
	}
	return b.finish(ctx, id, ItemError, func(n *jsontree.Node) { n.Set("error", reason) })
}

func (b *Inbox) finish(ctx context.Context, id string, to ItemStatus, note func(*jsontree.Node)) (Item, error) {
	var done Item
	err := b.update(ctx, func(items *jsontree.Node) error {
		n, err := findItem(items, id)
		if err != nil {
			return err
		}
		item := readItem(n.Value())
		if err := item.check(to); err != nil {
			return err
		}
		if b.isTakenByAnother(item) {
			return &TransitionError{What: "inbox item " + shorten(id), From: string(item.Status), To: string(to), Why: item.holder()}
		}
		n.Set("status", to)
		n.Delete("takenAt")
		n.Delete("takenBy")
		note(n)
		done = readItem(n.Value())
		return nil
	})
	return done, err
}

// Dismiss deletes an item from the inbox, whatever its status, and returns the item.
func (b *Inbox) Dismiss(ctx context.Context, id string) (Item, error) {
	var gone Item
	err := b.update(ctx, func(items *jsontree.Node) error {
		if _, err := findItem(items, id); err != nil {
			return err
		}
		at := withID(items, id)[0]
		for i, n := range items.Items() {
			if i == at {
				gone = readItem(n.Value())
			}
		}
		items.Remove(at)
		return nil
	})
	return gone, err
}

func (b *Inbox) update(ctx context.Context, change func(items *jsontree.Node) error) error {
	return b.store.edit(ctx, b.doc, "[]", func(doc *jsontree.Doc) error {
		if err := replaceEmpty(doc, b.doc.Path(), jsontree.Array, "[]"); err != nil {
			return err
		}
		return change(doc.Root())
	})
}

// findItem returns the inbox item with this id. It returns an error if there is no such item or
// more than one.
func findItem(items *jsontree.Node, id string) (*jsontree.Node, error) {
	at := withID(items, id)
	switch len(at) {
	case 0:
		return nil, &NotFoundError{What: fmt.Sprintf("no inbox item %q", shorten(id)), Next: "'gaffer inbox list' shows every item"}
	case 1:
		for i, n := range items.Items() {
			if i == at[0] {
				return n, nil
			}
		}
	}
	return nil, &ShapeError{At: "the inbox", Want: "one item with the id " + shorten(id), Found: fmt.Sprintf("a list with %d", len(at))}
}

func withID(items *jsontree.Node, id string) []int {
	var at []int
	for i, n := range items.Items() {
		if n.Kind() == jsontree.Object && n.Get("id").Text() == id && id != "" {
			at = append(at, i)
		}
	}
	return at
}
