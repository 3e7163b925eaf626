package store

import (
	"cmp"
	"math"
)

// itemChange is a change of an item by a request: the item was added or replaced, or it was
// deleted.
type itemChange struct {
	item    Item
	deleted bool
}

func itemsOf(r *rows) *table[ItemKey, itemChange] { return &r.items }

// changedItems returns the items that were added or replaced, and the keys of the items that were
// deleted. If the same item was both put and deleted, only the later change counts.
func (r *rows) changedItems() (put []Item, dropped []ItemKey) {
	for i := range r.items.rows {
		if change := &r.items.rows[i]; change.deleted {
			dropped = append(dropped, change.item.ItemKey)
		} else {
			put = append(put, change.item)
		}
	}
	return put, dropped
}

// Item returns the item with the given key, or [ErrNotFound].
func (tx *Tx) Item(key ItemKey) (Item, error) {
	change, err := get(tx, itemsOf, key, func(key ItemKey) (itemChange, error) {
		item, err := tx.stored.Item(key)
		return itemChange{item: item}, err
	})
	if err == nil && change.deleted {
		return Item{}, ErrNotFound
	}
	return change.item, err
}

// PutItem adds an item, or replaces the item with the same kind and id.
func (tx *Tx) PutItem(i Item) { tx.own.items.put(i.ItemKey, itemChange{item: i}) }

// DropItem deletes the item with the given key, if it exists.
func (tx *Tx) DropItem(key ItemKey) {
	tx.own.items.put(key, itemChange{item: Item{ItemKey: key}, deleted: true})
}

// Items returns the items with the given kind and parent whose Seq is greater than cursor. It
// returns at most limit items, in the order of Seq.
func (tx *Tx) Items(kind, parent string, cursor int64, limit int) ([]Item, error) {
	fetch := limit
	// Fetch more than limit items, because the transaction may have deleted some of them. But do
	// not do so if limit is MaxInt32, which means: all items. Then the query does not depend on how
	// many items the transaction has changed, so a [Loader] needs to load its result only once.
	if limit < math.MaxInt32 {
		fetch += len(tx.earlier.items.keys) + len(tx.own.items.keys)
	}
	stored, err := tx.stored.Items(kind, parent, cursor, fetch)
	changes := make([]itemChange, len(stored))
	for i, item := range stored {
		changes[i].item = item
	}
	changes, err = overlay(tx, itemsOf, changes, err, func(c itemChange) ItemKey { return c.item.ItemKey },
		func(c *itemChange) bool { return !c.deleted && c.item.in(kind, parent, cursor) },
		func(a, b itemChange) int { return ByItemSeq(a.item, b.item) })
	list := make([]Item, 0, min(limit, len(changes)))
	for _, change := range changes[:min(limit, len(changes))] {
		list = append(list, change.item)
	}
	return list, err
}

func (i *Item) in(kind, parent string, after int64) bool {
	return i.Kind == kind && i.Parent == parent && i.Seq > after
}

// In reports whether the item i has the given kind and parent, and a Seq greater than cursor.
func (i Item) In(kind, parent string, cursor int64) bool { return i.in(kind, parent, cursor) }

// ByItemSeq compares two items, to sort them by Seq and then by ID.
func ByItemSeq(a, b Item) int { return cmp.Or(cmp.Compare(a.Seq, b.Seq), cmp.Compare(a.ID, b.ID)) }
