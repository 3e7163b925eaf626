package logstore

import (
	"gaffer/internal/engine/store"
)

// Span returns which part of an attempt's log is kept: the offset of its first
// byte and the one after its last. A log that nobody has begun is empty.
func Span(r store.Reader, attempt string) (from, to int64, err error) {
	h, err := headOf(r, attempt)
	return h.From, h.Next, err
}

// Done reports whether an attempt's log is complete: nothing will follow.
func Done(r store.Reader, attempt string) (bool, error) {
	h, err := headOf(r, attempt)
	return h.Done, err
}

// Read returns what is kept of a log from an offset on, at most limit bytes. Before
// what is kept, and after it, there is nothing: see [Span].
func Read(r store.Reader, attempt string, offset int64, limit int) ([]byte, error) {
	h, err := headOf(r, attempt)
	if err != nil || offset < h.From || offset >= h.Next {
		return nil, err
	}
	var out []byte
	at := offset - maxPiece // no piece that begins there or before reaches the offset
	for len(out) < limit {
		// Pieces are big: more of them than are wanted would cost more than asking again.
		list, err := r.Items(Piece, attempt, at, min(page, 2+(limit-len(out))/maxPiece))
		if err != nil || len(list) == 0 {
			return out, err
		}
		for _, piece := range list {
			if out, err = taken(out, piece, offset, limit); err != nil {
				return nil, err
			}
		}
		at = list[len(list)-1].Seq
	}
	return out, nil
}

// taken adds what is wanted of a piece.
func taken(out []byte, piece store.Item, offset int64, limit int) ([]byte, error) {
	room := limit - len(out)
	if room <= 0 {
		return out, nil
	}
	text, err := textOf(piece)
	if err != nil {
		return nil, err
	}
	skip := offset + int64(len(out)) - piece.Seq
	if skip >= int64(len(text)) {
		return out, nil
	}
	text = text[skip:]
	return append(out, text[:min(len(text), room)]...), nil
}
