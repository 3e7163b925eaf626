package viewer

import (
	"slices"

	"gaffer/statefile/jsontree"
)

// maxFeed is how many events of a feed are compared, the latest. A feed has
// about a hundred.
const maxFeed = 1000

// feed is what the state said of the events at one look.
type feed struct {
	said []string // what each event says, oldest first
	left int64    // how many had moved to the archive
	cut  bool     // there were more than are compared
}

// feedOf returns the feed of a state, and its events as they stand.
func feedOf(state jsontree.Value) (feed, [][]byte) {
	events := raws(state.Get("buildEvents"), jsontree.Object)
	var f feed
	f.left, _ = state.Get("buildEventsArchived").Int()
	if len(events) > maxFeed {
		events, f.cut = events[len(events)-maxFeed:], true
	}
	for _, e := range events {
		f.said = append(f.said, essence(e))
	}
	return f, events
}

// known is with how many events a feed begins that were in it before. Of two
// feeds the later one begins with what the earlier one ends with, since the
// oldest leave when it is full. How many have left is looked for, because other
// programs do not count it, unless the count fits.
func (f feed) known(before feed) int {
	if left := f.left - before.left; !f.cut && !before.cut && left >= 0 && left <= int64(len(before.said)) {
		if kept := before.said[left:]; begins(f.said, kept) {
			return len(kept)
		}
	}
	for drop := range before.said {
		if kept := before.said[drop:]; begins(f.said, kept) {
			return len(kept)
		}
	}
	return 0
}

func begins(list, with []string) bool {
	return len(with) <= len(list) && slices.Equal(list[:len(with)], with)
}
