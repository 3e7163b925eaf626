// Package record converts rows to and from the form that the databases store. JSON is
// the authoritative form; separate columns exist only for queries.
package record

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"time"
)

// Writer encodes rows as JSON. It is not safe for concurrent use. The zero value is
// ready to use.
type Writer struct {
	buffer  []byte
	other   bytes.Buffer
	encoder *json.Encoder
}

// appender is a row with its own JSON encoder.
type appender interface {
	AppendJSON(b []byte) ([]byte, error)
}

// Text returns a row as JSON.
func (w *Writer) Text(row any) (string, error) {
	fast, ok := row.(appender)
	if !ok {
		return w.encode(row)
	}
	text, err := fast.AppendJSON(w.buffer[:0])
	if err != nil {
		return "", fmt.Errorf("%T: %w", row, err)
	}
	w.buffer = text
	return string(text), nil
}

// Append appends a row as JSON.
func (w *Writer) Append(b []byte, row any) ([]byte, error) {
	text, err := w.encode(row)
	return append(b, text...), err
}

func (w *Writer) encode(row any) (string, error) {
	if w.encoder == nil {
		w.encoder = json.NewEncoder(&w.other)
		w.encoder.SetEscapeHTML(false) // people read it too
	}
	w.other.Reset()
	if err := w.encoder.Encode(row); err != nil {
		return "", fmt.Errorf("%T: %w", row, err)
	}
	return string(bytes.TrimSuffix(w.other.Bytes(), []byte("\n"))), nil
}

// parser is a row with its own JSON parser, which may reject a text.
type parser interface{ ParseJSON(text []byte) bool }

// Read decodes a row.
func Read[V any](text []byte) (V, error) {
	var row, none V
	if fast, ok := any(&row).(parser); ok {
		if fast.ParseJSON(text) {
			return row, nil
		}
		row = none
	}
	if err := json.Unmarshal(text, &row); err != nil {
		return row, fmt.Errorf("stored %T: %w", row, err)
	}
	return row, nil
}

// Nanos converts a time for a column, to nanoseconds since 1970. Times outside the
// range, such as the zero time, become the nearest limit.
func Nanos(t time.Time) int64 {
	switch {
	case t.Before(time.Unix(0, math.MinInt64)):
		return math.MinInt64
	case t.After(time.Unix(0, math.MaxInt64)):
		return math.MaxInt64
	}
	return t.UnixNano()
}

// NanosOrNull does the same as [Nanos], but returns nil for the zero time.
func NanosOrNull(t time.Time) *int64 {
	if t.IsZero() {
		return nil
	}
	n := Nanos(t)
	return &n
}
