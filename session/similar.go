package session

import "strings"

// similar returns up to five of the given ids that resemble the parameter id, which a user may have
// mistyped.
func similar(id string, ids []string) []string {
	const most = 5
	var found []string
	for _, other := range ids {
		if len(found) < most && resembles(id, other) {
			found = append(found, other)
		}
	}
	return found
}

// resembles reports whether a user who typed the id a may have meant the id b. That is so if a is
// the start of b, if they differ only in leading zeros, or if they differ only in one short part,
// such as one wrong character. Upper and lower case are equal.
func resembles(a, b string) bool {
	a, b = strings.ToLower(a), strings.ToLower(b)
	if strings.TrimLeft(a, "0") == strings.TrimLeft(b, "0") || strings.HasPrefix(b, a) {
		return true
	}
	short, long := min(len(a), len(b)), max(len(a), len(b))
	start := 0
	for start < short && a[start] == b[start] {
		start++
	}
	end := 0
	for end < short-start && a[len(a)-1-end] == b[len(b)-1-end] {
		end++
	}
	return long-start-end <= max(1, long/8)
}
