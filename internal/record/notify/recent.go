package notify

import (
	"context"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"time"

	"gaffer/internal/engine/store"
)

// deleteOld deletes old notifications of this channel that are no longer queued. It also deletes
// the channel's old cursors for runs that have ended. A cursor stores how far the notifiers of the
// channel have read the events of a run.
func (b *channelState) deleteOld(ctx context.Context, now time.Time) error {
	var old []store.ItemKey
	err := b.store.Read(ctx, func(r store.Reader) (err error) {
		old, err = b.deletable(r, now.Add(-keepSent))
		return err
	})
	if err != nil || len(old) == 0 {
		return err
	}
	return b.store.Write(ctx, func(tx *store.Tx) error {
		for _, key := range old {
			tx.DropItem(key)
		}
		return nil
	})
}

// deletable returns the keys of the items that deleteOld may delete: notifications that were
// queued, and cursors that were last stored, before the time cutoff. A notification must no longer
// be queued, and the run of a cursor must have ended or must no longer exist.
func (b *channelState) deletable(r store.Reader, cutoff time.Time) (keys []store.ItemKey, err error) {
	closed, err := r.Items(noteKind, b.channel, math.MinInt64, deleteBatch)
	if err != nil {
		return nil, err
	}
	for _, item := range closed {
		if item.Seq < cutoff.UnixMicro() {
			keys = append(keys, item.ItemKey)
		}
	}
	cursors, err := r.Items(cursorKind, b.channel, math.MinInt64, deleteBatch)
	for _, item := range cursors {
		if !item.Made.Before(cutoff) || strings.HasSuffix(item.ID, " "+everything) {
			continue
		}
		run, err := r.Run(item.ID[strings.LastIndex(item.ID, " ")+1:])
		if ignoreNotFound(err) != nil {
			return nil, err
		}
		if err != nil || run.Status.Final() {
			keys = append(keys, item.ItemKey)
		}
	}
	return keys, err
}

// Record describes a notification and its state for the user.
type Record struct {
	Channel string       `json:"channel"` // name of the channel
	State   State        `json:"state"`
	Queued  time.Time    `json:"queued"`
	Ended   time.Time    `json:"ended,omitzero"`
	Why     string       `json:"why,omitempty"`  // why the notification was not sent, or was not sent yet
	With    string       `json:"with,omitempty"` // id of the digest, which combines this notification with others; else empty
	Note    Notification `json:"note"`
}

// Recent returns the notifications of all channels, latest first. It returns those that were queued
// at the time since or later, and older ones that are still queued. If err is nil, the list is not
// nil.
func Recent(ctx context.Context, s store.Store, channels []Channel, since time.Time) (list []Record, err error) {
	err = s.Read(ctx, func(r store.Reader) error {
		list = []Record{}
		for _, c := range channels {
			for parent, after := range map[string]int64{c.Key(): since.UnixMicro() - 1, queueOf(c.Key()): math.MinInt64} {
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
