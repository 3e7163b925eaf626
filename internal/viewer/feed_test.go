package viewer

import (
	"fmt"
	"strings"
	"testing"

	"gaffer/statefile/jsontree"
)

// feedFrom is the feed of events that are called by one letter each.
func feedFrom(t *testing.T, letters string, left int) feed {
	t.Helper()
	var events []string
	for _, l := range letters {
		events = append(events, fmt.Sprintf(`{"kind":%q}`, string(l)))
	}
	doc, err := jsontree.Parse(fmt.Appendf(nil, `{"buildEvents":[%s],"buildEventsArchived":%d}`, strings.Join(events, ","), left))
	if err != nil {
		t.Fatal(err)
	}
	f, _ := feedOf(doc.Value())
	return f
}

func TestOnlyWhatIsNewInAFeedIsNews(t *testing.T) {
	for _, c := range []struct {
		what, before string
		leftBefore   int
		after        string
		left         int
		known        int
	}{
		{"one more", "ab", 0, "abc", 0, 2},
		{"nothing", "ab", 0, "ab", 0, 2},
		{"the first", "", 0, "a", 0, 0},
		{"some have left, counted", "abcd", 0, "cde", 2, 2},
		{"some have left, not counted", "abcd", 0, "cde", 0, 2},
		{"alike and counted", "aaaa", 0, "aaa", 2, 2},
		{"alike", "aa", 0, "aaa", 0, 2},
		{"cleared", "ab", 0, "", 0, 0},
		{"cleared and begun again", "ab", 0, "xy", 0, 0},
		{"all have left", "ab", 0, "c", 2, 0},
		{"the count was lost", "ab", 50, "abc", 0, 2},
		{"a count of nobody", "ab", 0, "abc", 1 << 40, 2},
	} {
		if got := feedFrom(t, c.after, c.left).known(feedFrom(t, c.before, c.leftBefore)); got != c.known {
			t.Errorf("%s: %d are known, want %d", c.what, got, c.known)
		}
	}
	long := strings.Repeat("ab", maxFeed)
	if got := feedFrom(t, long+"cd", 0).known(feedFrom(t, long, 0)); got != maxFeed-2 {
		t.Errorf("of a long feed %d are known", got)
	}
}

func TestAnEventIsTheSameHoweverItIsSpelt(t *testing.T) {
	if a, b := essence([]byte(`{"a":1.0,"b":"\u0041"}`)), essence([]byte(` { "b" : "A" , "a" : 1 } `)); a != b {
		t.Errorf("%s, %s", a, b)
	}
}
