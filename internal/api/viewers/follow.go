package viewers

import (
	"cmp"
	"context"
	"errors"
	"slices"
)

// ErrClosed is a viewer that is no more.
var ErrClosed = errors.New("the viewer is closed")

// Follower is somebody who looks at one project. It must be left.
type Follower struct {
	viewer *Viewer
	live   *live
	wide   bool // it is told of all documents
}

// Follow begins to look at the workflow of a project. While somebody does, its
// files are watched.
func (v *Viewer) Follow(ctx context.Context, ref string) (*Follower, error) {
	return v.follow(ctx, ref, false)
}

// FollowAll begins to look at all documents of a project: also at its team, its
// sessions, and its build as a picture.
func (v *Viewer) FollowAll(ctx context.Context, ref string) (*Follower, error) {
	return v.follow(ctx, ref, true)
}

func (v *Viewer) follow(ctx context.Context, ref string, wide bool) (*Follower, error) {
	l, err := v.of(ctx, ref)
	if err != nil {
		return nil, err
	}
	ready, err := v.join(l, wide)
	if err != nil {
		return nil, err
	}
	select {
	case <-ready: // what is written from now on is news
	case <-ctx.Done():
	}
	return &Follower{v, l, wide}, nil
}

// join counts a follower, and returns what is closed when the watch has looked at
// the spec.
func (v *Viewer) join(l *live, wide bool) (ready <-chan struct{}, err error) {
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
		l.wide.followers++
		v.beginWide(l)
	}
	return l.ready, nil
}

// Leave ends the looking. It is called once.
func (f *Follower) Leave() {
	l := f.live
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.followers--; l.followers == 0 {
		l.rest()
	}
	if f.wide {
		if l.wide.followers--; l.wide.followers == 0 {
			l.restWide()
		}
	}
}

// Reading is what a follower reads next.
type Reading struct {
	Messages [][]byte
	Next     int64           // the number up to which it has read then
	Behind   bool            // events that come next are gone
	More     <-chan struct{} // closed when there is more
}

// After returns what was told after a number.
func (f *Follower) After(seq int64) Reading {
	l := f.live
	l.mu.Lock()
	defer l.mu.Unlock()
	return Reading{Messages: l.after(seq, f.wide), Next: l.seq, Behind: seq < l.floor, More: l.changed}
}

// History is the message with what was told after a number, as far as it is
// kept, and the number of the last. A number that was never given, such as that
// of another server, gets all. What only a wide follower is told is not in it.
func (f *Follower) History(after int64) (data []byte, latest int64, err error) {
	l := f.live
	l.mu.Lock()
	defer l.mu.Unlock()
	gone := after > 0 && after < l.floor || after > l.seq
	if gone {
		after = 0
	}
	list := []member{{"events", array(l.after(after, false))}, {"latestSeq", number(l.seq)}}
	if gone {
		list = append(list, member{"truncated", []byte("true")})
	}
	data, err = wire(EventHistory, l.path, l.seq, list...)
	return data, l.seq, err
}

// State is the message that says how the state is now.
func (f *Follower) State() ([]byte, error) {
	state, err := f.live.store.Load()
	if err != nil {
		return nil, told(err)
	}
	f.live.mu.Lock()
	seq := f.live.seq
	f.live.mu.Unlock()
	return wire(ViewerState, f.live.path, seq, members(state)...)
}

// Latest are the last messages that each say everything of a document, in the
// order in which they were told, and the number up to which they go. That a spec
// has changed is news, and not among them.
func (f *Follower) Latest() (list [][]byte, at int64) {
	l := f.live
	l.mu.Lock()
	defer l.mu.Unlock()
	var told []message
	for kind, m := range l.latest {
		if kind != SpecUpdate && (f.wide || !isWide(kind)) {
			told = append(told, m)
		}
	}
	slices.SortFunc(told, func(a, b message) int { return cmp.Compare(a.seq, b.seq) })
	for _, m := range told {
		list = append(list, m.data)
	}
	return list, l.seq
}
