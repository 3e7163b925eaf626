package team

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"syscall"
	"time"

	"gaffer/statefile"
	"gaffer/statefile/host"
	"gaffer/statefile/jsontree"
)

// Names of the file operations that rename an unusable file and sync its folder.
const (
	opAside     host.Op = "put aside"
	opSyncAside host.Op = "sync put aside"
)

// Record updates the documents of the session to match p. It keeps JSON members that it does not
// know, and messages that other programs have added. It creates missing documents. If a document is
// unreadable, Record keeps a copy of it, writes a new document and sends the user a notice. It does
// not write documents that already match p. It returns an [*OtherSessionError] if the folder holds
// another session.
//
// Record takes counters and times from p; unlike the other methods it does not increment the
// counters. If some documents belong to this session and others to another one, Record assumes that
// a program wrote the others by mistake: it renames each of them and writes a new one. Record also
// renames and replaces a document that is a symbolic link, because the link may lead to any file of
// the user.
func (s *Store) Record(ctx context.Context, p Contents) error {
	wanted, err := p.documents()
	if err != nil {
		return err
	}
	if err := statefile.MkdirIgnored(s.opts.Host, s.root); err != nil {
		return err
	}
	return s.exclusive(ctx, func(now time.Time) error {
		found, err := s.findUnusable(p.PM.SessionID)
		if err != nil {
			return err
		}
		if err := s.renameAllUnusable(found, now); err != nil {
			return err
		}
		for _, d := range Documents() {
			if err := s.record(ctx, d, p.PM.SessionID, wanted[d]); err != nil {
				return err
			}
		}
		return nil
	})
}

// record updates one document to match want.
func (s *Store) record(ctx context.Context, d Document, session string, want jsontree.Value) error {
	return s.records[d].Update(ctx, func(doc *jsontree.Doc) error {
		if problem := whyUneditable(d, doc.Value()); problem != "" {
			return &statefile.FormError{Path: s.path(d), Problem: problem}
		}
		if id := sessionIn(d, doc.Value()); id != "" && id != session {
			return &OtherSessionError{Root: s.root, Found: id, Recorded: session}
		}
		updateTo(doc.Root(), want, rules(d))
		return nil
	})
}

// findUnusable returns the documents that cannot be edited or that belong to another session, with
// the reason for each. It leaves out documents that are not JSON, because the later update replaces
// them by new ones. If no document belongs to this session, and at least one belongs to another
// session, findUnusable returns an [*OtherSessionError].
func (s *Store) findUnusable(session string) (wrong map[Document]string, err error) {
	wrong = map[Document]string{}
	var other string
	own := false
	for _, d := range Documents() {
		v, problem, err := s.readForEdit(d)
		if err != nil {
			return nil, err
		}
		id := sessionIn(d, v)
		own = own || id == session
		if id != "" && id != session {
			other, problem = id, "is of session "+shorten(id)
		}
		if problem != "" {
			wrong[d] = problem
		}
	}
	if other != "" && !own {
		return nil, &OtherSessionError{Root: s.root, Found: other, Recorded: session}
	}
	return wrong, nil
}

// readForEdit reads a document. If the document cannot be edited, problem says why; if it can,
// problem is empty. If the document is missing or not JSON, v is the zero Value and problem is empty.
// A message document counts as missing if its folder is a symbolic link.
func (s *Store) readForEdit(d Document) (v jsontree.Value, problem string, err error) {
	if elsewhere, err := s.folderIsLink(d); elsewhere || err != nil {
		return v, "", err
	}
	info, err := s.opts.Host.Lstat(opLook, s.path(d))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ELOOP) {
		// The document is missing. Its folder may also be missing, or be a file.
		return v, "", nil
	}
	if err != nil {
		return v, "", err
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		return v, "is a symbolic link, which is not followed", nil
	}
	doc, err := s.records[d].Load()
	var form *statefile.FormError
	var corrupt *statefile.CorruptError
	switch {
	case err == nil:
		return doc.Value(), whyUneditable(d, doc.Value()), nil
	case errors.As(err, &form):
		return v, form.Problem, nil
	case errors.As(err, &corrupt), errors.Is(err, fs.ErrNotExist):
		return v, "", nil
	}
	return v, "", err
}

// folderIsLink reports whether the folder of a document is a symbolic link. Documents in the folder
// that it leads to may belong to another program or user. Only the folder of the message documents
// is checked: the team's folder itself may be a link, because the user chose it.
func (s *Store) folderIsLink(d Document) (bool, error) {
	if _, message := channelOf(d); !message {
		return false, nil
	}
	info, err := s.opts.Host.Lstat(opLook, filepath.Join(s.root, messagesFolder))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && info.Mode()&fs.ModeSymlink != 0, err
}

// whyUneditable returns the reason why a JSON document cannot be edited without loss, or "" if it
// can be edited.
func whyUneditable(d Document, v jsontree.Value) string {
	if v.Kind() != jsontree.Object {
		return fmt.Sprintf("is %s where an object should be", v.Kind())
	}
	messages := v.Get("messages")
	if _, ok := channelOf(d); ok && !messages.Absent() && messages.Kind() != jsontree.Array {
		return fmt.Sprintf("has %s where the list of messages should be", messages.Kind())
	}
	return ""
}

// sessionIn returns the session id in a state file, or "" if the file has none. The protocol
// defines no session id for group_status.json, but some programs write one.
func sessionIn(d Document, v jsontree.Value) string {
	if _, messages := channelOf(d); messages {
		return ""
	}
	return v.Get("session_id").Text()
}

// renameAllUnusable renames the documents in wrong, which maps each unusable document to the
// reason. It also ensures that the folder of the message documents exists. If there is a file or a
// symbolic link instead of this folder, renameAllUnusable renames it first.
func (s *Store) renameAllUnusable(wrong map[Document]string, now time.Time) error {
	folder := filepath.Join(s.root, messagesFolder)
	info, err := s.opts.Host.Lstat(opLook, folder)
	if err == nil && !info.IsDir() {
		err = s.renameUnusable(folder, "is not a folder", now)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := statefile.MkdirAll(s.opts.Host, folder); err != nil {
		return err
	}
	for _, d := range Documents() {
		if wrong[d] == "" {
			continue
		}
		if err := s.renameUnusable(s.path(d), wrong[d], now); err != nil {
			return err
		}
	}
	return nil
}

// renameUnusable renames the unusable file at path and sends the user a notice about the problem.
func (s *Store) renameUnusable(path, problem string, now time.Time) error {
	name, err := unusedName(path+".corrupt-"+now.UTC().Format("20060102T150405Z"), s.exists)
	if err != nil {
		return err
	}
	if err := s.opts.Host.Rename(opAside, path, name); err != nil {
		return err
	}
	if err := s.sync(opSyncAside, filepath.Dir(path)); err != nil {
		return err
	}
	if s.opts.Notice != nil {
		s.opts.Notice(statefile.Notice{
			Kind: statefile.CorruptKept, Path: path,
			Text: fmt.Sprintf("%s: %s; it is kept as %s and written anew", path, problem, name),
		})
	}
	return nil
}

// OtherSessionError reports that the session with the id Recorded cannot be written to the folder
// Root, because this folder holds the session with the id Found.
type OtherSessionError struct{ Root, Found, Recorded string }

func (e *OtherSessionError) Error() string {
	return fmt.Sprintf("%s: there is session %s; session %s cannot be recorded beside it", e.Root, e.Found, e.Recorded)
}

// Conflict returns true, so that commands exit with code 4 and the server answers with status 409.
func (e *OtherSessionError) Conflict() bool { return true }

// Hint tells the user what to do next.
func (e *OtherSessionError) Hint() string {
	return fmt.Sprintf("'gaffer team archive' archives session %s", e.Found)
}
