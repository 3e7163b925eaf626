package mcp

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
)

// shortened is a result in JSON that is cut until an answer has room for it.
func shortened(data []byte) ([]byte, error) {
	var result any
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	if err := dec.Decode(&result); err != nil {
		return nil, err
	}
	const least = 16 // more than any result has members
	for most := maxText; ; most /= 2 {
		short, err := json.Marshal(cut(result, most))
		if err != nil || len(short) <= maxAnswer || most <= least {
			return short, err
		}
	}
}

// cut leaves so many characters of a text, items of a list and members of an
// object, and of what is in them half as many.
func cut(v any, most int) any {
	switch v := v.(type) {
	case string:
		return clip(v, most)
	case []any:
		list := []any{}
		for _, item := range v[:min(len(v), most)] {
			list = append(list, cut(item, most/2))
		}
		return list
	case map[string]any:
		m := map[string]any{}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if len(m) < most && len(name) <= most {
				m[name] = cut(v[name], most/2)
			}
		}
		return m
	}
	return v
}
