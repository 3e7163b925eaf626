package viewers

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"

	"gaffer/statefile/host"
)

// ErrClosed reports that the viewer is closed.
var ErrClosed = errors.New("the viewer is closed")

// Follower is a client that follows one project. It must call Leave.
type Follower struct {
	live         *liveProject
	allDocuments bool // the follower gets messages about all documents, not only the workflow's
}

// watches follows the documents of projects while there are followers.
type watches struct {
	projects *projectList
	owners   *runOwners
	host     host.Host
	notice   func(text string)

	mu      sync.Mutex // held when a watch starts, so that none starts after Close
	closed  bool
	running sync.WaitGroup
}

// Close ends all watches and waits for them. Later requests to follow a project return
// ErrClosed.
func (v *watches) Close() {
	v.mu.Lock()
	v.closed = true
	v.mu.Unlock()
	v.projects.mu.Lock()
	for _, l := range v.projects.liveProjects {
		l.mu.Lock()
		l.stopWatch()
		l.stopAllWatch()
		l.mu.Unlock()
	}
	v.projects.mu.Unlock()
	v.running.Wait()
}

// Follow starts to follow the workflow of a project. The files are watched while there
// is a follower.
func (v *watches) Follow(ctx context.Context, ref string) (*Follower, error) {
	return v.follow(ctx, ref, false)
}

// FollowAll starts to follow all documents of a project: also its team, its sessions,
// and the view of its build.
func (v *watches) FollowAll(ctx context.Context, ref string) (*Follower, error) {
	return v.follow(ctx, ref, true)
}

func (v *watches) follow(ctx context.Context, ref string, wide bool) (*Follower, error) {
	l, err := v.projects.find(ctx, ref)
	if err != nil {
		return nil, err
	}
	ready, err := v.join(l, wide)
	if err != nil {
		return nil, err
	}
	select {
	case <-ready: // from now on, changes are sent
	case <-ctx.Done():
	}
	return &Follower{l, wide}, nil
}

// join registers a follower. ready is closed when the watch has read the spec for the
// first time.
func (v *watches) join(l *liveProject, wide bool) (ready <-chan struct{}, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.closed {
		return nil, ErrClosed
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.followers++
	v.begin(l)
	if wide {
		l.allDocuments.followers++
		v.beginAll(l)
	}
	return l.ready, nil
}

// Leave ends the following. It must be called once.
func (f *Follower) Leave() {
	l := f.live
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.followers--; l.followers == 0 {
		l.stopWatch()
	}
	if f.allDocuments {
		if l.allDocuments.followers--; l.allDocuments.followers == 0 {
			l.stopAllWatch()
		}
	}
}

// Reading is what a follower reads next.
type Reading struct {
	Messages [][]byte
	Next     int64           // number of the last message that was read
	Behind   bool            // the next messages are no longer kept
	More     <-chan struct{} // closed when there are more messages
}

// After returns the messages after a number.
func (f *Follower) After(seq int64) Reading {
	l := f.live
	l.mu.Lock()
	defer l.mu.Unlock()
	return Reading{Messages: l.after(seq, f.allDocuments), Next: l.seq, Behind: seq < l.droppedUpTo, More: l.changed}
}

// History returns one message with all kept messages after a number, and the number of
// the last. If the number is unknown, for example because it comes from another server,
// it returns all messages. It leaves out messages that only followers of all documents get.
func (f *Follower) History(after int64) (data []byte, latest int64, err error) {
	l := f.live
	l.mu.Lock()
	defer l.mu.Unlock()
	gone := after > 0 && after < l.droppedUpTo || after > l.seq
	if gone {
		after = 0
	}
	list := []member{{"events", array(l.after(after, false))}, {"latestSeq", number(l.seq)}}
	if gone {
		list = append(list, member{"truncated", []byte("true")})
	}
	data, err = encodeMessage(EventHistory, l.path, l.seq, list...)
	return data, l.seq, err
}

// State returns the message with the current workflow state.
func (f *Follower) State() ([]byte, error) {
	state, err := f.live.store.Load()
	if err != nil {
		return nil, clientError(err)
	}
	f.live.mu.Lock()
	seq := f.live.seq
	f.live.mu.Unlock()
	return encodeMessage(ViewerState, f.live.path, seq, members(state)...)
}

// Latest returns the last message about each document, in the order in which they were
// sent, and the number of the last message. Each message contains the whole document.
// Latest leaves out spec updates, because they contain no document.
func (f *Follower) Latest() (list [][]byte, at int64) {
	l := f.live
	l.mu.Lock()
	defer l.mu.Unlock()
	var messages []message
	for kind, m := range l.latest {
		if kind != SpecUpdate && (f.allDocuments || !forAllDocumentsOnly(kind)) {
			messages = append(messages, m)
		}
	}
	slices.SortFunc(messages, func(a, b message) int { return cmp.Compare(a.seq, b.seq) })
	for _, m := range messages {
		list = append(list, m.data)
	}
	return list, l.seq
}
