package mcp

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"gaffer/internal/text/truncate"
)

// shortened returns a shorter form of the JSON result of a tool. It calls shortenValue with smaller
// and smaller limits, until the result has at most maxAnswer bytes. With the smallest limit, the
// result may still be longer.
func shortened(data []byte) ([]byte, error) {
	var result any
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	if err := dec.Decode(&result); err != nil {
		return nil, err
	}
	// least is the smallest limit. Every result of a tool has at most 16 members at the top level,
	// and their names have at most 16 characters. So even the smallest limit removes none of them.
	const least = 16
	for limit := maxText; ; limit /= 2 {
		short, err := json.Marshal(shortenValue(result, limit))
		if err != nil || len(short) <= maxAnswer || limit <= least {
			return short, err
		}
	}
}

// shortenValue shortens a JSON value. Of a text it keeps the first characters, of an array the
// first items, and of an object the first members by name. The parameter limit is the maximum
// number of each. Members with a name longer than limit are removed. At each deeper level, the
// limit is half as large.
func shortenValue(v any, limit int) any {
	switch v := v.(type) {
	case string:
		return truncate.Chars(v, limit)
	case []any:
		list := []any{}
		for _, item := range v[:min(len(v), limit)] {
			list = append(list, shortenValue(item, limit/2))
		}
		return list
	case map[string]any:
		m := map[string]any{}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if len(m) < limit && len(name) <= limit {
				m[name] = shortenValue(v[name], limit/2)
			}
		}
		return m
	}
	return v
}
