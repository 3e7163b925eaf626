package postgres

import (
	"encoding/binary"
	"errors"
	"math"

	"github.com/jackc/pgx/v5/pgtype"
)

// message is a buffer with messages of the PostgreSQL wire protocol: prepared
// statements with their parameters, and Sync messages. Each message starts with its
// length, which is filled in at its end.
type message struct {
	b      []byte
	begun  int // offset of the current statement
	params int
	count  int // offset of its parameter count
	err    error
}

// maxMessage is the maximum length of a statement with its parameters.
const maxMessage = math.MaxInt32 / 2

var errTooLong = errors.New("too much for one statement")

func (m *message) fail(err error) {
	if m.err == nil {
		m.err = err
	}
}

// statement starts a Bind message. The parameters must follow, in binary format.
func (m *message) statement(s statement) {
	m.begun, m.params = len(m.b), 0
	m.b = append(m.b, 'B', 0, 0, 0, 0, 0) // placeholder for the length, and an unnamed portal
	m.b = append(append(m.b, s.name...), 0)
	m.b = append(m.b, 0, 1, 0, 1) // one format code for all parameters: binary
	m.count = len(m.b)
	m.b = append(m.b, 0, 0)
}

// run ends the Bind message and adds an Execute message.
func (m *message) run() {
	m.b = append(m.b, 0, 0) // default format for results
	if len(m.b)-m.begun > maxMessage {
		m.fail(errTooLong)
		return
	}
	binary.BigEndian.PutUint16(m.b[m.count:], uint16(m.params))
	binary.BigEndian.PutUint32(m.b[m.begun+1:], uint32(len(m.b)-m.begun-1))
	m.b = append(m.b, 'E', 0, 0, 0, 9, 0, 0, 0, 0, 0) // Execute without a row limit
}

// sync adds a Sync message. After an error, the server skips everything up to it.
func (m *message) sync() { m.b = append(m.b, 'S', 0, 0, 0, 4) }

// open starts a parameter or an array element. It returns the offset of its data.
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

// array adds a parameter with one element per row. The header has the number of
// dimensions, the null flag, the element type, the length, and the lower bound.
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

// raws adds a text array with null for nil values.
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

// records adds rows as JSON, encoded directly into the buffer.
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
