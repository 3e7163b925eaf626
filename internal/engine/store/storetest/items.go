package storetest

import (
	"errors"
	"fmt"
	"testing"

	"gaffer/internal/engine/store"
)

var items = map[string]func(*testing.T, Database){
	"items are listed by their number and id":               itemsInOrder,
	"a deleted item is not found":                           itemDropped,
	"an item can be deleted and put in one change":          itemDroppedAndPut,
	"lists of items include the changes of the transaction": itemsShowChanges,
	"a store sees the items of another process":             itemOfAnother,
	"attempts of a run are ordered by their start":          attemptsOfARun,
}

func itemName(i store.Item) string { return i.ID }

func anItemOf(kind, parent, id string, seq int64) store.Item {
	return store.Item{ItemKey: store.ItemKey{Kind: kind, ID: id}, Parent: parent, Seq: seq}
}

func itemsInOrder(t *testing.T, db Database) {
	s := open(t, db)
	ids, seqs := []string{"e", "c", "d", "b", "a"}, []int64{1, 2, 2, 4, 5}
	for _, i := range shuffled(5) {
		write(t, s, func(tx *store.Tx) {
			tx.PutItem(anItemOf("k", "p", ids[i], seqs[i]))
			tx.PutItem(anItemOf("k", "other", "x"+ids[i], seqs[i]))
			tx.PutItem(anItemOf("other", "p", ids[i], seqs[i]))
		})
	}
	look := func(list func(kind, parent string, after int64, limit int) ([]store.Item, error)) {
		t.Helper()
		all, err := list("k", "p", 0, 99)
		same(t, "all", names(all, itemName), err, "e c d b a")
		some, err := list("k", "p", 1, 3)
		same(t, "three after the first", names(some, itemName), err, "c d b")
		none, err := list("k", "p", 5, 9)
		same(t, "after the last", names(none, itemName), err, "")
	}
	read(t, s, func(r store.Reader) { look(r.Items) })
	inTx(t, s, func(tx *store.Tx) { look(tx.Items) })
}

func itemDropped(t *testing.T, db Database) {
	s := open(t, db)
	key := store.ItemKey{Kind: "k", ID: "a"}
	write(t, s, func(tx *store.Tx) {
		tx.PutItem(anItemOf("k", "p", "a", 1))
		tx.PutItem(anItemOf("k", "p", "b", 2))
	})
	gone := func(what string, err error) {
		t.Helper()
		if !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%s: error is %v, want ErrNotFound", what, err)
		}
	}
	write(t, s, func(tx *store.Tx) {
		_, err := tx.Item(key)
		same(t, "before", err, nil, nil)
		tx.DropItem(key)
		tx.DropItem(store.ItemKey{Kind: "k", ID: "never"})
		_, err = tx.Item(key)
		gone("in the change", err)
		list, err := tx.Items("k", "p", 0, 9)
		same(t, "list in the change", names(list, itemName), err, "b")
	})
	inTx(t, s, func(tx *store.Tx) {
		_, err := tx.Item(key)
		gone("in the next change", err)
	})
	read(t, s, func(r store.Reader) {
		_, err := r.Item(key)
		gone("read", err)
		list, err := r.Items("k", "p", 0, 9)
		same(t, "list", names(list, itemName), err, "b")
	})
}

func itemDroppedAndPut(t *testing.T, db Database) {
	s := open(t, db)
	write(t, s, func(tx *store.Tx) { tx.PutItem(anItemOf("k", "p", "a", 1)) })
	write(t, s, func(tx *store.Tx) {
		tx.DropItem(store.ItemKey{Kind: "k", ID: "a"})
		tx.PutItem(anItemOf("k", "p", "a", 7))
		tx.PutItem(anItemOf("k", "p", "b", 8))
		tx.DropItem(store.ItemKey{Kind: "k", ID: "b"})
	})
	read(t, s, func(r store.Reader) {
		list, err := r.Items("k", "p", 0, 9)
		same(t, "list", list, err, []store.Item{anItemOf("k", "p", "a", 7)})
	})
}

func itemsShowChanges(t *testing.T, db Database) {
	s := open(t, db)
	write(t, s, func(tx *store.Tx) {
		for i, id := range []string{"a", "b", "c", "d"} {
			tx.PutItem(anItemOf("k", "p", id, int64(i+1)))
		}
	})
	inTx(t, s, func(tx *store.Tx) {
		tx.PutItem(anItemOf("k", "elsewhere", "a", 1))
		tx.DropItem(store.ItemKey{Kind: "k", ID: "b"})
		tx.PutItem(anItemOf("k", "p", "new", 3))
		list, err := tx.Items("k", "p", 0, 2)
		same(t, "the first two", names(list, itemName), err, "c new")
		list, err = tx.Items("k", "elsewhere", 0, 9)
		same(t, "where it was moved", names(list, itemName), err, "a")
	})
}

func itemOfAnother(t *testing.T, db Database) {
	s, other := open(t, db), open(t, db)
	key := store.ItemKey{Kind: "k", ID: "n"}
	count := func(tx *store.Tx) error {
		item, err := tx.Item(key)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		item.ItemKey = key
		item.Seq++
		tx.PutItem(item)
		return nil
	}
	for range 10 {
		for _, from := range []store.Store{s, other} {
			if err := from.Write(t.Context(), count); err != nil {
				t.Error(err)
			}
		}
	}
	read(t, s, func(r store.Reader) {
		item, err := r.Item(key)
		same(t, "counted by two", item.Seq, err, 20)
	})
}

func attemptsOfARun(t *testing.T, db Database) {
	s := open(t, db)
	write(t, s, func(tx *store.Tx) {
		for _, i := range shuffled(4) {
			tx.PutAttempt(store.Attempt{ID: fmt.Sprint(i), Run: "r", Task: fmt.Sprint(i % 2), Started: at(i)})
			tx.PutAttempt(store.Attempt{ID: fmt.Sprint("x", i), Run: "other", Task: "t", Started: at(i)})
		}
	})
	read(t, s, func(r store.Reader) {
		list, err := r.AttemptsOf("r")
		same(t, "attempts", names(list, attemptName), err, "0 1 2 3")
	})
}
