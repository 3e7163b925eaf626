package workflow

import (
	"fmt"
	"slices"
	"time"

	"gaffer/statefile/host"
	"gaffer/statefile/jsontree"
	"gaffer/statefile/timestamp"
)

// ItemType is what an item asks for.
type ItemType string

// The types of items.
const (
	EvolveItem    ItemType = "evolve"
	ReferenceItem ItemType = "reference"
	FeatureItem   ItemType = "feature"
)

// ItemTypes lists every type.
func ItemTypes() []ItemType { return []ItemType{EvolveItem, ReferenceItem, FeatureItem} }

// ItemStatus is where an item is. Words that the protocol does not know are
// shown as they are.
type ItemStatus string

// The statuses of items.
const (
	Pending    ItemStatus = "pending"
	Processing ItemStatus = "processing"
	Processed  ItemStatus = "processed"
	ItemError  ItemStatus = "error"
)

// itemNext lists what may follow a status. An item may also be dismissed at any
// time, and one that is processing is taken again if whoever took it is gone.
var itemNext = map[ItemStatus][]ItemStatus{
	Pending:    {Processing, Processed, ItemError},
	Processing: {Processed, ItemError},
	ItemError:  {Processing, Processed},
	Processed:  {},
}

// ItemStatuses lists every status.
func ItemStatuses() []ItemStatus { return []ItemStatus{Pending, Processing, Processed, ItemError} }

// Item is one idea, URL or feature description.
type Item struct {
	ID        string     `json:"id"`
	Type      ItemType   `json:"type"`
	Content   string     `json:"content"`
	Timestamp string     `json:"timestamp"`
	Status    ItemStatus `json:"status"`

	Analysis   *Analysis      `json:"analysis,omitempty"`   // the protocol does not have it
	ConsumedBy jsontree.Value `json:"consumedBy,omitempty"` // set by other programs, in any form
	Error      string         `json:"error,omitempty"`
	TakenAt    string         `json:"takenAt,omitempty"`
	TakenBy    *host.Process  `json:"-"`

	Raw jsontree.Value `json:"-"` // all of it
}

// Analysis is what another program found out about an item.
type Analysis struct {
	AffectedSections []string `json:"affectedSections"`
	Summary          string   `json:"summary"`
}

// AbandonedAfter is when an item that is processing may be taken again although
// nobody can tell whether the process that took it lives.
const AbandonedAfter = time.Hour

func readItem(v jsontree.Value) Item {
	item := Item{Raw: v}
	jsontree.Decode(v, &item) // what does not fit stays in Raw
	if by := v.Get("takenBy"); by.Kind() == jsontree.Object {
		item.TakenBy = readProcess(by)
	}
	return item
}

func readProcess(v jsontree.Value) *host.Process {
	pid, _ := v.Get("pid").Int()
	start, _ := v.Get("start").Int()
	return &host.Process{
		PID: int(pid), Start: uint64(start), Boot: v.Get("boot").Text(),
		Space: v.Get("space").Text(), Host: v.Get("host").Text(),
	}
}

// Abandoned reports whether the item is left over from a process that is gone:
// provably dead, or not to be judged from here and at it for AbandonedAfter.
// written is when the inbox was last changed: a program that says "processing"
// and not since when cannot have begun after that.
func (i Item) Abandoned(alive func(host.Process) host.Liveness, written, now time.Time) bool {
	if i.Status != Processing {
		return false
	}
	if i.TakenBy != nil {
		switch alive(*i.TakenBy) {
		case host.Alive:
			return false
		case host.Dead:
			return true
		}
	}
	return now.Sub(i.since(written)) >= AbandonedAfter
}

// since is the latest moment at which the item can have been taken.
func (i Item) since(written time.Time) time.Time {
	if at, err := timestamp.Parse(i.TakenAt, time.UTC); err == nil {
		return at
	}
	if at, err := timestamp.Parse(i.Timestamp, time.UTC); err == nil && at.After(written) {
		return at
	}
	return written
}

// holder says in words who is at an item.
func (i Item) holder() string {
	text := "it was taken"
	if i.TakenBy != nil {
		text += fmt.Sprintf(" by process %d on %s", i.TakenBy.PID, i.TakenBy.Host)
	}
	if i.TakenAt != "" {
		text += " at " + shorten(i.TakenAt)
	}
	return text + " and is not known to be abandoned"
}

func (i Item) check(to ItemStatus) error {
	may, known := itemNext[i.Status]
	if slices.Contains(may, to) {
		return nil
	}
	e := &TransitionError{What: "inbox item " + shorten(i.ID), From: string(i.Status), To: string(to)}
	for _, s := range may {
		e.May = append(e.May, string(s))
	}
	if !known {
		e.From = fmt.Sprintf("%q", shorten(string(i.Status)))
		e.Why = "that status is another program's, so what may follow is not known; the item can be dismissed"
	}
	return e
}
