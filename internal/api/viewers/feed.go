package viewers

import (
	"crypto/sha256"
	"slices"

	"gaffer/statefile/jsontree"
)

// maxFeed is the maximum number of events of a feed that are compared with those of the previous
// read. If a feed has more events, the oldest are ignored. A feed that only gaffer writes has about
// 100 events at most.
const maxFeed = 1000

// feed is a snapshot of the event feed, which is the list of events in the workflow state. The
// snapshots of two successive reads of the workflow state are compared to find new events.
type feed struct {
	digests   []digest // one digest per event, oldest first
	archived  int64    // number of events that were moved to the archive so far
	truncated bool     // the feed had more than maxFeed events, so digests lacks the oldest
}

// digest is a hash of an event. Feeds are compared by the digests of their events, because events
// may be long.
type digest [sha256.Size]byte

func digestOf(event []byte) digest { return sha256.Sum256([]byte(normalized(event))) }

// feedOf returns the event feed in a workflow state, and the feed's events as raw JSON.
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

// newEvents returns the indexes of the events in f that are not in old, an earlier version of the
// same feed. Programs add new events at the end of a feed, and move the oldest events to an
// archive. So f normally begins with the last events of old, and all events after these are new.
// newEvents finds out in these steps with how many events of old f begins:
//  1. The difference between f.archived and old.archived is the number of events that were moved to
//     the archive. If f begins with the other events of old, all events after these are new.
//  2. In all other cases newEvents looks for the longest suffix of old with which f begins. For
//     example, another program may have removed events without counting them.
//  3. If there is no such suffix, newEvents calls newContents.
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
// f was read. Neither old nor f contains these events. They have the sequence numbers from first to
// end-1, where 0 is the project's first event. If there are no such events, first is not below end.
// If there are more than maxFeed, skipped returns only the last maxFeed of them.
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

// newContents returns the indexes of the events in f that do not occur in old, an earlier version
// of the same feed. If an event occurs in both, but more often in f, newContents returns the
// indexes of the last, additional occurrences. newEvents calls it if f does not begin with the last
// events of old, for example because another program has removed or changed events.
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
