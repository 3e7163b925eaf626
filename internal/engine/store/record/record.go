// Package record converts rows to and from JSON. A database stores each row as JSON in one column.
// The other columns of the table repeat parts of the row for queries, or hold long parts such as
// the spec of a task.
package record

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"
)

// Text returns the JSON of a row.
func Text(row any) (string, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false) // do not escape <, > and &, so that users can read the stored text
	if err := encoder.Encode(row); err != nil {
		return "", fmt.Errorf("%T: %w", row, err)
	}
	return strings.TrimSuffix(text.String(), "\n"), nil
}

// Read decodes the JSON of a row that [Text] has returned.
func Read[V any](text []byte) (V, error) {
	var row V
	if err := json.Unmarshal(text, &row); err != nil {
		return row, fmt.Errorf("stored %T: %w", row, err)
	}
	return row, nil
}

// Nanos converts a time to nanoseconds since 1970, for a column of a table. If the result does not
// fit in an int64, as for the zero time, it is the smallest or the largest int64.
func Nanos(t time.Time) int64 {
	switch {
	case t.Before(time.Unix(0, math.MinInt64)):
		return math.MinInt64
	case t.After(time.Unix(0, math.MaxInt64)):
		return math.MaxInt64
	}
	return t.UnixNano()
}

// NanosOrNull is like [Nanos], but returns nil for the zero time.
func NanosOrNull(t time.Time) *int64 {
	if t.IsZero() {
		return nil
	}
	n := Nanos(t)
	return &n
}
