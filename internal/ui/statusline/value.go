package statusline

import (
	"math"
	"strconv"
	"strings"

	"gaffer/statefile/jsontree"
)

// most is more than anybody counts; a larger number is none.
const most = 1_000_000_000

// parse returns the document, or nothing if it is not JSON.
func parse(data []byte) jsontree.Value {
	doc, err := jsontree.Parse(data)
	if err != nil {
		return jsontree.Value{}
	}
	return doc.Value()
}

// text is a string or a number as it is written, without the space around it.
func text(v jsontree.Value) string {
	switch v.Kind() {
	case jsontree.String, jsontree.Number:
		return strings.TrimSpace(v.String())
	}
	return ""
}

// number is a number, or a string that is one.
func number(v jsontree.Value) (float64, bool) {
	n, err := strconv.ParseFloat(text(v), 64)
	return n, err == nil && !math.IsNaN(n)
}

// count is a whole number that something can be counted with.
func count(v jsontree.Value) (int, bool) {
	n, ok := number(v)
	if !ok || n < 0 || n > most || n != math.Trunc(n) {
		return 0, false
	}
	return int(n), true
}

// pair reads so many of a total: an object with both, or a string such as "2/4".
// A total of nothing is no pair.
func pair(v jsontree.Value, of, total string) (n, all int, ok bool) {
	if some, rest, found := strings.Cut(v.Text(), "/"); found {
		n, err1 := strconv.Atoi(strings.TrimSpace(some))
		all, err2 := strconv.Atoi(strings.TrimSpace(rest))
		return n, all, err1 == nil && err2 == nil && 0 <= n && n <= most && 0 < all && all <= most
	}
	n, ok1 := count(v.Get(of))
	all, ok2 := count(v.Get(total))
	return n, all, ok1 && ok2 && all > 0
}
