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

// Editor edits files and keeps a journal of it.
type Editor struct {
	Host host.Host
	Dir  string // of the journal
}

// Edit is what is to become of one file, or has.
type Edit struct {
	File    File
	Existed bool
	Old     []byte
	New     []byte
	Remove  bool     // the file goes
	Kept    []string // entries that are somebody else's and stay
	Loose   string   // where the file has what its program may not take

	rec  record
	undo bool
}

// Changes reports whether the file will be another.
func (e Edit) Changes() bool {
	return e.Remove || e.Existed && !bytes.Equal(e.Old, e.New) || !e.Existed && len(e.New) > 0
}

// Plan looks at the files and says what is to become of them. It writes nothing.
// An error names the file: none of them should be written then.
func (e *Editor) Plan(files []File) ([]Edit, error) { return e.each(files, e.plan) }

// PlanUndo is like Plan for taking out what is ours. What nobody has touched
// since will be what it was.
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
	edit, records, err := e.look(f)
	if err != nil {
		return Edit{}, err
	}
	was, known := of(records, edit.Old)
	known = known && edit.Existed
	var base []byte
	if known {
		base = reverse(edit.Old, was.Splices)
	}
	c, err := plan(f.Format, edit.Old, base, f.Entries, replacedBy(records))
	if err != nil {
		return Edit{}, err
	}
	edit.New, edit.Kept, edit.Loose = c.New, c.Kept, c.Loose
	edit.rec = record{After: sumOf(c.New), Splices: c.Splices, Replaced: c.Replaced, Created: !edit.Existed}
	if known {
		edit.rec.Created, edit.rec.Folders = was.Created, was.Folders
	}
	if !edit.Existed {
		edit.rec.Folders, err = e.made(f.Path)
	}
	return edit, err
}

func (e *Editor) planUndo(f File) (Edit, error) {
	edit, records, err := e.look(f)
	edit.undo = true
	if err != nil || !edit.Existed {
		return edit, err
	}
	if was, known := of(records, edit.Old); known {
		edit.rec = was
		if edit.New = reverse(edit.Old, was.Splices); edit.New != nil {
			edit.Remove = was.Created
			return edit, nil
		}
	}
	edit.New, err = Strip(f.Format, edit.Old, f.Entries, replacedBy(records))
	return edit, err
}

// look reads a file and what the journal knows of it.
func (e *Editor) look(f File) (Edit, []record, error) {
	data, err := statefile.ReadBytes(e.Host, f.Path)
	edit := Edit{File: f, Existed: err == nil, Old: data}
	if errors.Is(err, fs.ErrNotExist) {
		err = e.checkAbsent(f.Path)
	}
	if err != nil {
		return Edit{}, nil, plainly(err)
	}
	records, err := openJournal(e.Host, e.Dir).read(f.Path)
	return edit, records, err
}

// plainly leaves out the path, which the error gets anyway.
func plainly(err error) error {
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

// Invalid marks the error as one about a document's content.
func (e *formError) Invalid() bool { return true }

// checkAbsent tells a file that is not there from a link that leads nowhere.
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

// made lists the folders that have to be made for a file, and those that were
// made for others, innermost first: the last file to go takes them with it.
func (e *Editor) made(path string) (folders []string, err error) {
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

// ChangedError is a file that somebody else has changed since the change was
// shown, so that another would have to be made.
type ChangedError struct{ Path string }

func (e *ChangedError) Error() string {
	return e.Path + ": was changed by another program meanwhile, in what this is about"
}

// Conflict marks the error as one about another program's doing.
func (e *ChangedError) Conflict() bool { return true }

// Hint says what to do next.
func (e *ChangedError) Hint() string { return "run the command again" }

// Apply makes the edits. Each file is old or new whatever happens, and what the
// journal says of it holds for both.
func (e *Editor) Apply(ctx context.Context, edits []Edit) error {
	if err := e.makeDir(e.Dir); err != nil {
		return err
	}
	if err := statefile.MkdirAll(e.Host, e.Dir); err != nil { // durably
		return err
	}
	lock, err := e.Host.Lock(ctx, opLock, filepath.Join(e.Dir, "lock"))
	if err != nil {
		return fmt.Errorf("wait for another 'gaffer init': %w", err)
	}
	defer func() { _ = lock.Unlock() }() // it ends with the process
	for _, edit := range edits {
		if err := e.apply(ctx, edit); err != nil {
			return err
		}
	}
	return nil
}

// maxTries bounds how often an edit is made anew because its program writes the
// file at the same time.
const maxTries = 20

func (e *Editor) apply(ctx context.Context, shown Edit) error {
	if !shown.Changes() && !shown.undo {
		return nil
	}
	if err := statefile.Sweep(e.Host, shown.File.Path); err != nil {
		return err
	}
	for range maxTries {
		now, err := e.again(shown)
		if err != nil {
			return err
		}
		if shown.undo {
			err = e.erase(ctx, now)
		} else {
			err = e.write(ctx, now)
		}
		if !errors.Is(err, statefile.ErrChanged) && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return &ChangedError{shown.File.Path}
}

// again plans an edit for the file as it is now. What is put in must be what was
// shown; what others have changed around it does not matter.
func (e *Editor) again(shown Edit) (Edit, error) {
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

// write notes the change, and makes it.
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

// erase takes the change back, and then the note of it.
func (e *Editor) erase(ctx context.Context, edit Edit) error {
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
	if !edit.Existed { // removed by an undo that did not get further, or by others
		e.removeFolders(records[len(records)-1])
	}
	return j.write(ctx, edit.File.Path, nil)
}

// remove removes a file that is as we have made it, and the folders that were
// made for it and hold nothing else.
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

// makeDir makes a folder, with what is missing above it, for its owner alone: what is
// kept in it may come from files that nobody else can read.
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

// removeFolders passes over folders that others use, and over what has become a link
// to one.
func (e *Editor) removeFolders(r record) {
	for _, folder := range r.Folders {
		if info, err := e.Host.Lstat(opErase, folder); err != nil || !info.IsDir() {
			return
		}
		if e.Host.Remove(opErase, folder) != nil {
			return
		}
		_ = e.Host.SyncDir(opErase, filepath.Dir(folder)) // an empty folder harms nobody
	}
}
