package statusline

import (
	"math"
	"strconv"
	"strings"

	"gaffer/statefile/jsontree"
)

// maxCount is the largest count that the status line accepts from a document. Larger numbers are
// ignored.
const maxCount = 1_000_000_000

// parse parses a JSON document. If data is not JSON, it returns an empty value.
func parse(data []byte) jsontree.Value {
	doc, err := jsontree.Parse(data)
	if err != nil {
		return jsontree.Value{}
	}
	return doc.Value()
}

// text returns a string or a number as text, without surrounding spaces. It returns "" for any
// other value.
func text(v jsontree.Value) string {
	switch v.Kind() {
	case jsontree.String, jsontree.Number:
		return strings.TrimSpace(v.String())
	}
	return ""
}

// number returns the number v, which may also be a string that contains a number. It returns false
// for any other value.
func number(v jsontree.Value) (float64, bool) {
	n, err := strconv.ParseFloat(text(v), 64)
	return n, err == nil && !math.IsNaN(n)
}

// count returns the whole number v, which must be from 0 to maxCount. It returns false for any
// other value.
func count(v jsontree.Value) (int, bool) {
	n, ok := number(v)
	if !ok || n < 0 || n > maxCount || n != math.Trunc(n) {
		return 0, false
	}
	return int(n), true
}

// pair reads a count and a total. v is either an object with the members countName and totalName,
// or a string such as "2/4". pair returns false if a number is missing or invalid, or if the total
// is zero.
func pair(v jsontree.Value, countName, totalName string) (n, all int, ok bool) {
	if some, rest, found := strings.Cut(v.Text(), "/"); found {
		n, err1 := strconv.Atoi(strings.TrimSpace(some))
		all, err2 := strconv.Atoi(strings.TrimSpace(rest))
		return n, all, err1 == nil && err2 == nil && 0 <= n && n <= maxCount && 0 < all && all <= maxCount
	}
	n, ok1 := count(v.Get(countName))
	all, ok2 := count(v.Get(totalName))
	return n, all, ok1 && ok2 && all > 0
}
