package agentsettings

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"gaffer/statefile"
	"gaffer/statefile/host"
)

const (
	opLook  host.Op = "look at settings"
	opLock  host.Op = "lock settings"
	opErase host.Op = "remove settings"
	opMake  host.Op = "make the folder of settings"
)

// Editor edits settings files and keeps a journal of its changes.
type Editor struct {
	Host host.Host
	Dir  string // path of the journal's folder
}

// Edit is the planned or performed change of one file.
type Edit struct {
	File    File
	Existed bool
	Old     []byte
	New     []byte
	Remove  bool // the edit deletes the file
	// Kept names the settings entries that gaffer does not write, because the file has a value of
	// another program at their path. The names are values of [Entry.What].
	Kept []string
	// NonStandard says where a JSON file has its first comment or trailing comma, for example
	// "line 3: a comment". It is empty if there is none.
	NonStandard string

	rec  record
	undo bool
}

// Changes reports whether the edit changes the file.
func (e Edit) Changes() bool {
	return e.Remove || e.Existed && !bytes.Equal(e.Old, e.New) || !e.Existed && len(e.New) > 0
}

// Plan reads the files and returns an edit for each of them. It writes nothing. If a file cannot be
// edited, the error names that file, and the caller must write none of the files.
func (e *Editor) Plan(files []File) ([]Edit, error) { return e.each(files, e.plan) }

// PlanUndo reads the files and returns edits that remove gaffer's entries from them. It writes
// nothing. If a file has not changed since gaffer edited it, the edit restores exactly the previous
// content, or deletes the file if gaffer has created it.
func (e *Editor) PlanUndo(files []File) ([]Edit, error) { return e.each(files, e.planUndo) }

func (e *Editor) each(files []File, plan func(File) (Edit, error)) ([]Edit, error) {
	var edits []Edit
	for _, f := range files {
		edit, err := plan(f)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Path, err)
		}
		edits = append(edits, edit)
	}
	return edits, nil
}

func (e *Editor) plan(f File) (Edit, error) {
	edit, records, err := e.read(f)
	if err != nil {
		return Edit{}, err
	}
	was, known := recordOf(records, edit.Old)
	known = known && edit.Existed
	var base []byte
	if known {
		base = reverse(edit.Old, was.Splices)
	}
	c, err := plan(f.Format, edit.Old, base, f.Entries, replacedBy(records))
	if err != nil {
		return Edit{}, err
	}
	edit.New, edit.Kept, edit.NonStandard = c.New, c.Kept, c.NonStandard
	edit.rec = record{After: hashOf(c.New), Splices: c.Splices, Replaced: c.Replaced, Created: !edit.Existed}
	if known {
		edit.rec.Created, edit.rec.Folders = was.Created, was.Folders
	}
	if !edit.Existed {
		edit.rec.Folders, err = e.createdFolders(f.Path)
	}
	return edit, err
}

func (e *Editor) planUndo(f File) (Edit, error) {
	edit, records, err := e.read(f)
	edit.undo = true
	if err != nil || !edit.Existed {
		return edit, err
	}
	if was, known := recordOf(records, edit.Old); known {
		edit.rec = was
		if edit.New = reverse(edit.Old, was.Splices); edit.New != nil {
			edit.Remove = was.Created
			return edit, nil
		}
	}
	edit.New, err = Strip(f.Format, edit.Old, f.Entries, replacedBy(records))
	return edit, err
}

// read reads a settings file. From the journal, it also reads the records of gaffer's earlier
// changes to this file. The returned Edit has the current content of the file, but no new content
// yet.
func (e *Editor) read(f File) (Edit, []record, error) {
	data, err := statefile.ReadBytes(e.Host, f.Path)
	edit := Edit{File: f, Existed: err == nil, Old: data}
	if errors.Is(err, fs.ErrNotExist) {
		err = e.checkAbsent(f.Path)
	}
	if err != nil {
		return Edit{}, nil, withoutPath(err)
	}
	records, err := openJournal(e.Host, e.Dir).read(f.Path)
	return edit, records, err
}

// withoutPath removes the path from an error, because the caller adds the path to the message.
func withoutPath(err error) error {
	if form := (*statefile.FormError)(nil); errors.As(err, &form) {
		return &formError{form.Problem}
	}
	if path := (*fs.PathError)(nil); errors.As(err, &path) {
		return path.Err
	}
	return err
}

type formError struct{ problem string }

func (e *formError) Error() string { return e.problem }

// Invalid returns true, so that commands exit with code 5 and the server answers with status 400.
func (e *formError) Invalid() bool { return true }

// checkAbsent finds out why reading path has failed with fs.ErrNotExist. If nothing exists at path,
// it returns nil. If path is a symbolic link to a missing file, it returns an error.
func (e *Editor) checkAbsent(path string) error {
	info, err := e.Host.Lstat(opLook, path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode()&fs.ModeSymlink != 0:
		target, _ := e.Host.Readlink(opLook, path)
		return &formError{fmt.Sprintf("is a link to %s, which is not there: nothing was written; make that file or remove the link", target)}
	}
	return nil
}

// createdFolders returns those parent folders of a file that gaffer creates: first the folders that
// do not exist yet, then the folders that gaffer has created before, according to the journal. Each
// of the two groups starts with the innermost folder. When an undo deletes the file, it also
// deletes these folders if they are empty.
func (e *Editor) createdFolders(path string) (folders []string, err error) {
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		_, err := e.Host.Stat(opLook, dir)
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		folders = append(folders, dir)
	}
	others, err := openJournal(e.Host, e.Dir).folders(path)
	for _, folder := range others {
		if !slices.Contains(folders, folder) {
			folders = append(folders, folder)
		}
	}
	return folders, err
}

// ChangedError reports that [Editor.Apply] has not written a file, because another program has
// changed the file since the edit was planned.
type ChangedError struct{ Path string }

func (e *ChangedError) Error() string {
	return e.Path + ": was changed by another program meanwhile, in what this is about"
}

// Conflict returns true, so that commands exit with code 4 and the server answers with status 409.
func (e *ChangedError) Conflict() bool { return true }

// Hint returns advice for the user.
func (e *ChangedError) Hint() string { return "run the command again" }

// Apply performs the edits in order. At the first error it stops, and the remaining files stay
// unchanged. After a crash, each file has either its old or its new content, and the journal is
// valid in both cases.
func (e *Editor) Apply(ctx context.Context, edits []Edit) error {
	if err := e.makeDir(e.Dir); err != nil {
		return err
	}
	// makeDir does not sync the new folder to disk. statefile.MkdirAll does, even if the folder
	// already exists.
	if err := statefile.MkdirAll(e.Host, e.Dir); err != nil {
		return err
	}
	lock, err := e.Host.Lock(ctx, opLock, filepath.Join(e.Dir, "lock"))
	if err != nil {
		return fmt.Errorf("wait for another 'gaffer init': %w", err)
	}
	defer func() { _ = lock.Unlock() }() // if this fails, the lock is released when the process exits
	for _, edit := range edits {
		if err := e.apply(ctx, edit); err != nil {
			return err
		}
	}
	return nil
}

// maxTries is how many times the method apply tries to plan and write an edit. A try fails if
// another program writes the file at the same time.
const maxTries = 20

func (e *Editor) apply(ctx context.Context, shown Edit) error {
	if !shown.Changes() && !shown.undo {
		return nil
	}
	if err := statefile.Sweep(e.Host, shown.File.Path); err != nil {
		return err
	}
	for range maxTries {
		now, err := e.planAgain(shown)
		if err != nil {
			return err
		}
		if shown.undo {
			err = e.writeUndo(ctx, now)
		} else {
			err = e.write(ctx, now)
		}
		if !errors.Is(err, statefile.ErrChanged) && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return &ChangedError{shown.File.Path}
}

// planAgain plans an edit for the current content of the file. shown is the edit that the user has
// seen. If another program has changed the file since then, and the new edit leaves out other
// settings entries than shown, planAgain returns a ChangedError. Other changes of the file do not
// matter.
func (e *Editor) planAgain(shown Edit) (Edit, error) {
	plan := e.plan
	if shown.undo {
		plan = e.planUndo
	}
	now, err := plan(shown.File)
	if err != nil {
		return Edit{}, fmt.Errorf("%s: %w", shown.File.Path, err)
	}
	if !bytes.Equal(now.Old, shown.Old) && !slices.Equal(now.Kept, shown.Kept) {
		return Edit{}, &ChangedError{shown.File.Path}
	}
	return now, nil
}

// write records the edit in the journal, then changes the file.
func (e *Editor) write(ctx context.Context, edit Edit) error {
	if !edit.Changes() {
		return nil
	}
	j := openJournal(e.Host, e.Dir)
	before, err := j.read(edit.File.Path)
	if err != nil {
		return err
	}
	if err := j.write(ctx, edit.File.Path, append(slices.Clone(before), edit.rec)); err != nil {
		return err
	}
	if edit.Existed {
		err = statefile.Replace(e.Host, edit.File.Path, edit.Old, edit.New)
	} else {
		if err = statefile.MkdirAll(e.Host, filepath.Dir(edit.File.Path)); err == nil {
			err = statefile.WriteNew(e.Host, edit.File.Path, edit.New, edit.File.Perm)
		}
	}
	if err != nil {
		return err
	}
	return j.write(ctx, edit.File.Path, []record{edit.rec})
}

// writeUndo writes the file without gaffer's entries, or deletes the file. Then it deletes the
// file's record from the journal.
func (e *Editor) writeUndo(ctx context.Context, edit Edit) error {
	var err error
	switch {
	case edit.Remove:
		err = e.remove(edit)
	case edit.Changes():
		err = statefile.Replace(e.Host, edit.File.Path, edit.Old, edit.New)
	}
	if err != nil {
		return err
	}
	j := openJournal(e.Host, e.Dir)
	records, err := j.read(edit.File.Path)
	if err != nil || len(records) == 0 {
		return err
	}
	if !edit.Existed { // the file was deleted, or a crash prevented its creation
		e.removeFolders(records[len(records)-1])
	}
	return j.write(ctx, edit.File.Path, nil)
}

// remove deletes a file that gaffer has created, and then those of its parent folders that gaffer
// has created, if they are empty. If the file has changed since the edit was planned, remove
// deletes nothing and returns statefile.ErrChanged.
func (e *Editor) remove(edit Edit) error {
	now, err := statefile.ReadBytes(e.Host, edit.File.Path)
	if err != nil {
		return err
	}
	if !bytes.Equal(now, edit.Old) {
		return statefile.ErrChanged
	}
	if err := e.Host.Remove(opErase, edit.File.Path); err != nil {
		return err
	}
	if err := e.Host.SyncDir(opErase, filepath.Dir(edit.File.Path)); err != nil {
		return err
	}
	e.removeFolders(edit.rec)
	return nil
}

// makeDir creates a folder and its missing parents with access for the owner only,
// because the journal may contain text from files that other users cannot read.
func (e *Editor) makeDir(dir string) error {
	err := e.Host.Mkdir(opMake, dir, 0o700)
	if errors.Is(err, fs.ErrNotExist) {
		if err := e.makeDir(filepath.Dir(dir)); err != nil {
			return err
		}
		err = e.Host.Mkdir(opMake, dir, 0o700)
	}
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// removeFolders deletes the folders in r.Folders, innermost first. It stops at the first folder
// that is not empty, or that was replaced by a symbolic link.
func (e *Editor) removeFolders(r record) {
	for _, folder := range r.Folders {
		if info, err := e.Host.Lstat(opErase, folder); err != nil || !info.IsDir() {
			return
		}
		if e.Host.Remove(opErase, folder) != nil {
			return
		}
		_ = e.Host.SyncDir(opErase, filepath.Dir(folder)) // ignore the error: an empty folder that survives a crash is harmless
	}
}
