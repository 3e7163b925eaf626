package mcp

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"gaffer/internal/text/truncate"
)

// shortened removes parts of a JSON result until it fits into an answer.
func shortened(data []byte) ([]byte, error) {
	var result any
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	if err := dec.Decode(&result); err != nil {
		return nil, err
	}
	const least = 16 // more than the number of members of any result
	for most := maxText; ; most /= 2 {
		short, err := json.Marshal(shortenValue(result, most))
		if err != nil || len(short) <= maxAnswer || most <= least {
			return short, err
		}
	}
}

// shortenValue keeps at most most characters of a text, items of an array, or members of an
// object. At each level below it keeps half as many.
func shortenValue(v any, most int) any {
	switch v := v.(type) {
	case string:
		return truncate.Chars(v, most)
	case []any:
		list := []any{}
		for _, item := range v[:min(len(v), most)] {
			list = append(list, shortenValue(item, most/2))
		}
		return list
	case map[string]any:
		m := map[string]any{}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if len(m) < most && len(name) <= most {
				m[name] = shortenValue(v[name], most/2)
			}
		}
		return m
	}
	return v
}
