package workflow

import (
	"fmt"
	"slices"
	"time"

	"gaffer/statefile/host"
	"gaffer/statefile/jsontree"
	"gaffer/statefile/timestamp"
)

// ItemType is the type of an inbox item.
type ItemType string

// The types of inbox items.
const (
	EvolveItem    ItemType = "evolve"
	ReferenceItem ItemType = "reference"
	FeatureItem   ItemType = "feature"
)

// ItemTypes lists every type of inbox item.
func ItemTypes() []ItemType { return []ItemType{EvolveItem, ReferenceItem, FeatureItem} }

// ItemStatus is the status of an inbox item. If another program has written a status that the
// workflow protocol does not define, gaffer shows it and does not change it.
type ItemStatus string

// The statuses of inbox items.
const (
	Pending    ItemStatus = "pending"
	Processing ItemStatus = "processing"
	Processed  ItemStatus = "processed"
	ItemError  ItemStatus = "error"
)

// itemNext maps each status of an inbox item to the statuses that may follow it. There are three
// exceptions: [Inbox.Dismiss] deletes an item in any status; [Inbox.Take] also accepts an item that
// is already taken, if the item is abandoned or [Claim].Again is set; and [Inbox.Retake] accepts a
// processed item.
var itemNext = map[ItemStatus][]ItemStatus{
	Pending:    {Processing, Processed, ItemError},
	Processing: {Processed, ItemError},
	ItemError:  {Processing, Processed},
	Processed:  {},
}

// ItemStatuses lists every status of an inbox item.
func ItemStatuses() []ItemStatus { return []ItemStatus{Pending, Processing, Processed, ItemError} }

// Item is one entry of the inbox: an idea, a URL or the description of a feature.
type Item struct {
	ID        string     `json:"id"`
	Type      ItemType   `json:"type"`
	Content   string     `json:"content"`
	Timestamp string     `json:"timestamp"`
	Status    ItemStatus `json:"status"`

	Analysis   *Analysis      `json:"analysis,omitempty"`   // result of analysing the item; not part of the workflow protocol
	ConsumedBy jsontree.Value `json:"consumedBy,omitempty"` // what has used the item; other programs write values of any JSON type
	Error      string         `json:"error,omitempty"`
	TakenAt    string         `json:"takenAt,omitempty"`
	TakenBy    *host.Process  `json:"-"`

	Raw jsontree.Value `json:"-"` // the complete item as it is in inbox.json
}

// Analysis says which sections of the spec an inbox item affects, and why.
type Analysis struct {
	AffectedSections []string `json:"affectedSections"`
	Summary          string   `json:"summary"`
}

// AbandonedAfter is the time after which a taken inbox item may be taken again, if it is unknown
// whether the process that took it is alive.
const AbandonedAfter = time.Hour

func readItem(v jsontree.Value) Item {
	item := Item{Raw: v}
	jsontree.Decode(v, &item) // fields of an unexpected type stay empty; Raw has their values
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

// Abandoned reports whether the process that took the inbox item no longer works on it. That is so
// if the process is dead. If it is unknown whether the process is alive, Abandoned returns true if
// the item was taken at least AbandonedAfter ago. The parameter written is the time of the last
// change of inbox.json. It is used if takenAt is missing, because the item cannot have been taken
// after the last change.
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

// since returns when the inbox item was taken. If the item has no valid takenAt, since returns the
// latest time at which the item can have been taken: the time of the last change of inbox.json
// (written) or, if that is later, the item's timestamp.
func (i Item) since(written time.Time) time.Time {
	if at, err := timestamp.Parse(i.TakenAt, time.UTC); err == nil {
		return at
	}
	if at, err := timestamp.Parse(i.Timestamp, time.UTC); err == nil && at.After(written) {
		return at
	}
	return written
}

// holder returns a text that says who took the inbox item and when, for an error message.
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
