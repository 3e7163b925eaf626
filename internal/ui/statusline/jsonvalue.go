package statusline

import (
	"math"
	"strconv"
	"strings"

	"gaffer/statefile/jsontree"
)

// maxCount is the largest plausible count. Larger numbers are ignored.
const maxCount = 1_000_000_000

// parse returns the document, or an empty value if it is not JSON.
func parse(data []byte) jsontree.Value {
	doc, err := jsontree.Parse(data)
	if err != nil {
		return jsontree.Value{}
	}
	return doc.Value()
}

// text returns a string or a number as it is written, without surrounding space.
func text(v jsontree.Value) string {
	switch v.Kind() {
	case jsontree.String, jsontree.Number:
		return strings.TrimSpace(v.String())
	}
	return ""
}

// number returns a number. A string that contains a number is accepted too.
func number(v jsontree.Value) (float64, bool) {
	n, err := strconv.ParseFloat(text(v), 64)
	return n, err == nil && !math.IsNaN(n)
}

// count returns a whole number from 0 to most.
func count(v jsontree.Value) (int, bool) {
	n, ok := number(v)
	if !ok || n < 0 || n > maxCount || n != math.Trunc(n) {
		return 0, false
	}
	return int(n), true
}

// pair reads a count and a total, from an object with both or from a string such as
// "2/4". It fails if the total is zero.
func pair(v jsontree.Value, of, total string) (n, all int, ok bool) {
	if some, rest, found := strings.Cut(v.Text(), "/"); found {
		n, err1 := strconv.Atoi(strings.TrimSpace(some))
		all, err2 := strconv.Atoi(strings.TrimSpace(rest))
		return n, all, err1 == nil && err2 == nil && 0 <= n && n <= maxCount && 0 < all && all <= maxCount
	}
	n, ok1 := count(v.Get(of))
	all, ok2 := count(v.Get(total))
	return n, all, ok1 && ok2 && all > 0
}
