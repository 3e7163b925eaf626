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
	maxEvents = 500            // events that are kept for who comes back
	maxBytes  = 2 * maxMessage // of them: the longest one leaves room for what came with it
)

// live is a project and what was lately told of it. Of a document only the last
// message is kept, since it says everything; of events the last few hundred.
// Followers read from that at their own pace: none has a buffer of its own, and
// none makes another one wait.
type live struct {
	path, name, folder string
	store              *workflow.Store
	notice             func(string)

	mu      sync.Mutex
	seq     int64 // of the last message
	floor   int64 // events up to this number may be gone
	latest  map[string]message
	events  []message
	size    int           // bytes of events
	changed chan struct{} // closed, and replaced, when seq has grown

	followers int
	watch     int                // counts the watches; what an earlier one still says does not count
	stop      context.CancelFunc // ends the watch, nil if there is none
	ready     chan struct{}      // closed when the watch has looked at the spec
	seen      seen

	documents *documents
	wide      wideWatch
}

// message is a message that was told.
type message struct {
	seq  int64
	data []byte
}

// seen is what the documents said at the last look.
type seen struct {
	state, inbox, spec [sha256.Size]byte
	feed               feed
	looked             bool // at the state
	read               bool // the spec
}

// newLive begins to count at the time, so that the numbers of a server that was
// started again are greater than those that it gave before.
func newLive(path string, place ProjectFolders, now time.Time) *live {
	base := now.UnixMilli()
	return &live{
		path: path, name: place.Name, folder: place.Folder,
		seq: base, floor: base, latest: map[string]message{}, changed: make(chan struct{}),
	}
}

// tell adds a message. l.mu is held.
func (l *live) tell(kind string, list ...member) {
	data, err := wire(kind, l.path, l.seq+1, list...)
	if err != nil || len(data) > maxMessage {
		l.notice(kind + " of " + l.path + " cannot be told: it is too long, or no JSON")
		delete(l.latest, kind) // who comes now must not take it for how things are
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

// after returns what was told after a number, in order: also of all documents if
// it is wide. l.mu is held.
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

// sawState tells how the state is, if it is not as it was, and the events that
// are new in it. What was there at the first look is no news.
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
	l.tell(ViewerState, members(state)...)
	for _, i := range news {
		l.tell(BuildEvent, member{"event", events[i]})
	}
}

// sawInbox tells what is in the inbox, if that has changed.
func (l *live) sawInbox(watch int, items jsontree.Value) {
	text := array(raws(items, jsontree.Object))
	l.mu.Lock()
	defer l.mu.Unlock()
	if sum := sha256.Sum256(text); watch == l.watch && sum != l.seen.inbox {
		l.seen.inbox = sum
		l.tell(InboxUpdate, member{"items", text})
	}
}

// sawSpec tells that the spec has changed. How it is at the first look is no
// news.
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
	l.tell(SpecUpdate, list...)
}

// sawNoSpec is the first look if there is none: one that is written later is
// news.
func (l *live) sawNoSpec(watch int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if watch == l.watch && !l.seen.read {
		l.seen.read, l.seen.spec = true, sha256.Sum256(nil)
	}
}
