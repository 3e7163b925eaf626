package team

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"gaffer/statefile"
	"gaffer/statefile/host"
	"gaffer/statefile/jsontree"
)

// Names of the file operations that archive and create sessions.
const (
	opSyncFound  host.Op = "sync found plan"
	opLink       host.Op = "link into archive"
	opMove       host.Op = "move to archive"
	opSyncMoved  host.Op = "sync archive"
	opCompare    host.Op = "compare with archive"
	opDrop       host.Op = "drop archived"
	opSyncRoot   host.Op = "sync dropped"
	opSyncNew    host.Op = "sync new session"
	opRemovePlan host.Op = "remove plan"
	opSyncPlan   host.Op = "sync removed plan"
)

// change is the plan of a session change: first archive the listed documents, then create the
// documents of a new session. The plan is written to disk before its first step. Every step can be
// repeated, so any process that finds the plan on disk can complete it.
type change struct {
	Archive string      `json:"archive,omitempty"` // name of the new folder in archive/
	Move    []Document  `json:"move"`              // the documents to archive: all that exist when the plan is made
	New     *newSession `json:"new,omitempty"`     // the new session to create; nil if none is created
}

// newSession holds the initial values of a new session's documents.
type newSession struct {
	SessionID    string `json:"session_id"`
	Requirements string `json:"requirements"`
	Time         Time   `json:"time"`
}

// writeAndExecute writes the plan c to disk and then executes it. If writing the plan fails,
// writeAndExecute executes no step of it.
func (s *Store) writeAndExecute(c change) error {
	data, err := newDocument(c)
	if err != nil {
		return err
	}
	if err := statefile.WriteNew(s.opts.Host, s.changePath(), data, 0o666); err != nil {
		return err
	}
	return s.execute(c)
}

// finishChange looks on disk for the plan of a session change, and executes it. If there is such a
// plan, the process that wrote it has died or failed before it had executed all steps. If there is
// no plan, finishChange does nothing.
func (s *Store) finishChange() error {
	data, err := statefile.ReadBytes(s.opts.Host, s.changePath())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	c, err := parseChange(data)
	if err != nil {
		return &PlanError{Path: s.changePath(), Err: err}
	}
	// Sync the folder, because the process that wrote the plan may have died before its own sync.
	if err := s.sync(opSyncFound, s.root); err != nil {
		return err
	}
	return s.execute(c)
}

func (s *Store) changePath() string { return filepath.Join(s.root, changeFile) }

// parseChange parses data, the plan of a session change. It validates every value that becomes part
// of a path.
func parseChange(data []byte) (change, error) {
	if _, err := jsontree.Parse(data); err != nil { // refuse JSON that is nested deeper than jsontree.MaxDepth
		return change{}, err
	}
	var c change
	if err := json.Unmarshal(data, &c); err != nil {
		return change{}, err
	}
	for _, d := range c.Move {
		if !slices.Contains(Documents(), d) {
			return change{}, fmt.Errorf("%q is no document of a team", d)
		}
	}
	if len(c.Move) > 0 {
		return c, statefile.CheckName("archive", c.Archive)
	}
	return c, nil
}

// UnmarshalJSON reads a time in the form that MarshalJSON writes.
func (t *Time) UnmarshalJSON(data []byte) error {
	return json.Unmarshal(data, &t.Time)
}

func (s *Store) execute(c change) error {
	if err := s.archiveAll(c); err != nil {
		return err
	}
	if c.New != nil {
		if err := s.create(*c.New); err != nil {
			return err
		}
	}
	if err := s.opts.Host.Remove(opRemovePlan, s.changePath()); err != nil {
		return err
	}
	return s.sync(opSyncPlan, s.root)
}

// archiveAll archives the documents in c.Move. It creates hard links to all of them in the archive,
// syncs the archive, and only then deletes the documents' old names.
func (s *Store) archiveAll(c change) error {
	if len(c.Move) == 0 {
		return nil
	}
	archives := filepath.Join(s.root, archiveFolder)
	to := filepath.Join(archives, c.Archive)
	if err := statefile.MkdirAll(s.opts.Host, filepath.Join(to, messagesFolder)); err != nil {
		return err
	}
	for _, d := range c.Move {
		if err := s.linkIntoArchive(s.path(d), filepath.Join(to, d.Path())); err != nil {
			return err
		}
	}
	if err := s.sync(opSyncMoved, filepath.Join(to, messagesFolder), to, archives, s.root); err != nil {
		return err
	}
	for _, d := range c.Move {
		if err := s.removeOldName(s.path(d), filepath.Join(to, d.Path())); err != nil {
			return err
		}
	}
	return s.sync(opSyncRoot, s.root, filepath.Join(s.root, messagesFolder))
}

// linkIntoArchive creates target as a hard link to the document at path. It does nothing if target
// already exists, or if there is no document. If a hard link is not possible, for example because
// path is a folder, linkIntoArchive renames path to target.
func (s *Store) linkIntoArchive(path, target string) error {
	err := s.opts.Host.Link(opLink, path, target)
	if err == nil || errors.Is(err, fs.ErrExist) || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if archived, lookErr := s.exists(target); archived || lookErr != nil {
		return lookErr
	}
	return s.opts.Host.Rename(opMove, path, target)
}

// removeOldName deletes the document at path after it was archived. The parameter archived is its
// path in the archive. If the files at the two paths differ, the file at path is a newer document,
// and removeOldName keeps it.
func (s *Store) removeOldName(path, archived string) error {
	same, err := s.same(path, archived)
	if err != nil || !same {
		return err
	}
	return s.opts.Host.Remove(opDrop, path)
}

// same reports whether two paths lead to the same file, or to regular files with the same content.
// It returns false if the first path has no file.
func (s *Store) same(one, other string) (bool, error) {
	a, errA := s.opts.Host.Lstat(opCompare, one)
	b, errB := s.opts.Host.Lstat(opCompare, other)
	if err := errors.Join(errA, errB); err != nil {
		if errors.Is(errA, fs.ErrNotExist) {
			return false, nil
		}
		return false, err
	}
	if os.SameFile(a, b) {
		return true, nil
	}
	if !a.Mode().IsRegular() || !b.Mode().IsRegular() || a.Size() != b.Size() || a.Size() > statefile.MaxSize {
		return false, nil
	}
	dataA, errA := statefile.ReadBytes(s.opts.Host, one)
	dataB, errB := statefile.ReadBytes(s.opts.Host, other)
	return bytes.Equal(dataA, dataB), errors.Join(errA, errB)
}

// sync makes the entries of the folders durable with fsync. It skips folders that do not exist.
func (s *Store) sync(op host.Op, folders ...string) error {
	for _, dir := range folders {
		if err := s.opts.Host.SyncDir(op, dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// create writes the documents of a new session. It does not overwrite existing documents. Such
// documents were written by an earlier, interrupted execution of the same session change, or by a
// program that ignores gaffer's lock.
func (s *Store) create(b newSession) error {
	if err := statefile.MkdirAll(s.opts.Host, filepath.Join(s.root, messagesFolder)); err != nil {
		return err
	}
	for _, d := range Documents() {
		data, err := b.document(d)
		if err != nil {
			return err
		}
		err = statefile.WriteNew(s.opts.Host, s.path(d), data, 0o666)
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return s.sync(opSyncNew, s.root, filepath.Join(s.root, messagesFolder))
}

// document returns the content that document d has in a new session.
func (b newSession) document(d Document) ([]byte, error) {
	switch d {
	case PMStateDoc:
		return newDocument(PMState{SessionID: b.SessionID, OriginalRequirements: b.Requirements, LastUpdate: b.Time})
	case GroupStatusDoc:
		return []byte(emptyGroups), nil
	case OrchestratorDoc:
		return newDocument(OrchestratorState{
			SessionID: b.SessionID, CurrentPhase: Initialization, Status: SessionRunning,
			StartTime: b.Time, LastUpdate: b.Time,
		})
	}
	return []byte(emptyMessages), nil
}

// PlanError reports that the file at Path does not contain a valid plan of a session change.
type PlanError struct {
	Path string
	Err  error
}

func (e *PlanError) Error() string { return fmt.Sprintf("%s: not a valid plan: %v", e.Path, e.Err) }

func (e *PlanError) Unwrap() error { return e.Err }

// Invalid returns true, so that commands exit with code 5 and the server answers with status 400.
func (e *PlanError) Invalid() bool { return true }

// Hint tells the user what to do next.
func (e *PlanError) Hint() string {
	return "look at the file and at the newest folder below archive, then remove the file"
}

// stampOf formats a time as it is written in ids, such as 20260217_120000.
func stampOf(now time.Time) string { return now.UTC().Format("20060102_150405") }
