package viewers

import (
	"cmp"
	"context"
	"crypto/sha256"
	"slices"
	"sort"
	"sync"
	"time"

	"gaffer/statefile/jsontree"
	"gaffer/workflow"
)

const (
	maxEvents = 500            // maximum number of events that are kept for followers
	maxBytes  = 2 * maxMessage // maximum total size of the kept events in bytes
)

// liveProject is a project with the recent messages for its followers, which are clients that watch
// the project. It keeps the last message about each document, and the messages about the last
// events, up to maxEvents and maxBytes. A message about a document contains the whole document,
// except if it is about a long spec. Followers read the messages at their own pace, so a slow
// follower does not delay others.
type liveProject struct {
	path, name, folder string
	store              *workflow.Store
	notice             func(string)

	mu          sync.Mutex
	seq         int64              // sequence number of the last message
	droppedUpTo int64              // events up to this sequence number may have been dropped
	latest      map[string]message // last message about each document, by the type of the message
	events      []message
	size        int           // total length of the messages in the field events, in bytes
	changed     chan struct{} // closed and replaced when a message is stored

	followers int
	// watch is the number of watches that were started so far. It is also the number of the newest
	// watch. Results of older watches are ignored.
	watch int
	stop  context.CancelFunc // ends the watch; nil if no watch is running
	ready chan struct{}      // closed when the watch has checked the spec for the first time
	seen  lastContents

	documents    *documents
	allDocuments allDocumentsWatch
}

// message is an encoded message for followers, with its sequence number.
type message struct {
	seq  int64
	data []byte
}

// lastContents contains hashes of the documents at their last read. A different hash shows that a
// document has changed.
type lastContents struct {
	state, inbox, spec [sha256.Size]byte
	feed               feed
	stateRead          bool // the workflow state was read at least once
	specRead           bool // the spec was read, or found missing, at least once
}

// newLiveProject returns a project without messages. The sequence numbers of its messages begin
// after the current time in milliseconds. So they are normally higher than those that were used
// before a restart of the server.
func newLiveProject(path string, place ProjectFolders, now time.Time) *liveProject {
	base := now.UnixMilli()
	return &liveProject{
		path: path, name: place.Name, folder: place.Folder,
		seq: base, droppedUpTo: base, latest: map[string]message{}, changed: make(chan struct{}),
	}
}

// addMessage stores a message for the followers and wakes them. If the message is too long or is
// not valid JSON, addMessage does not store it and logs a notice. The caller must hold l.mu.
func (l *liveProject) addMessage(kind string, list ...member) {
	data, err := encodeMessage(kind, l.path, l.seq+1, list...)
	if err != nil || len(data) > maxMessage {
		l.notice(kind + " of " + l.path + " cannot be sent: it is too long, or not JSON")
		delete(l.latest, kind) // new followers must not get an older message instead
		return
	}
	l.seq++
	m := message{l.seq, data}
	if kind == BuildEvent {
		l.addEvent(m)
	} else {
		l.latest[kind] = m
	}
	close(l.changed)
	l.changed = make(chan struct{})
}

func (l *liveProject) addEvent(m message) {
	l.events = append(l.events, m)
	l.size += len(m.data)
	n := 0
	for ; len(l.events)-n > maxEvents || l.size > maxBytes; n++ {
		l.size -= len(l.events[n].data)
		l.droppedUpTo = l.events[n].seq
	}
	l.events = slices.Delete(l.events, 0, n)
}

// after returns the stored messages with sequence numbers above seq, in order. If wide is true, it
// includes messages that only followers of all documents get. The caller must hold l.mu.
func (l *liveProject) after(seq int64, wide bool) [][]byte {
	first := sort.Search(len(l.events), func(i int) bool { return l.events[i].seq > seq })
	list := slices.Clone(l.events[first:])
	for kind, m := range l.latest {
		if m.seq > seq && (wide || !forAllDocumentsOnly(kind)) {
			list = append(list, m)
		}
	}
	slices.SortFunc(list, func(a, b message) int { return cmp.Compare(a.seq, b.seq) })
	data := make([][]byte, len(list))
	for i, m := range list {
		data[i] = m.data
	}
	return data
}

// updateState adds a message with the workflow state if the state has changed since the last read,
// and a message for each new event in the state. At the first read, no event counts as new. Events
// that were both added and moved to the archive since the last read are read from the archive.
func (l *liveProject) updateState(watch int, state jsontree.Value) {
	l.mu.Lock()
	defer l.mu.Unlock()
	sum := sha256.Sum256(state.Raw())
	if watch != l.watch || l.seen.stateRead && sum == l.seen.state {
		return
	}
	f, events := feedOf(state)
	var news []int
	var skipped []jsontree.Value
	if l.seen.stateRead {
		news = f.newEvents(l.seen.feed)
		if first, end := f.skipped(l.seen.feed); first < end {
			var err error
			if skipped, err = l.store.Archived(first, end); err != nil {
				l.notice("viewer: archived events: " + err.Error())
			}
		}
	}
	l.seen.stateRead, l.seen.state, l.seen.feed = true, sum, f
	l.addMessage(ViewerState, members(state)...)
	for _, e := range skipped {
		l.addMessage(BuildEvent, member{"event", e.Raw()})
	}
	for _, i := range news {
		l.addMessage(BuildEvent, member{"event", events[i]})
	}
}

// updateInbox adds a message with the inbox if it has changed.
func (l *liveProject) updateInbox(watch int, items jsontree.Value) {
	text := array(itemsOfKind(items, jsontree.Object))
	l.mu.Lock()
	defer l.mu.Unlock()
	if sum := sha256.Sum256(text); watch == l.watch && sum != l.seen.inbox {
		l.seen.inbox = sum
		l.addMessage(InboxUpdate, member{"items", text})
	}
}

// updateSpec adds a message if the spec has changed since the last read. At the first read it only
// stores the hash of the spec.
func (l *liveProject) updateSpec(watch int, text []byte, at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	sum := sha256.Sum256(text)
	if watch != l.watch || l.seen.specRead && sum == l.seen.spec {
		return
	}
	first := !l.seen.specRead
	l.seen.specRead, l.seen.spec = true, sum
	if first {
		return
	}
	list := []member{{"timestamp", number(at.UnixMilli())}}
	if len(text) <= maxSpec {
		list = append(list, member{"content", quoted(string(text))})
	}
	l.addMessage(SpecUpdate, list...)
}

// specMissing records that the spec was missing at the first read, so that updateSpec adds a
// message when the spec is created.
func (l *liveProject) specMissing(watch int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if watch == l.watch && !l.seen.specRead {
		l.seen.specRead, l.seen.spec = true, sha256.Sum256(nil)
	}
}
