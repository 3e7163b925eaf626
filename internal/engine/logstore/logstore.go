// Package logstore keeps what attempts say, in the store: the last so many bytes
// of each, as pieces that are items, and beside them one item that says where the
// kept part begins and ends. To append costs the same however long the log is.
package logstore

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"gaffer/internal/engine"
	"gaffer/internal/engine/store"
)

// DefaultKeep is how many bytes of an attempt's log are kept.
const DefaultKeep = 8 << 20

// The kinds of the items that a log is kept as: pieces, whose parent is the
// attempt, and a head, whose id is the attempt's.
const (
	Piece = "log"
	Head  = "log-head"
)

const (
	maxPiece = 64 << 10 // of the bytes in one piece
	small    = 4 << 10  // pieces shorter than this grow
)

// GapError is a piece that does not follow what is there. Nothing was changed.
type GapError struct {
	Attempt string
	Want    int64 // the offset that is wanted
	Got     int64
}

func (e *GapError) Error() string {
	return fmt.Sprintf("log of attempt %s: offset %d does not follow: want %d", e.Attempt, e.Got, e.Want)
}

// Conflict marks the error as one about what is there.
func (e *GapError) Conflict() bool { return true }

// Offset is the one that is wanted.
func (e *GapError) Offset() int64 { return e.Want }

// Code is the protocol's word.
func (e *GapError) Code() string { return "log_gap" }

// OverError is a piece that comes after the end. Nothing was changed.
type OverError struct{ Attempt string }

func (e *OverError) Error() string { return fmt.Sprintf("log of attempt %s: has ended", e.Attempt) }

// Conflict marks the error as one about what is there.
func (e *OverError) Conflict() bool { return true }

// head is what is known of a log as a whole.
type head struct {
	From int64 `json:"from"` // the offset of the first byte that is kept
	Next int64 `json:"next"` // the offset after the last byte
	Last int64 `json:"last"` // where the last piece begins
	Done bool  `json:"done,omitempty"`
}

// Need is what an append to a log will look up.
func Need(attempt string) []store.ItemKey { return []store.ItemKey{headKey(attempt)} }

func headKey(attempt string) store.ItemKey { return store.ItemKey{Kind: Head, ID: attempt} }

func pieceKey(attempt string, at int64) store.ItemKey {
	return store.ItemKey{Kind: Piece, ID: attempt + "@" + strconv.FormatInt(at, 10)}
}

// items looks items up: a transaction, or a reader.
type items interface {
	Item(key store.ItemKey) (store.Item, error)
	Items(kind, parent string, after int64, limit int) ([]store.Item, error)
}

func headOf(r items, attempt string) (h head, err error) {
	item, err := r.Item(headKey(attempt))
	if errors.Is(err, store.ErrNotFound) {
		return h, nil
	}
	if err != nil {
		return h, err
	}
	if err := json.Unmarshal(item.Data, &h); err != nil {
		return h, fmt.Errorf("stored log of attempt %s: %w", attempt, err)
	}
	return h, nil
}

// Append adds data that begins at an offset to the log of an attempt, and returns
// the offset of what is wanted next. What is there already is passed over, so that
// it may be said twice; what leaves a gap is a [*GapError]. Of the log at least the
// last keep bytes are kept, and at most a piece more.
func Append(s *engine.Step, attempt string, offset int64, data []byte, keep int64) (next int64, err error) {
	return write(s, attempt, offset, data, keep, false)
}

// End is [Append] of the last that comes: whoever follows the log is at its end.
func End(s *engine.Step, attempt string, offset int64, data []byte, keep int64) (next int64, err error) {
	return write(s, attempt, offset, data, keep, true)
}

func write(s *engine.Step, attempt string, offset int64, data []byte, keep int64, last bool) (int64, error) {
	before, err := headOf(s, attempt)
	if err != nil {
		return 0, err
	}
	h := before
	if offset > h.Next {
		return 0, &GapError{attempt, h.Next, offset}
	}
	data = data[min(h.Next-offset, int64(len(data))):]
	if h.Done && len(data) > 0 {
		return 0, &OverError{attempt}
	}
	w := writer{Step: s, attempt: attempt, head: &h}
	if err := w.add(data); err != nil {
		return 0, err
	}
	if err := w.forget(keep); err != nil {
		return 0, err
	}
	if h.Done = h.Done || last; h != before {
		w.put(headKey(attempt), "", 0, h)
	}
	return h.Next, nil
}

// writer changes one log.
type writer struct {
	*engine.Step
	attempt string
	head    *head
}

func (w writer) put(key store.ItemKey, parent string, seq int64, value any) {
	text, err := json.Marshal(value)
	if err != nil {
		panic("logstore: numbers and base64 without JSON: " + err.Error())
	}
	w.PutItem(store.Item{ItemKey: key, Parent: parent, Seq: seq, Data: text, Made: w.Now()})
}

// add puts data behind what is there. Short pieces grow, so that an agent that
// says little at a time does not make a row of each word.
func (w writer) add(data []byte) error {
	h := w.head
	if n := h.Next - h.Last; len(data) > 0 && n > 0 && n < small {
		piece, err := w.Item(pieceKey(w.attempt, h.Last))
		if err != nil {
			return fmt.Errorf("the last piece of the log of attempt %s: %w", w.attempt, err)
		}
		text, err := textOf(piece)
		if err != nil {
			return err
		}
		data, h.Next = append(text, data...), h.Last
	}
	for len(data) > 0 {
		n := min(len(data), maxPiece)
		w.put(pieceKey(w.attempt, h.Next), w.attempt, h.Next, base64.StdEncoding.EncodeToString(data[:n]))
		h.Last, h.Next = h.Next, h.Next+int64(n)
		data = data[n:]
	}
	return nil
}

// page is how many pieces are looked at together.
const page = 16

// forget drops the pieces that lie wholly before the last keep bytes.
func (w writer) forget(keep int64) error {
	h := w.head
	for h.Next-h.From > keep {
		list, err := w.Items(Piece, w.attempt, h.From-1, page)
		if err != nil {
			return err
		}
		from := h.From
		for i := 0; i+1 < len(list) && list[i+1].Seq <= h.Next-keep; i++ {
			w.DropItem(list[i].ItemKey)
			h.From = list[i+1].Seq
		}
		if h.From == from {
			return nil
		}
	}
	return nil
}

// Drop takes pieces of a log away, at most a page of them, and reports whether
// there may be more. With the last of them all that is known of the log is gone.
func Drop(s *engine.Step, attempt string) (more bool, err error) {
	list, err := s.Items(Piece, attempt, -1, page)
	if err != nil {
		return false, err
	}
	for _, piece := range list {
		s.DropItem(piece.ItemKey)
	}
	if len(list) == page {
		return true, nil
	}
	s.DropItem(headKey(attempt))
	return false, nil
}

// textOf reads base64 between quotes, which is JSON that needs no parser: a log is
// read in hundreds of megabytes.
func textOf(piece store.Item) ([]byte, error) {
	data := piece.Data
	if len(data) < 2 || data[0] != '"' || data[len(data)-1] != '"' {
		return nil, fmt.Errorf("stored piece %s of a log: is no text", piece.ID)
	}
	text, err := base64.StdEncoding.AppendDecode(nil, data[1:len(data)-1])
	if err != nil {
		return nil, fmt.Errorf("stored piece %s of a log: %w", piece.ID, err)
	}
	return text, nil
}
