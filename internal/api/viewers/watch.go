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
	checkEvery          = 250 * time.Millisecond // interval between checks of the spec, and of the sessions
	// timestampGrain is an upper limit for the resolution of modification times. A file that was
	// modified less than this time ago is read at each check, because another change may leave its
	// modification time the same.
	timestampGrain = 2 * time.Second
	// maxSpec is the maximum length in bytes of a spec whose text is sent. The message about a
	// longer spec does not contain the text.
	maxSpec = 1 << 20
)

// begin starts to watch the workflow documents of a project, unless a watch is already running. The
// caller holds l.mu and v.mu, so that Close cannot run meanwhile.
func (v *watches) begin(l *liveProject) {
	if l.stop != nil {
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	l.stop = stop
	l.watch++
	watch := l.watch
	ready := make(chan struct{})
	l.ready = ready
	v.running.Go(func() {
		// Ignore the error: Watch returns only when ctx ends.
		_ = l.store.Watch(ctx, func(state jsontree.Value, err error) { l.onRead(err, func() { l.updateState(watch, state) }) })
	})
	v.running.Go(func() { v.watchInbox(ctx, l, watch) })
	v.running.Go(func() { v.watchSpec(ctx, l, watch, sync.OnceFunc(func() { close(ready) })) })
}

// stopWatch ends the project's watch, if one is running. The caller holds l.mu.
func (l *liveProject) stopWatch() {
	if l.stop != nil {
		l.stop()
		l.stop = nil
	}
}

// onRead calls the function handle if a document could be read. If the document could not be read,
// onRead logs the error, and followers keep the last message about the document.
func (l *liveProject) onRead(err error, handle func()) {
	if err != nil {
		l.notice("viewer: " + err.Error())
		return
	}
	handle()
}

func (v *watches) watchInbox(ctx context.Context, l *liveProject, watch int) {
	f := statefile.New(l.store.Inbox().Path(), statefile.Options{Host: v.host})
	_ = f.Watch(ctx, func(data []byte, err error) { // ignore the error: Watch returns only when ctx ends
		var doc *jsontree.Doc
		if data == nil {
			data = []byte("[]")
		}
		if err == nil {
			doc, err = jsontree.Parse(bytes.Clone(data))
		}
		if err == nil {
			err = checkIsList(doc.Value())
		}
		l.onRead(err, func() { l.updateInbox(watch, doc.Value()) })
	})
}

// checkIsList returns nil if an inbox document is a JSON array, null or an empty object. Null and
// an empty object count as an empty inbox. For any other value, it returns an error.
func checkIsList(v jsontree.Value) error {
	switch kind := v.Kind(); {
	case kind == jsontree.Array, kind == jsontree.Null, kind == jsontree.Object && v.Len() == 0:
		return nil
	default:
		return &workflow.ShapeError{At: "the inbox", Want: jsontree.Array.String(), Found: kind.String()}
	}
}

// watchSpec checks the spec at intervals, because the package statefile can only watch JSON
// documents. It does not follow symbolic links, because their targets may be outside the project.
// It calls the function checked after each check and before it returns.
func (v *watches) watchSpec(ctx context.Context, l *liveProject, watch int, checked func()) {
	defer checked() // call checked even if ctx ends before the first check
	var checks specChecks
	for ; ctx.Err() == nil; _ = v.host.Sleep(ctx, checkEvery) { // ignore the error: Sleep fails only when ctx ends
		v.checkSpec(l, watch, &checks)
		checked()
	}
}

func (v *watches) checkSpec(l *liveProject, watch int, checks *specChecks) {
	path := filepath.Join(l.folder, spec.File)
	info, err := v.host.Lstat(opWatchSpec, path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > spec.MaxSize {
		*checks = specChecks{checked: true}
		l.specMissing(watch)
		return
	}
	now := v.host.Now()
	if !checks.due(info, now) {
		return
	}
	if text, err := statefile.ReadBytes(v.host, path); err == nil {
		l.updateSpec(watch, text, now)
	}
}

// specChecks remembers the earlier checks of a spec.
type specChecks struct {
	checked    bool
	last, read fs.FileInfo // file info at the last check, and at the last read of the file
}

// due reports whether the spec must be read now. This is so if both conditions are met:
//  1. The spec has changed since the last read, or was not read yet, or was modified so recently
//     that a further change may not be visible in info.
//  2. The spec is unchanged since the last check, or there was no check before. If it has changed
//     since the last check, a program may still be writing it.
//
// due stores info as the file info at the last check and, if it returns true, at the last read.
func (s *specChecks) due(info fs.FileInfo, now time.Time) bool {
	still := !s.checked || s.last != nil && !differs(s.last, info)
	changed := s.read == nil || differs(s.read, info) || now.Sub(info.ModTime()) < timestampGrain
	s.checked, s.last = true, info
	if still && changed {
		s.read = info
	}
	return still && changed
}

func differs(a, b fs.FileInfo) bool {
	return !a.ModTime().Equal(b.ModTime()) || a.Size() != b.Size()
}
