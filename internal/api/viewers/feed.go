package viewers

import (
	"crypto/sha256"
	"slices"

	"gaffer/statefile/jsontree"
)

// maxFeed is the maximum number of events that are compared, the latest ones. A feed
// usually has about a hundred.
const maxFeed = 1000

// feed describes the events in the workflow state at one read.
type feed struct {
	digests   []digest // one digest per event, oldest first
	archived  int64    // number of events moved to the archive
	truncated bool     // there were more events than are compared
}

// digest is a hash of an event's contents. Digests are compared instead of events, which
// may be long.
type digest [sha256.Size]byte

func digestOf(event []byte) digest { return sha256.Sum256([]byte(normalized(event))) }

// feedOf returns the feed of a state, and its raw events.
func feedOf(state jsontree.Value) (feed, [][]byte) {
	events := itemsOfKind(state.Get("buildEvents"), jsontree.Object)
	var f feed
	f.archived, _ = state.Get("buildEventsArchived").Int()
	if len(events) > maxFeed {
		events, f.truncated = events[len(events)-maxFeed:], true
	}
	for _, e := range events {
		f.digests = append(f.digests, digestOf(e))
	}
	return f, events
}

// newEvents returns the indexes of the events that were not in an earlier feed. A full
// feed drops its oldest events, so the later feed starts with the end of the earlier one.
// If the archive counter says how many events were dropped, newEvents uses the counter.
// Otherwise it searches for the overlap, because other programs do not update the counter.
func (f feed) newEvents(before feed) []int {
	if left := f.archived - before.archived; !f.truncated && !before.truncated && left >= 0 && left <= int64(len(before.digests)) {
		if kept := before.digests[left:]; hasPrefix(f.digests, kept) {
			return f.indexesFrom(len(kept))
		}
	}
	for drop := range before.digests {
		if kept := before.digests[drop:]; hasPrefix(f.digests, kept) {
			return f.indexesFrom(len(kept))
		}
	}
	return f.newContents(before)
}

func hasPrefix(list, with []digest) bool {
	return len(with) <= len(list) && slices.Equal(list[:len(with)], with)
}

func (f feed) indexesFrom(first int) (places []int) {
	for i := first; i < len(f.digests); i++ {
		places = append(places, i)
	}
	return places
}

// newContents returns the indexes of the events whose contents are new. It is for a
// feed in which a program that does not lock the file has removed or changed events.
func (f feed) newContents(before feed) (places []int) {
	heard := map[digest]int{}
	for _, said := range before.digests {
		heard[said]++
	}
	for i, said := range f.digests {
		if heard[said] == 0 {
			places = append(places, i)
			continue
		}
		heard[said]--
	}
	return places
}
