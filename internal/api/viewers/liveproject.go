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
	maxEvents = 500            // events kept for clients that reconnect
	maxBytes  = 2 * maxMessage // maximum size of the kept events; one message of maximum length always fits
)

// liveProject is a project with its recent messages: the last message about each document,
// which contains the whole document, and the last few hundred events. Followers read the
// messages at their own pace, so a slow follower does not delay others.
type liveProject struct {
	path, name, folder string
	store              *workflow.Store
	notice             func(string)

	mu          sync.Mutex
	seq         int64 // number of the last message
	droppedUpTo int64 // events up to this number may have been dropped
	latest      map[string]message
	events      []message
	size        int           // bytes of events
	changed     chan struct{} // closed and replaced when seq has grown

	followers int
	watch     int                // number of the current watch; results of earlier ones are ignored
	stop      context.CancelFunc // ends the watch; nil if there is none
	ready     chan struct{}      // closed when the watch has read the spec
	seen      lastContents

	documents    *documents
	allDocuments allDocumentsWatch
}

// message is a message that was sent.
type message struct {
	seq  int64
	data []byte
}

// lastContents holds the contents of the documents at the last read.
type lastContents struct {
	state, inbox, spec [sha256.Size]byte
	feed               feed
	stateRead          bool // the state was read
	specRead           bool // the spec was read
}

// newLiveProject numbers messages from the current time in milliseconds on, so that the
// numbers keep growing after a restart of the server.
func newLiveProject(path string, place ProjectFolders, now time.Time) *liveProject {
	base := now.UnixMilli()
	return &liveProject{
		path: path, name: place.Name, folder: place.Folder,
		seq: base, droppedUpTo: base, latest: map[string]message{}, changed: make(chan struct{}),
	}
}

// addMessage adds a message for the followers. The caller holds l.mu.
func (l *liveProject) addMessage(kind string, list ...member) {
	data, err := encodeMessage(kind, l.path, l.seq+1, list...)
	if err != nil || len(data) > maxMessage {
		l.notice(kind + " of " + l.path + " cannot be sent: it is too long, or not JSON")
		delete(l.latest, kind) // new followers must not get an outdated message
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

// after returns the messages after a number, in order. With wide it includes all
// documents. The caller holds l.mu.
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

// updateState reports the state if it has changed, and the new events in it. Events that
// exist at the first read are not new.
func (l *liveProject) updateState(watch int, state jsontree.Value) {
	l.mu.Lock()
	defer l.mu.Unlock()
	sum := sha256.Sum256(state.Raw())
	if watch != l.watch || l.seen.stateRead && sum == l.seen.state {
		return
	}
	f, events := feedOf(state)
	var news []int
	if l.seen.stateRead {
		news = f.newEvents(l.seen.feed)
	}
	l.seen.stateRead, l.seen.state, l.seen.feed = true, sum, f
	l.addMessage(ViewerState, members(state)...)
	for _, i := range news {
		l.addMessage(BuildEvent, member{"event", events[i]})
	}
}

// updateInbox reports the inbox if it has changed.
func (l *liveProject) updateInbox(watch int, items jsontree.Value) {
	text := array(itemsOfKind(items, jsontree.Object))
	l.mu.Lock()
	defer l.mu.Unlock()
	if sum := sha256.Sum256(text); watch == l.watch && sum != l.seen.inbox {
		l.seen.inbox = sum
		l.addMessage(InboxUpdate, member{"items", text})
	}
}

// updateSpec reports that the spec has changed. The first read is not a change.
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

// specMissing records that the spec was missing at the first read, so that its creation
// counts as a change.
func (l *liveProject) specMissing(watch int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if watch == l.watch && !l.seen.specRead {
		l.seen.specRead, l.seen.spec = true, sha256.Sum256(nil)
	}
}
