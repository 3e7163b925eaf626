package logstore

import (
	"gaffer/internal/engine/store"
)

// Span returns the range of an attempt's log that is kept: the offset of its first byte
// and the offset after its last byte. Both are 0 if there is no log.
func Span(r store.Reader, attempt string) (from, to int64, err error) {
	h, err := readHead(r, attempt)
	return h.From, h.Next, err
}

// Done reports whether an attempt's log is complete.
func Done(r store.Reader, attempt string) (bool, error) {
	h, err := readHead(r, attempt)
	return h.Done, err
}

// Read returns at most limit bytes of a log, starting at an offset. It returns nothing if
// the offset is outside the range that is kept, which [Span] returns.
func Read(r store.Reader, attempt string, offset int64, limit int) ([]byte, error) {
	h, err := readHead(r, attempt)
	if err != nil || offset < h.From || offset >= h.Next {
		return nil, err
	}
	var out []byte
	at := offset - maxPiece // pieces at or before this position end before the offset
	for len(out) < limit {
		// Pieces are large, so reading unneeded ones costs more than another query.
		list, err := r.Items(PieceKind, attempt, at, min(piecesAtOnce, 2+(limit-len(out))/maxPiece))
		if err != nil || len(list) == 0 {
			return out, err
		}
		for _, piece := range list {
			if out, err = appendPart(out, piece, offset, limit); err != nil {
				return nil, err
			}
		}
		at = list[len(list)-1].Seq
	}
	return out, nil
}

// appendPart appends the part of a piece that [Read] must return to out. offset is the
// offset of out in the log.
func appendPart(out []byte, piece store.Item, offset int64, limit int) ([]byte, error) {
	room := limit - len(out)
	if room <= 0 {
		return out, nil
	}
	text, err := pieceBytes(piece)
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
