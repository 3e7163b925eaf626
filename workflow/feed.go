package workflow

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"

	"gaffer/statefile"
	"gaffer/statefile/host"
	"gaffer/statefile/jsontree"
)

// FeedCap is the maximum number of events in the state. When it is reached, the next [Store.Emit]
// or [Store.Record] moves the oldest events to a file in ArchiveFolder. The feed may have a few
// more events while several processes add events at the same time.
const FeedCap = 100

// feedBatch is the number of events that are moved to the archive at a time.
const feedBatch = FeedCap / 2

// ArchiveFolder is the name of the folder for events that were removed from the state.
const ArchiveFolder = "build-events"

// archivedField is the member of the state that counts the events in the archive. The name of the
// next archive file contains this count, so each batch is moved only once, even if a process dies
// during the move.
const archivedField = "buildEventsArchived"

const (
	opSyncArchive host.Op = "sync archive"
	opReadArchive host.Op = "read archive"
)

// Event is an event read from the feed.
type Event struct {
	Kind          string         `json:"kind"`
	Chunk         string         `json:"-"` // the chunk as text, even if the document has a number
	Timestamp     string         `json:"timestamp"`
	Summary       string         `json:"summary"`
	Checks        []Check        `json:"checks"`
	Mode          string         `json:"mode"`
	Screenshot    string         `json:"screenshot"`
	IsolationMode string         `json:"isolationMode"`
	Raw           jsontree.Value `json:"-"` // the complete event
}

// Events reads the feed of a state, oldest first. It skips values that are not
// objects.
func Events(feed []jsontree.Value) []Event {
	var events []Event
	for _, v := range feed {
		if v.Kind() != jsontree.Object {
			continue
		}
		e := Event{Chunk: v.Get("chunk").String(), Raw: v}
		jsontree.Decode(v, &e) // ignore fields of the wrong type: they are in Raw
		events = append(events, e)
	}
	return events
}

// Emit appends an event to the feed and returns it. When Emit returns, the event and the archived
// events are durable.
func (s *Store) Emit(ctx context.Context, d Draft) (jsontree.Value, error) {
	event, err := d.Event(s.opts.Now())
	if err != nil {
		return jsontree.Value{}, err
	}
	moved, err := s.archive()
	if err != nil {
		return jsontree.Value{}, err
	}
	return event, s.Update(ctx, func(root *jsontree.Node) error {
		return appendEvent(root, event, moved)
	})
}

// batch holds the oldest events of the feed, which are moved to the archive.
type batch struct {
	start  int64 // number of events that were archived before this batch
	events []jsontree.Value
}

// appendEvent appends an event to the feed. It also removes the events in moved from the feed,
// because they are in the archive. It does not remove them if they are no longer the oldest events
// of the feed.
func appendEvent(root *jsontree.Node, event jsontree.Value, moved batch) error {
	feed, err := array(root, "buildEvents", "buildEvents")
	if err != nil {
		return err
	}
	feed.Append(event)
	if len(moved.events) == 0 || !moved.startOf(root.Get(archivedField), feed.Value()) {
		return nil
	}
	for range moved.events {
		feed.Remove(0)
	}
	root.Set(archivedField, moved.start+int64(len(moved.events)))
	return nil
}

// startOf reports whether the feed still begins with exactly the events of this batch, and no other
// process has archived them. archived is the number of archived events in the state.
func (b batch) startOf(archived, feed jsontree.Value) bool {
	if start, _ := archived.Int(); start != b.start || feed.Len() < len(b.events) {
		return false
	}
	for i, v := range feed.Items() {
		if i == len(b.events) {
			break
		}
		if !bytes.Equal(v.Raw(), b.events[i].Raw()) {
			return false
		}
	}
	return true
}

// archive copies the oldest events to a file if the feed is full, and returns them; if the feed is
// not full, the batch is empty. The caller then removes these events from the feed. The file name
// contains the number of events that were archived before and a hash of the content. So if archive
// is repeated after a crash, it finds the file and does not write it again.
func (s *Store) archive() (batch, error) {
	state, err := s.Load()
	if err != nil { // ignore the error here: the update that follows gets the same error and handles it
		return batch{}, nil
	}
	feed := state.Get("buildEvents")
	if feed.Kind() != jsontree.Array || feed.Len() < FeedCap {
		return batch{}, nil
	}
	var b batch
	b.start, _ = state.Get(archivedField).Int()
	for i, v := range feed.Items() {
		if i == feedBatch {
			break
		}
		b.events = append(b.events, v)
	}
	return b, s.keep(b)
}

func (s *Store) keep(b batch) error {
	doc, err := jsontree.Parse([]byte("[]\n"))
	if err != nil {
		return err
	}
	for _, v := range b.events {
		doc.Root().Append(v)
	}
	data := doc.Bytes()
	folder := filepath.Join(s.root, ArchiveFolder)
	if err := statefile.MkdirIgnored(s.opts.Host, folder); err != nil {
		return err
	}
	sum := sha256.Sum256(data)
	name := fmt.Sprintf("%09d-%x.json", b.start, sum[:8])
	err = statefile.WriteNew(s.opts.Host, filepath.Join(folder, name), data, 0o666)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return s.syncArchive(folder)
}

// Archived reads the events with the numbers from first to end-1 from the archive. The first event
// of the project has the number 0. Events that the archive does not have are left out.
func (s *Store) Archived(first, end int64) ([]jsontree.Value, error) {
	folder := filepath.Join(s.root, ArchiveFolder)
	files, err := s.opts.Host.ReadDir(opReadArchive, folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var events []jsontree.Value
	for _, f := range files {
		number, _, _ := strings.Cut(f.Name(), "-")
		start, err := strconv.ParseInt(number, 10, 64)
		if err != nil || start >= end || start+feedBatch <= first { // skip a file that is not from the archive, or that has none of these events
			continue
		}
		data, err := statefile.ReadBytes(s.opts.Host, filepath.Join(folder, f.Name()))
		if err != nil {
			return nil, err
		}
		doc, err := jsontree.Parse(data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", filepath.Join(ArchiveFolder, f.Name()), err)
		}
		for _, e := range doc.Value().Items() {
			if start >= first && start < end {
				events = append(events, e)
				first = start + 1 // another file may have the same events: a process died before it removed them from the feed
			}
			start++
		}
	}
	return events, nil
}

// syncArchive makes the directory entries of the archive file and its folder durable, because the
// events are about to be removed from the feed. It is called even if the file already exists: the
// process that created it may have died before the sync.
func (s *Store) syncArchive(folder string) error {
	for _, dir := range []string{folder, s.root} {
		if err := s.opts.Host.SyncDir(opSyncArchive, dir); err != nil {
			return fmt.Errorf("%s: %w", opSyncArchive, err)
		}
	}
	return nil
}
