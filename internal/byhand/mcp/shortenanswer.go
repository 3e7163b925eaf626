package mcp

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"gaffer/internal/text/truncate"
)

// shortened calls shortenValue with smaller and smaller limits, until the JSON result has at most
// maxAnswer bytes. With the smallest limit, the result may still be longer.
func shortened(data []byte) ([]byte, error) {
	var result any
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	if err := dec.Decode(&result); err != nil {
		return nil, err
	}
	// least is the smallest limit. No top-level member of a result is removed, because no result
	// has more than least such members, and none of their names is longer than least.
	const least = 16
	for limit := maxText; ; limit /= 2 {
		short, err := json.Marshal(shortenValue(result, limit))
		if err != nil || len(short) <= maxAnswer || limit <= least {
			return short, err
		}
	}
}

// shortenValue keeps at most limit characters of a text, limit items of an array, or limit members
// of an object. It removes members with a name longer than limit. At each deeper level, the limit
// is half as large.
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
