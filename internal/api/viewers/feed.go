package viewers

import (
	"crypto/sha256"
	"slices"

	"gaffer/statefile/jsontree"
)

// maxFeed is the maximum number of events that are compared with those of the previous read. If a
// feed has more events, the oldest are ignored. A feed that only gaffer writes has about 100 events
// at most.
const maxFeed = 1000

// feed describes the event feed in the workflow state, as it was at one read.
type feed struct {
	digests   []digest // one digest per event, oldest first
	archived  int64    // number of events that were moved to the archive so far
	truncated bool     // the feed had more than maxFeed events, so digests lacks the oldest
}

// digest is a hash of an event. Feeds are compared by digests, because events may be long.
type digest [sha256.Size]byte

func digestOf(event []byte) digest { return sha256.Sum256([]byte(normalized(event))) }

// feedOf returns the feed in a workflow state, and the events as raw JSON.
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

// newEvents returns the indexes of the events in f that the feed old does not have. New events are
// added at the end of a feed, and the oldest events are moved to the archive. So f normally begins
// with the last events of old. newEvents first computes from f.archived and old.archived how many
// events of old were removed. This number is wrong if another program has removed events without
// counting them. Then newEvents looks for the longest suffix of old with which f begins. If there
// is none, it calls newContents.
func (f feed) newEvents(old feed) []int {
	if left := f.archived - old.archived; !f.truncated && !old.truncated && left >= 0 && left <= int64(len(old.digests)) {
		if kept := old.digests[left:]; hasPrefix(f.digests, kept) {
			return f.indexesFrom(len(kept))
		}
	}
	for drop := range old.digests {
		if kept := old.digests[drop:]; hasPrefix(f.digests, kept) {
			return f.indexesFrom(len(kept))
		}
	}
	return f.newContents(old)
}

// skipped returns which events were added to the feed after old was read, and were archived before
// f was read. Neither feed contains these events. They have the sequence numbers from first to
// end-1, where 0 is the project's first event. If first is not below end, there are no such events.
// skipped returns at most the last maxFeed of these events.
func (f feed) skipped(old feed) (first, end int64) {
	if old.truncated || old.archived > f.archived {
		return 0, 0
	}
	return max(old.archived+int64(len(old.digests)), f.archived-maxFeed), f.archived
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

// newContents returns the indexes of the events in f that do not occur in the feed old, or occur
// there less often. newEvents uses it if f does not begin with the last events of old. For example,
// another program may have removed or changed events.
func (f feed) newContents(old feed) (places []int) {
	heard := map[digest]int{}
	for _, said := range old.digests {
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
