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
	maxBytes  = 2 * maxMessage // size limit of these events; one message of maximum length always fits
)

// live is a project with its recent messages: the last message about each document,
// which contains the whole document, and the last few hundred events. Followers read
// them at their own pace. Followers have no buffers, so none delays another.
type live struct {
	path, name, folder string
	store              *workflow.Store
	notice             func(string)

	mu      sync.Mutex
	seq     int64 // number of the last message
	floor   int64 // events up to this number may have been dropped
	latest  map[string]message
	events  []message
	size    int           // bytes of events
	changed chan struct{} // closed and replaced when seq has grown

	followers int
	watch     int                // number of the current watch; results of earlier ones are ignored
	stop      context.CancelFunc // ends the watch; nil if there is none
	ready     chan struct{}      // closed when the watch has read the spec
	seen      seen

	documents *documents
	wide      wideWatch
}

// message is a message that was sent.
type message struct {
	seq  int64
	data []byte
}

// seen holds the contents of the documents at the last read.
type seen struct {
	state, inbox, spec [sha256.Size]byte
	feed               feed
	looked             bool // the state was read
	read               bool // the spec was read
}

// newLive numbers messages from the current time in milliseconds on, so that the
// numbers keep growing after a restart of the server.
func newLive(path string, place ProjectFolders, now time.Time) *live {
	base := now.UnixMilli()
	return &live{
		path: path, name: place.Name, folder: place.Folder,
		seq: base, floor: base, latest: map[string]message{}, changed: make(chan struct{}),
	}
}

// addMessage adds a message for the followers. The caller holds l.mu.
func (l *live) addMessage(kind string, list ...member) {
	data, err := wire(kind, l.path, l.seq+1, list...)
	if err != nil || len(data) > maxMessage {
		l.notice(kind + " of " + l.path + " cannot be told: it is too long, or no JSON")
		delete(l.latest, kind) // new followers must not get an outdated message
		return
	}
	l.seq++
	m := message{l.seq, data}
	if kind == BuildEvent {
		l.keep(m)
	} else {
		l.latest[kind] = m
	}
	close(l.changed)
	l.changed = make(chan struct{})
}

func (l *live) keep(m message) {
	l.events = append(l.events, m)
	l.size += len(m.data)
	n := 0
	for ; len(l.events)-n > maxEvents || l.size > maxBytes; n++ {
		l.size -= len(l.events[n].data)
		l.floor = l.events[n].seq
	}
	l.events = slices.Delete(l.events, 0, n)
}

// after returns the messages after a number, in order. With wide it includes all
// documents. The caller holds l.mu.
func (l *live) after(seq int64, wide bool) [][]byte {
	first := sort.Search(len(l.events), func(i int) bool { return l.events[i].seq > seq })
	list := slices.Clone(l.events[first:])
	for kind, m := range l.latest {
		if m.seq > seq && (wide || !isWide(kind)) {
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

// sawState reports the state if it has changed, and the new events in it. Events that
// exist at the first read are not new.
func (l *live) sawState(watch int, state jsontree.Value) {
	l.mu.Lock()
	defer l.mu.Unlock()
	sum := sha256.Sum256(state.Raw())
	if watch != l.watch || l.seen.looked && sum == l.seen.state {
		return
	}
	f, events := feedOf(state)
	var news []int
	if l.seen.looked {
		news = f.news(l.seen.feed)
	}
	l.seen.looked, l.seen.state, l.seen.feed = true, sum, f
	l.addMessage(ViewerState, members(state)...)
	for _, i := range news {
		l.addMessage(BuildEvent, member{"event", events[i]})
	}
}

// sawInbox reports the inbox if it has changed.
func (l *live) sawInbox(watch int, items jsontree.Value) {
	text := array(raws(items, jsontree.Object))
	l.mu.Lock()
	defer l.mu.Unlock()
	if sum := sha256.Sum256(text); watch == l.watch && sum != l.seen.inbox {
		l.seen.inbox = sum
		l.addMessage(InboxUpdate, member{"items", text})
	}
}

// sawSpec reports that the spec has changed. The first read is not a change.
func (l *live) sawSpec(watch int, text []byte, at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	sum := sha256.Sum256(text)
	if watch != l.watch || l.seen.read && sum == l.seen.spec {
		return
	}
	first := !l.seen.read
	l.seen.read, l.seen.spec = true, sum
	if first {
		return
	}
	list := []member{{"timestamp", number(at.UnixMilli())}}
	if len(text) <= maxSpec {
		list = append(list, member{"content", quoted(string(text))})
	}
	l.addMessage(SpecUpdate, list...)
}

// sawNoSpec records that the spec was missing at the first read, so that its creation
// counts as a change.
func (l *live) sawNoSpec(watch int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if watch == l.watch && !l.seen.read {
		l.seen.read, l.seen.spec = true, sha256.Sum256(nil)
	}
}
