package jsontree

import "encoding/json"

// Interface returns v as encoding/json would decode it into an any, with numbers as json.Number. It
// returns nil if v is missing.
func Interface(v Value) any {
	if v.Absent() {
		return nil
	}
	decoded, _ := interfaceAt(v.Raw(), 0)
	return decoded
}

// interfaceAt decodes the value at b[i]. It returns the value and the index after it. It decodes
// all nested values in one pass over the text, because a document may be both large and deep.
func interfaceAt(b []byte, i int) (any, int) {
	switch b[i] {
	case '{':
		members := map[string]any{}
		for i = skipSpace(b, i+1); b[i] != '}'; {
			colon := skipValue(b, i)
			name := unquote(b[i:colon])
			members[name], i = interfaceAt(b, skipSpace(b, skipSpace(b, colon)+1))
			i = skipComma(b, i)
		}
		return members, i + 1
	case '[':
		items := []any{}
		for i = skipSpace(b, i+1); b[i] != ']'; {
			var item any
			item, i = interfaceAt(b, i)
			items, i = append(items, item), skipComma(b, i)
		}
		return items, i + 1
	}
	end := skipValue(b, i)
	return scalar(unchecked(b[i:end])), end
}

// skipComma skips white space and a comma, if there is one, from b[i] on. It returns the index of
// the next member, item or closing bracket.
func skipComma(b []byte, i int) int {
	if i = skipSpace(b, i); b[i] == ',' {
		return skipSpace(b, i+1)
	}
	return i
}

func scalar(v Value) any {
	switch v.Kind() {
	case String:
		return v.Text()
	case Number:
		return json.Number(v.Raw())
	case Bool:
		truth, _ := v.Bool()
		return truth
	}
	return nil
}
