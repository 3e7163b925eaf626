package viewers

import (
	"bytes"
	"context"
	"io/fs"
	"path/filepath"
	"sync"
	"time"

	"gaffer/internal/flow/spec"
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
	ready := make(chan struct{})
	l.ready = ready
	v.watches.Go(func() {
		_ = l.store.Watch(ctx, func(state jsontree.Value, err error) { l.looked(err, func() { l.sawState(watch, state) }) }) // it ends with ctx
	})
	v.watches.Go(func() { v.watchInbox(ctx, l, watch) })
	v.watches.Go(func() { v.watchSpec(ctx, l, watch, sync.OnceFunc(func() { close(ready) })) })
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
		if err == nil {
			err = list(doc.Value())
		}
		l.looked(err, func() { l.sawInbox(watch, doc.Value()) })
	})
}

// list says whether a document can be an inbox: an array, or nothing at all.
func list(v jsontree.Value) error {
	switch kind := v.Kind(); {
	case kind == jsontree.Array, kind == jsontree.Null, kind == jsontree.Object && v.Len() == 0:
		return nil
	default:
		return &workflow.ShapeError{At: "the inbox", Want: jsontree.Array.String(), Found: kind.String()}
	}
}

// watchSpec looks at the spec, which is no JSON, from time to time. A link is
// not followed: what it leads to is not the project's to show. It calls looked
// after the first look.
func (v *Viewer) watchSpec(ctx context.Context, l *live, watch int, looked func()) {
	defer looked() // it may have been ended before
	var looks specLooks
	for ; ctx.Err() == nil; _ = v.host.Sleep(ctx, looking) { // the loop asks ctx
		v.lookAtSpec(l, watch, &looks)
		looked()
	}
}

func (v *Viewer) lookAtSpec(l *live, watch int, looks *specLooks) {
	path := filepath.Join(l.folder, spec.File)
	info, err := v.host.Lstat(opWatchSpec, path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > spec.MaxSize {
		*looks = specLooks{looked: true}
		l.sawNoSpec(watch)
		return
	}
	now := v.host.Now()
	if !looks.due(info, now) {
		return
	}
	if text, err := statefile.ReadBytes(v.host, path); err == nil {
		l.sawSpec(watch, text, now)
	}
}

// specLooks are the looks at a spec so far.
type specLooks struct {
	looked     bool
	last, read fs.FileInfo // at the last look, and when it was last read
}

// due says whether the spec is to be read: at the first look, and when it has
// changed or may have, but not while it is being written.
func (s *specLooks) due(info fs.FileInfo, now time.Time) bool {
	still := !s.looked || s.last != nil && !differs(s.last, info)
	changed := s.read == nil || differs(s.read, info) || now.Sub(info.ModTime()) < coarse
	s.looked, s.last = true, info
	if still && changed {
		s.read = info
	}
	return still && changed
}

func differs(a, b fs.FileInfo) bool {
	return !a.ModTime().Equal(b.ModTime()) || a.Size() != b.Size()
}
