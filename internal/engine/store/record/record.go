// Package record converts rows to and from the form that the databases store. JSON is
// the authoritative form; separate columns exist only for queries.
package record

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"
)

// Text returns a row as JSON.
func Text(row any) (string, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false) // people read it too
	if err := encoder.Encode(row); err != nil {
		return "", fmt.Errorf("%T: %w", row, err)
	}
	return strings.TrimSuffix(text.String(), "\n"), nil
}

// Read decodes a row.
func Read[V any](text []byte) (V, error) {
	var row V
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
