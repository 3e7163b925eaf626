package postgres

import (
	"encoding/binary"
	"errors"
	"math"

	"github.com/jackc/pgx/v5/pgtype"
)

// message is what is sent to the server, written in place: statements as they
// were prepared, with their parameters, and when to answer. Each part has its
// length before it, which is filled in at its end.
type message struct {
	b      []byte
	begun  int // where the statement under way begins
	params int
	count  int // where its number of parameters is
	err    error
}

// maxMessage is how long the server lets a statement be, with its parameters.
const maxMessage = math.MaxInt32 / 2

var errTooLong = errors.New("too much for one statement")

func (m *message) fail(err error) {
	if m.err == nil {
		m.err = err
	}
}

// statement begins one. Its parameters follow, in the binary format.
func (m *message) statement(s statement) {
	m.begun, m.params = len(m.b), 0
	m.b = append(m.b, 'B', 0, 0, 0, 0, 0) // a length, and no name of its own
	m.b = append(append(m.b, s.name...), 0)
	m.b = append(m.b, 0, 1, 0, 1) // one format for all
	m.count = len(m.b)
	m.b = append(m.b, 0, 0)
}

// run ends the statement.
func (m *message) run() {
	m.b = append(m.b, 0, 0) // no format for what it returns
	if len(m.b)-m.begun > maxMessage {
		m.fail(errTooLong)
		return
	}
	binary.BigEndian.PutUint16(m.b[m.count:], uint16(m.params))
	binary.BigEndian.PutUint32(m.b[m.begun+1:], uint32(len(m.b)-m.begun-1))
	m.b = append(m.b, 'E', 0, 0, 0, 9, 0, 0, 0, 0, 0) // all of its rows
}

// sync adds an end, up to which all that follow an error are passed over.
func (m *message) sync() { m.b = append(m.b, 'S', 0, 0, 0, 4) }

// open begins a parameter, or a value in an array.
func (m *message) open() (at int) {
	m.b = append(m.b, 0, 0, 0, 0)
	return len(m.b)
}

func (m *message) close(at int) { binary.BigEndian.PutUint32(m.b[at-4:], uint32(len(m.b)-at)) }

func (m *message) text(text string) {
	m.params++
	m.value(text)
}

func (m *message) short(n int32) {
	m.params++
	m.b = binary.BigEndian.AppendUint32(append(m.b, 0, 0, 0, 4), uint32(n))
}

func (m *message) number(n int64) {
	m.params++
	m.long(n)
}

func (m *message) value(text string) {
	m.b = append(binary.BigEndian.AppendUint32(m.b, uint32(len(text))), text...)
}

func (m *message) long(n int64) {
	m.b = binary.BigEndian.AppendUint64(append(m.b, 0, 0, 0, 8), uint64(n))
}

func (m *message) null() { m.b = append(m.b, 0xff, 0xff, 0xff, 0xff) }

// array adds a parameter with a value for each row: how many dimensions, whether
// there are nulls, of what, how many, from which index on, and then the values.
func array[R any](m *message, kind uint32, rows []R, value func(R)) {
	m.params++
	at := m.open()
	for _, n := range []uint32{1, 1, kind, uint32(len(rows)), 1} {
		m.b = binary.BigEndian.AppendUint32(m.b, n)
	}
	for _, row := range rows {
		value(row)
	}
	m.close(at)
}

func texts[R any](m *message, rows []R, of func(R) string) {
	array(m, pgtype.TextOID, rows, func(row R) { m.value(of(row)) })
}

// raws adds null where there is nothing.
func raws[R any](m *message, rows []R, of func(R) []byte) {
	array(m, pgtype.TextOID, rows, func(row R) {
		raw := of(row)
		if raw == nil {
			m.null()
			return
		}
		m.b = append(binary.BigEndian.AppendUint32(m.b, uint32(len(raw))), raw...)
	})
}

// records adds rows as JSON, which is appended in place.
func records[R any](m *message, rows []R, appendTo func(b []byte, row R) ([]byte, error)) {
	array(m, pgtype.TextOID, rows, func(row R) {
		at := m.open()
		b, err := appendTo(m.b, row)
		if err != nil {
			m.fail(err)
			return
		}
		m.b = b
		m.close(at)
	})
}

func numbers[R any](m *message, rows []R, of func(R) int64) {
	array(m, pgtype.Int8OID, rows, func(row R) { m.long(of(row)) })
}

func numbersOrNull[R any](m *message, rows []R, of func(R) *int64) {
	array(m, pgtype.Int8OID, rows, func(row R) {
		if n := of(row); n != nil {
			m.long(*n)
		} else {
			m.null()
		}
	})
}

func bools[R any](m *message, rows []R, of func(R) bool) {
	array(m, pgtype.BoolOID, rows, func(row R) {
		value := byte(0)
		if of(row) {
			value = 1
		}
		m.b = append(m.b, 0, 0, 0, 1, value)
	})
}
