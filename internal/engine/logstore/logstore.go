// Package logstore stores the output of attempts as items of the store. It keeps the last bytes of
// each log, up to a limit. A log consists of pieces and a head. Each piece is an item with a part
// of the output. The head is an item with the range of bytes that is kept. Appending takes the same
// time for long and short logs.
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

// DefaultKeep is how many bytes of an attempt's log are kept by default.
const DefaultKeep = 8 << 20

// The kinds of the store items of a log. The id of the attempt is the parent of the items with the
// pieces. It is also the id of the item with the head.
const (
	PieceKind = "log"
	HeadKind  = "log-head"
)

const (
	maxPiece = 64 << 10 // maximum number of bytes in one piece
	// If the last piece has fewer bytes than smallPiece, new data is added to that piece. If not, a
	// new piece is created.
	smallPiece = 4 << 10
)

// GapError rejects data that starts after the end of the log. The log was not changed.
type GapError struct {
	Attempt string
	Want    int64 // the offset that was expected: the end of the log
	Got     int64
}

func (e *GapError) Error() string {
	return fmt.Sprintf("log of attempt %s: offset %d does not follow: want %d", e.Attempt, e.Got, e.Want)
}

// Conflict returns true, so that commands exit with code 4 and the server answers with status 409.
func (e *GapError) Conflict() bool { return true }

// Offset returns the expected offset: the end of the log.
func (e *GapError) Offset() int64 { return e.Want }

// Code returns the error code that the server sends to the worker.
func (e *GapError) Code() string { return "log_gap" }

// EndedError rejects data for a log that is marked as complete. The log was not changed.
type EndedError struct{ Attempt string }

func (e *EndedError) Error() string { return fmt.Sprintf("log of attempt %s: has ended", e.Attempt) }

// Conflict returns true, so that commands exit with code 4 and the server answers with status 409.
func (e *EndedError) Conflict() bool { return true }

// head describes which bytes of a log are kept.
type head struct {
	From int64 `json:"from"` // offset in the log of the first byte that is kept
	Next int64 `json:"next"` // offset after the last byte of the log
	Last int64 `json:"last"` // offset of the first byte of the last piece
	Done bool  `json:"done,omitempty"`
}

func headKey(attempt string) store.ItemKey { return store.ItemKey{Kind: HeadKind, ID: attempt} }

func pieceKey(attempt string, at int64) store.ItemKey {
	return store.ItemKey{Kind: PieceKind, ID: attempt + "@" + strconv.FormatInt(at, 10)}
}

// items looks up store items, in a transaction or in a read-only snapshot.
type items interface {
	Item(key store.ItemKey) (store.Item, error)
	Items(kind, parent string, after int64, limit int) ([]store.Item, error)
}

func readHead(r items, attempt string) (h head, err error) {
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

// Append adds data to the log of an attempt, and returns the offset of the next byte to append.
// offset is the position of data in the log. Append skips the part of data that is already stored,
// so a request may be repeated. It returns a [*GapError] if offset is beyond the end of the log,
// and an [*EndedError] if the log is complete and data continues after its end. It keeps the last
// limit bytes of the log, and at most one piece more.
func Append(s *engine.Tx, attempt string, offset int64, data []byte, limit int64) (next int64, err error) {
	return write(s, attempt, offset, data, limit, false)
}

// End does the same as [Append] and marks the log as complete.
func End(s *engine.Tx, attempt string, offset int64, data []byte, limit int64) (next int64, err error) {
	return write(s, attempt, offset, data, limit, true)
}

func write(s *engine.Tx, attempt string, offset int64, data []byte, keep int64, last bool) (int64, error) {
	before, err := readHead(s, attempt)
	if err != nil {
		return 0, err
	}
	h := before
	if offset > h.Next {
		return 0, &GapError{attempt, h.Next, offset}
	}
	data = data[min(h.Next-offset, int64(len(data))):]
	if h.Done && len(data) > 0 {
		return 0, &EndedError{attempt}
	}
	w := writer{Tx: s, attempt: attempt, head: &h}
	if err := w.add(data); err != nil {
		return 0, err
	}
	if err := w.trim(keep); err != nil {
		return 0, err
	}
	if h.Done = h.Done || last; h != before {
		w.put(headKey(attempt), "", 0, h)
	}
	return h.Next, nil
}

// writer changes the log of one attempt.
type writer struct {
	*engine.Tx
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

// add appends data to the log. If the last piece is short, add extends it, so that many short
// outputs do not create a row each.
func (w writer) add(data []byte) error {
	h := w.head
	if n := h.Next - h.Last; len(data) > 0 && n > 0 && n < smallPiece {
		piece, err := w.Item(pieceKey(w.attempt, h.Last))
		if err != nil {
			return fmt.Errorf("the last piece of the log of attempt %s: %w", w.attempt, err)
		}
		text, err := pieceBytes(piece)
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

// piecesAtOnce is how many pieces are read from the store at once.
const piecesAtOnce = 16

// trim deletes the pieces that are not needed for the last limit bytes of the log.
func (w writer) trim(limit int64) error {
	h := w.head
	for h.Next-h.From > limit {
		list, err := w.Items(PieceKind, w.attempt, h.From-1, piecesAtOnce)
		if err != nil {
			return err
		}
		from := h.From
		for i := 0; i+1 < len(list) && list[i+1].Seq <= h.Next-limit; i++ {
			w.DropItem(list[i].ItemKey)
			h.From = list[i+1].Seq
		}
		if h.From == from {
			return nil
		}
	}
	return nil
}

// Drop deletes some pieces of an attempt's log. If unfinished is true, pieces may be left, and Drop
// must be called again. After the last piece, Drop deletes the head.
func Drop(s *engine.Tx, attempt string) (unfinished bool, err error) {
	list, err := s.Items(PieceKind, attempt, -1, piecesAtOnce)
	if err != nil {
		return false, err
	}
	for _, piece := range list {
		s.DropItem(piece.ItemKey)
	}
	if len(list) == piecesAtOnce {
		return true, nil
	}
	s.DropItem(headKey(attempt))
	return false, nil
}

// pieceBytes returns the bytes of a piece, which is stored as a JSON string in base64. To save
// time, it does not use a JSON parser.
func pieceBytes(piece store.Item) ([]byte, error) {
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
