package viewers

import (
	"crypto/sha256"
	"slices"

	"gaffer/statefile/jsontree"
)

// maxFeed is how many events of a feed are compared, the latest. A feed has
// about a hundred.
const maxFeed = 1000

// feed is what the state said of the events at one look.
type feed struct {
	said []digest // of what each event says, oldest first
	left int64    // how many had moved to the archive
	cut  bool     // there were more than are compared
}

// digest stands for what an event says: the events of a feed may be long, alike, and
// compared with all others.
type digest [sha256.Size]byte

func digestOf(event []byte) digest { return sha256.Sum256([]byte(essence(event))) }

// feedOf returns the feed of a state, and its events as they stand.
func feedOf(state jsontree.Value) (feed, [][]byte) {
	events := raws(state.Get("buildEvents"), jsontree.Object)
	var f feed
	f.left, _ = state.Get("buildEventsArchived").Int()
	if len(events) > maxFeed {
		events, f.cut = events[len(events)-maxFeed:], true
	}
	for _, e := range events {
		f.said = append(f.said, digestOf(e))
	}
	return f, events
}

// news are the places of the events that were not in a feed before. Of two feeds
// the later one begins with what the earlier one ends with, since the oldest
// leave when it is full. How many have left is looked for, because other programs
// do not count it, unless the count fits.
func (f feed) news(before feed) []int {
	if left := f.left - before.left; !f.cut && !before.cut && left >= 0 && left <= int64(len(before.said)) {
		if kept := before.said[left:]; begins(f.said, kept) {
			return f.from(len(kept))
		}
	}
	for drop := range before.said {
		if kept := before.said[drop:]; begins(f.said, kept) {
			return f.from(len(kept))
		}
	}
	return f.unheard(before)
}

func begins(list, with []digest) bool {
	return len(with) <= len(list) && slices.Equal(list[:len(with)], with)
}

func (f feed) from(first int) (places []int) {
	for i := first; i < len(f.said); i++ {
		places = append(places, i)
	}
	return places
}

// unheard are the places of what was not said before, for a feed in which a
// program without a lock has lost or changed something in between.
func (f feed) unheard(before feed) (places []int) {
	heard := map[digest]int{}
	for _, said := range before.said {
		heard[said]++
	}
	for i, said := range f.said {
		if heard[said] == 0 {
			places = append(places, i)
			continue
		}
		heard[said]--
	}
	return places
}
