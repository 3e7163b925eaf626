package logstore

import (
	"gaffer/internal/engine/store"
)

// Span returns which part of an attempt's log is kept: start is the offset of its first byte, and
// end the offset after its last byte. Both are 0 if the attempt has no log.
func Span(r store.Reader, attempt string) (start, end int64, err error) {
	h, err := readHead(r, attempt)
	return h.From, h.Next, err
}

// Done reports whether an attempt's log is complete.
func Done(r store.Reader, attempt string) (bool, error) {
	h, err := readHead(r, attempt)
	return h.Done, err
}

// Read returns at most limit bytes of an attempt's log, starting at offset. It returns nil if
// offset is outside of the range that is kept; see [Span].
func Read(r store.Reader, attempt string, offset int64, limit int) ([]byte, error) {
	h, err := readHead(r, attempt)
	if err != nil || offset < h.From || offset >= h.Next {
		return nil, err
	}
	var out []byte
	// r.Items returns the pieces that start after the position at. A piece that starts at this
	// position or before has no byte at offset or later, because a piece has at most maxPiece
	// bytes.
	at := offset - maxPiece
	for len(out) < limit {
		// Read only as many pieces as the missing bytes need if each piece has the maximum size. If
		// the pieces are smaller, the next round of the loop reads more.
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

// appendPart appends to buf those bytes of a piece that follow the end of buf, until buf has limit
// bytes. offset is the position of buf in the log.
func appendPart(buf []byte, piece store.Item, offset int64, limit int) ([]byte, error) {
	room := limit - len(buf)
	if room <= 0 {
		return buf, nil
	}
	text, err := pieceBytes(piece)
	if err != nil {
		return nil, err
	}
	skip := offset + int64(len(buf)) - piece.Seq
	if skip >= int64(len(text)) {
		return buf, nil
	}
	text = text[skip:]
	return append(buf, text[:min(len(text), room)]...), nil
}
