package notify

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"time"

	"gaffer/internal/store"
)

// tidy takes away what was told long ago, and how far runs were read that have
// ended long ago.
func (b *book) tidy(ctx context.Context, now time.Time) error {
	before := now.Add(-keep)
	return b.store.Write(ctx, store.Need{}, func(tx *store.Tx) error {
		told, err := tx.Items(noteKind, b.channel, math.MinInt64, tidyMost)
		if err != nil {
			return err
		}
		for _, item := range told {
			if item.Seq < before.UnixMilli() {
				tx.DropItem(item.ItemKey)
			}
		}
		cursors, err := tx.Items(cursorKind, b.channel, math.MinInt64, tidyMost)
		for _, item := range cursors {
			if err := b.tidyCursor(tx, item, before); err != nil {
				return err
			}
		}
		return err
	})
}

func (b *book) tidyCursor(tx *store.Tx, item store.Item, before time.Time) error {
	_, run, _ := cutLast(item.ID)
	if run == everything || !item.Made.Before(before) {
		return nil
	}
	r, err := tx.Run(run)
	if errors.Is(err, store.ErrNotFound) || err == nil && r.Status.Final() {
		tx.DropItem(item.ItemKey)
		return nil
	}
	return err
}

// cutLast cuts a text at its last space.
func cutLast(text string) (before, after string, found bool) {
	for i := len(text) - 1; i >= 0; i-- {
		if text[i] == ' ' {
			return text[:i], text[i+1:], true
		}
	}
	return text, "", false
}

// Record is a note and what became of it.
type Record struct {
	Channel string    `json:"channel"` // its name
	State   State     `json:"state"`
	Queued  time.Time `json:"queued"`
	Ended   time.Time `json:"ended,omitzero"`
	Why     string    `json:"why,omitempty"`  // it was not told, or not yet
	With    string    `json:"with,omitempty"` // the digest that it was told in
	Note    Note      `json:"note"`
}

// Lately returns what was told over channels since a time, and what waits to be,
// the latest first.
func Lately(ctx context.Context, s store.Store, channels []Channel, since time.Time) (list []Record, err error) {
	err = s.Read(ctx, func(r store.Reader) error {
		list = nil
		for _, c := range channels {
			for parent, after := range map[string]int64{c.Key(): since.UnixMilli() - 1, openList(c.Key()): math.MinInt64} {
				found, err := r.Items(noteKind, parent, after, math.MaxInt32)
				if err != nil {
					return err
				}
				for _, item := range found {
					var e entry
					if err := json.Unmarshal(item.Data, &e); err != nil {
						return err
					}
					list = append(list, e.record(c))
				}
			}
		}
		return nil
	})
	slices.SortStableFunc(list, func(a, b Record) int { return b.Queued.Compare(a.Queued) })
	return list, err
}

func (e entry) record(c Channel) Record {
	r := Record{Channel: c.Name(), State: e.State, Queued: e.Queued, Ended: e.Ended, Why: e.Why, Note: e.Note}
	if e.Batch != e.Note.ID {
		r.With = e.Batch
	}
	return r
}
