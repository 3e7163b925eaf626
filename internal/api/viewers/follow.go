package viewers

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"

	"gaffer/statefile/host"
)

// ErrClosed is returned by [Viewer.Follow] and [Viewer.FollowAll] after the viewer was closed.
var ErrClosed = errors.New("the viewer is closed")

// Follower is a client that follows one project. The client must call Leave when it stops
// following.
type Follower struct {
	live         *liveProject
	allDocuments bool // whether the follower gets messages about all documents, not only about those of the workflow
}

// watches watches the documents of projects that have followers.
type watches struct {
	projects *projectList
	owners   *runOwners
	host     host.Host
	notice   func(text string)

	mu      sync.Mutex // locked while a watch starts, so that no watch starts after Close
	closed  bool
	running sync.WaitGroup
}

// Close ends all watches and waits until they have ended. Later calls of Follow and FollowAll
// return ErrClosed.
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

// Follow starts to follow the workflow documents of a project. The files are watched as long as the
// project has a follower.
func (v *watches) Follow(ctx context.Context, ref string) (*Follower, error) {
	return v.follow(ctx, ref, false)
}

// FollowAll starts to follow all documents of a project: the workflow documents, the team, the
// sessions, and the view of the build.
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
	// Wait for the first check of the spec, because only changes after it are noticed.
	case <-ready:
	case <-ctx.Done():
	}
	return &Follower{l, wide}, nil
}

// join registers a follower, and starts the watches that it needs. If wide is true, the follower
// gets messages about all documents. ready is closed when the spec of the project was checked for
// the first time. After Close, join returns ErrClosed.
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

// Leave ends the follower's subscription. It must be called exactly once.
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

// Reading is the result of one call of [Follower.After].
type Reading struct {
	Messages [][]byte
	Next     int64 // sequence number to pass to the next call of After
	// Behind is true if messages that the follower has not got yet may have been dropped.
	Behind bool
	More   <-chan struct{} // closed when the next message is stored
}

// After returns the stored messages for the follower with sequence numbers above seq.
func (f *Follower) After(seq int64) Reading {
	l := f.live
	l.mu.Lock()
	defer l.mu.Unlock()
	return Reading{Messages: l.after(seq, f.allDocuments), Next: l.seq, Behind: seq < l.droppedUpTo, More: l.changed}
}

// History returns one message that contains all stored messages with sequence numbers above cursor.
// It leaves out messages that only followers of all documents get. latest is the sequence number of
// the project's last message. A client that has no messages yet passes 0 as cursor. If cursor is
// above latest, or if cursor is not 0 and messages after it may have been dropped, the result
// contains all stored messages and is marked as truncated.
func (f *Follower) History(cursor int64) (data []byte, latest int64, err error) {
	l := f.live
	l.mu.Lock()
	defer l.mu.Unlock()
	gone := cursor > 0 && cursor < l.droppedUpTo || cursor > l.seq
	if gone {
		cursor = 0
	}
	list := []member{{"events", array(l.after(cursor, false))}, {"latestSeq", number(l.seq)}}
	if gone {
		list = append(list, member{"truncated", []byte("true")})
	}
	data, err = encodeMessage(EventHistory, l.path, l.seq, list...)
	return data, l.seq, err
}

// State reads the workflow state from the file and returns a message that contains it.
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

// Latest returns the last message about each document that the follower follows, in the order of
// their sequence numbers. at is the sequence number of the project's last message. Each message
// that Latest returns contains the whole document. Latest leaves out messages about the spec,
// because a message about a long spec does not contain its text.
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
