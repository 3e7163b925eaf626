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

// FeedCap is the maximum number of events in the feed, the list of events in state.json. When it is
// reached, the next [Store.Emit] or [Store.Record] that adds an event moves the oldest events to a
// file in ArchiveFolder. The feed may have a few more events if several processes add events at the
// same time, or if one call of Record adds several events.
const FeedCap = 100

// feedBatch is the number of events that are moved together from the feed to a file in
// ArchiveFolder.
const feedBatch = FeedCap / 2

// ArchiveFolder is the name of the folder for events that were moved out of state.json.
const ArchiveFolder = "build-events"

// archivedField is the name of the field in state.json that counts the events that were moved from
// the feed to the archive. The name of the next archive file contains this count.
const archivedField = "buildEventsArchived"

const (
	opSyncArchive host.Op = "sync archive"
	opReadArchive host.Op = "read archive"
)

// Event is an event read from the feed.
type Event struct {
	Kind          string         `json:"kind"`
	Chunk         string         `json:"-"` // the chunk as text, even if the JSON value is a number
	Timestamp     string         `json:"timestamp"`
	Summary       string         `json:"summary"`
	Checks        []Check        `json:"checks"`
	Mode          string         `json:"mode"`
	Screenshot    string         `json:"screenshot"`
	IsolationMode string         `json:"isolationMode"`
	Raw           jsontree.Value `json:"-"` // the complete event
}

// Events decodes the events of a feed, in order: the oldest event is the first. It skips values
// that are not objects.
func Events(feed []jsontree.Value) []Event {
	var events []Event
	for _, v := range feed {
		if v.Kind() != jsontree.Object {
			continue
		}
		e := Event{Chunk: v.Get("chunk").String(), Raw: v}
		jsontree.Decode(v, &e) // fields of an unexpected type stay empty; Raw has their values
		events = append(events, e)
	}
	return events
}

// Emit appends an event to the feed and returns it. If the feed is full, Emit first moves the
// oldest events to the archive. When Emit returns without an error, the new event and the moved
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

// batch holds the oldest events of the feed. They are moved together to one archive file.
type batch struct {
	start  int64 // number of events that were archived before this batch
	events []jsontree.Value
}

// appendEvent appends an event to the feed. It also removes the events in moved, which are already
// in the archive, from the beginning of the feed. If the feed no longer begins with these events,
// appendEvent does not remove any events.
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

// startOf reports whether the feed still begins with exactly the events of this batch. The
// parameter archived is the number of archived events according to state.json. If it differs from
// b.start, events have been removed from the feed since the batch was copied, so startOf returns
// false.
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

// archive copies the oldest events of the feed to a file if the feed is full, and returns them. The
// caller then removes them from the feed. If the feed is not full, the returned batch is empty. The
// file name contains the number of events that were archived before and a hash of the content. So
// if a process dies before it removes the events, the next call finds the file and does not write
// it again.
func (s *Store) archive() (batch, error) {
	state, err := s.Load()
	// If the state cannot be read, archive nothing. The caller then tries to update the state. This
	// update either replaces the unreadable file or returns the error.
	if err != nil {
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

// Archived reads the events with the sequence numbers first to end-1 from the archive. The first
// event of a project has the sequence number 0. Events that the archive does not contain are left
// out.
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
		// Skip files that do not belong to the archive, and files without events from first to
		// end-1.
		if err != nil || start >= end || start+feedBatch <= first {
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
				// Read only one event for each sequence number. Two files can contain the same
				// sequence numbers, for example if a process dies after it wrote a file, and
				// another program then changes the feed.
				first = start + 1
			}
			start++
		}
	}
	return events, nil
}

// syncArchive makes the directory entries of the archive file and its folder durable. This is
// necessary before the events are removed from the feed, even if the file already existed: the
// process that created the file may have died before the sync.
func (s *Store) syncArchive(folder string) error {
	for _, dir := range []string{folder, s.root} {
		if err := s.opts.Host.SyncDir(opSyncArchive, dir); err != nil {
			return fmt.Errorf("%s: %w", opSyncArchive, err)
		}
	}
	return nil
}
