// Package record converts rows to and from JSON, which is the form that the databases
// store. Other columns of a table repeat parts of it for queries.
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
	encoder.SetEscapeHTML(false) // keep <, > and & as they are, for users who read the database
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

// Nanos converts a time to nanoseconds since 1970, for a column. Times that do not fit,
// such as the zero time, become the smallest or largest value.
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
