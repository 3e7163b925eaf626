package viewer

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"time"

	"gaffer/internal/spec"
	"gaffer/statefile"
	"gaffer/statefile/host"
	"gaffer/statefile/jsontree"
	"gaffer/workflow"
)

const (
	opWatchSpec host.Op = "watch spec"
	looking             = 250 * time.Millisecond // between looks at the spec
	coarse              = 2 * time.Second        // a file this young may change without its time changing
	maxSpec             = 1 << 20                // of a longer spec only that it changed is told
)

// begin watches the documents of a project, if nobody does. l.mu is held, and so
// is v.mu, without which the viewer might be closed meanwhile.
func (v *Viewer) begin(l *live) {
	if l.stop != nil {
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	l.stop = stop
	l.watch++
	watch := l.watch
	v.watches.Go(func() {
		_ = l.store.Watch(ctx, func(state jsontree.Value, err error) { l.looked(err, func() { l.sawState(watch, state) }) }) // it ends with ctx
	})
	v.watches.Go(func() { v.watchInbox(ctx, l, watch) })
	v.watches.Go(func() { v.watchSpec(ctx, l, watch) })
}

// rest ends the watch, if there is one. l.mu is held.
func (l *live) rest() {
	if l.stop != nil {
		l.stop()
		l.stop = nil
	}
}

// looked passes on what was seen. A document that cannot be read is nothing to
// tell: what was told last stays true until it can be.
func (l *live) looked(err error, saw func()) {
	if err != nil {
		l.notice("viewer: " + err.Error())
		return
	}
	saw()
}

func (v *Viewer) watchInbox(ctx context.Context, l *live, watch int) {
	f := statefile.New(l.store.Inbox().Path(), statefile.Options{Host: v.host})
	_ = f.Watch(ctx, func(data []byte, err error) { // it ends with ctx
		var doc *jsontree.Doc
		if data == nil {
			data = []byte("[]")
		}
		if err == nil {
			doc, err = jsontree.Parse(bytes.Clone(data))
		}
		if err == nil && doc.Value().Kind() != jsontree.Array && (doc.Value().Kind() != jsontree.Null && doc.Value().Len() > 0) {
			err = &workflow.ShapeError{Path: f.Path(), At: "the document", Want: jsontree.Array.String(), Found: doc.Value().Kind().String()}
		}
		l.looked(err, func() { l.sawInbox(watch, doc.Value()) })
	})
}

// watchSpec looks at the spec, which is no JSON, from time to time. A link is
// not followed: what it leads to is not the project's to show.
func (v *Viewer) watchSpec(ctx context.Context, l *live, watch int) {
	path := filepath.Join(l.folder, spec.File)
	var before fs.FileInfo
	for ctx.Err() == nil {
		info, err := v.host.Lstat(opWatchSpec, path)
		now := v.host.Now()
		switch {
		case err != nil || !info.Mode().IsRegular() || info.Size() > spec.MaxSize:
			before = nil
			l.sawNoSpec(watch)
		case before == nil || differs(before, info) || now.Sub(info.ModTime()) < coarse:
			before = info
			if text, err := statefile.ReadBytes(v.host, path); err == nil {
				l.sawSpec(watch, text, now)
			}
		}
		_ = v.host.Sleep(ctx, looking) // the loop asks ctx
	}
}

func differs(a, b fs.FileInfo) bool {
	return !a.ModTime().Equal(b.ModTime()) || a.Size() != b.Size()
}

// ErrClosed is a viewer that is no more.
var ErrClosed = errors.New("the viewer is closed")

// Follower is somebody who looks at one project. It must be left.
type Follower struct {
	viewer *Viewer
	live   *live
}

// Follow begins to look at a project. While somebody does, its files are
// watched.
func (v *Viewer) Follow(ctx context.Context, ref string) (*Follower, error) {
	l, err := v.of(ctx, ref)
	if err != nil {
		return nil, err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.closed {
		return nil, ErrClosed
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.followers++
	v.begin(l)
	return &Follower{v, l}, nil
}

// Leave ends the looking. It is called once.
func (f *Follower) Leave() {
	l := f.live
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.followers--; l.followers == 0 {
		l.rest()
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
	return Reading{Messages: l.after(seq), Next: l.seq, Behind: seq < l.floor, More: l.changed}
}

// History is the message with what was told after a number, as far as it is
// kept, and the number of the last. A number that was never given, such as that
// of another server, gets all.
func (f *Follower) History(after int64) (data []byte, latest int64, err error) {
	l := f.live
	l.mu.Lock()
	defer l.mu.Unlock()
	gone := after > 0 && after < l.floor || after > l.seq
	if gone {
		after = 0
	}
	list := []member{{"events", array(l.after(after))}, {"latestSeq", number(l.seq)}}
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

// Listed is closed when the list of projects has changed.
func (v *Viewer) Listed() <-chan struct{} {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.listed
}
