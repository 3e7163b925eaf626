package postgres

import (
	"encoding/binary"

	"github.com/jackc/pgx/v5/pgtype"
)

// Arrays as the server reads them: how many dimensions, whether there are nulls,
// of what, how many, from which index on, and then each value after its length.

func array(kind uint32, rows, size int) []byte {
	b := make([]byte, 0, 20+rows*size)
	for _, n := range []uint32{1, 1, kind, uint32(rows), 1} {
		b = binary.BigEndian.AppendUint32(b, n)
	}
	return b
}

func null(b []byte) []byte { return append(b, 0xff, 0xff, 0xff, 0xff) }

func texts[R any](rows []R, of func(*R) string) []byte {
	b := array(pgtype.TextOID, len(rows), 40)
	for i := range rows {
		text := of(&rows[i])
		b = binary.BigEndian.AppendUint32(b, uint32(len(text)))
		b = append(b, text...)
	}
	return b
}

// raws adds null where there is nothing.
func raws[R any](rows []R, of func(*R) []byte) []byte {
	b := array(pgtype.TextOID, len(rows), 200)
	for i := range rows {
		raw := of(&rows[i])
		if raw == nil {
			b = null(b)
			continue
		}
		b = binary.BigEndian.AppendUint32(b, uint32(len(raw)))
		b = append(b, raw...)
	}
	return b
}

func numbers[R any](rows []R, of func(*R) int64) []byte {
	b := array(pgtype.Int8OID, len(rows), 12)
	for i := range rows {
		b = binary.BigEndian.AppendUint32(b, 8)
		b = binary.BigEndian.AppendUint64(b, uint64(of(&rows[i])))
	}
	return b
}

func numbersOrNull[R any](rows []R, of func(*R) *int64) []byte {
	b := array(pgtype.Int8OID, len(rows), 12)
	for i := range rows {
		n := of(&rows[i])
		if n == nil {
			b = null(b)
			continue
		}
		b = binary.BigEndian.AppendUint32(b, 8)
		b = binary.BigEndian.AppendUint64(b, uint64(*n))
	}
	return b
}

func bools[R any](rows []R, of func(*R) bool) []byte {
	b := array(pgtype.BoolOID, len(rows), 5)
	for i := range rows {
		b = append(b, 0, 0, 0, 1, 0)
		if of(&rows[i]) {
			b[len(b)-1] = 1
		}
	}
	return b
}

func short(n int32) []byte { return binary.BigEndian.AppendUint32(nil, uint32(n)) }

func number(n int64) []byte { return binary.BigEndian.AppendUint64(nil, uint64(n)) }
