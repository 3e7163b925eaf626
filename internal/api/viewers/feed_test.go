package viewers

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"gaffer/statefile/jsontree"
)

// feedFrom returns a feed with one event for each letter, and with the given archive counter.
func feedFrom(t *testing.T, letters string, archived int) feed {
	t.Helper()
	var events []string
	for _, l := range letters {
		events = append(events, fmt.Sprintf(`{"kind":%q}`, string(l)))
	}
	doc, err := jsontree.Parse(fmt.Appendf(nil, `{"buildEvents":[%s],"buildEventsArchived":%d}`, strings.Join(events, ","), archived))
	if err != nil {
		t.Fatal(err)
	}
	f, _ := feedOf(doc.Value())
	return f
}

func TestOnlyNewEventsOfAFeedAreReported(t *testing.T) {
	for _, c := range []struct {
		what, before string
		leftBefore   int
		after        string
		left         int
		news         string
	}{
		{"one more", "ab", 0, "abc", 0, "c"},
		{"nothing", "ab", 0, "ab", 0, ""},
		{"the first", "", 0, "a", 0, "a"},
		{"some have left, counted", "abcd", 0, "cde", 2, "e"},
		{"some have left, not counted", "abcd", 0, "cde", 0, "e"},
		{"alike and counted", "aaaa", 0, "aaa", 2, "a"},
		{"alike", "aa", 0, "aaa", 0, "a"},
		{"cleared", "ab", 0, "", 0, ""},
		{"cleared and begun again", "ab", 0, "xy", 0, "xy"},
		{"all have left", "ab", 0, "c", 2, "c"},
		{"all have left, and the next is alike", "a", 0, "a", 1, "a"},
		{"the count was lost", "ab", 50, "abc", 0, "c"},
		{"a count of nobody", "ab", 0, "abc", 1 << 40, "c"},
		{"the last was lost", "abcd", 0, "abce", 0, "e"},
		{"one in between was lost", "abcd", 0, "abde", 0, "e"},
		{"one in between was changed", "abcd", 0, "aXcde", 0, "Xe"},
		{"one was lost and others have left", "abcdef", 0, "cdfg", 2, "g"},
		{"one was lost, and one alike came twice", "abb", 0, "acbbb", 0, "cb"},
	} {
		f, news := feedFrom(t, c.after, c.left), ""
		for _, i := range f.newEvents(feedFrom(t, c.before, c.leftBefore)) {
			news += c.after[i : i+1]
		}
		if news != c.news {
			t.Errorf("%s: %q is news, want %q", c.what, news, c.news)
		}
	}
	long := strings.Repeat("ab", maxFeed)
	if got := feedFrom(t, long+"cd", 0).newEvents(feedFrom(t, long, 0)); !slices.Equal(got, []int{maxFeed - 2, maxFeed - 1}) {
		t.Errorf("of a long feed %v are news", got)
	}
}

func TestEventsWithDifferentlyFormattedJSONAreEqual(t *testing.T) {
	if a, b := normalized([]byte(`{"a":1.0,"b":"\u0041"}`)), normalized([]byte(` { "b" : "A" , "a" : 1 } `)); a != b {
		t.Errorf("%s, %s", a, b)
	}
}

func TestEventsThatDifferInALongNumberAreTwo(t *testing.T) {
	for a, b := range map[string]string{
		`9007199254740992`: `9007199254740993`, `1738412345.123456788`: `1738412345.123456789`, `1e400`: `1e401`, `[{"n":18446744073709551615}]`: `[{"n":18446744073709551616}]`,
	} {
		if normalized([]byte(`{"a":`+a+`}`)) == normalized([]byte(`{"a":`+b+`}`)) {
			t.Errorf("%s is %s", a, b)
		}
	}
}
