package worktree

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"gaffer/internal/attempt/worktree/folder"
	"gaffer/internal/git"
	"gaffer/statefile"
)

// Tree describes the worktree of one task.
type Tree struct {
	Run    string   `json:"run"`
	Task   string   `json:"task"`
	Path   string   `json:"path"`
	Branch string   `json:"branch"`
	Base   git.Base `json:"base"`
	Shared bool     `json:"shared,omitempty"` // other tasks may use the branch too, see [Spec]
}

// record is a Tree as it is stored on disk, with the progress of its creation and removal.
type record struct {
	Tree
	Start string `json:"start,omitempty"` // commit at which the branch was created; empty means Base
	Made  bool   `json:"made"`            // the creation is complete, so the worktree may have work in it
	// Removing is the name of the rescue ref that keeps the worktree's content. It is set when a
	// removal begins. If it is set and the folder is missing, the next call of Remove or Discard
	// continues the removal.
	Removing string `json:"removing,omitempty"`
}

// start returns the commit at which the branch is created.
func (r record) start() string { return cmp.Or(r.Start, r.Base.Commit) }

// records reads and writes the records of worktrees, which are files in the repository's git
// folder.
type records struct{ repo *git.Repo }

func (r records) path(run, task string) string { return r.repo.StatePath("trees", run, task+".json") }

// read reads the record of a task's worktree. If there is none, the error is fs.ErrNotExist.
func (r records) read(run, task string) (record, error) {
	if err := CheckIDs(run, task); err != nil {
		return record{}, err
	}
	path := r.path(run, task)
	data, err := statefile.ReadBytes(r.repo.Host, path)
	if err != nil {
		return record{}, err
	}
	rec, err := parseRecord(data)
	if err == nil && (rec.Run != run || rec.Task != task) {
		err = fmt.Errorf("it is of task %q of run %q", rec.Task, rec.Run)
	}
	if err != nil {
		return record{}, &RecordError{path, err}
	}
	return rec, nil
}

func parseRecord(data []byte) (record, error) {
	var rec record
	if err := json.Unmarshal(data, &rec); err != nil {
		return record{}, err
	}
	switch {
	case rec.Branch == "" || rec.Base.Commit == "":
		return record{}, errors.New("it has no branch or no base")
	case !filepath.IsAbs(rec.Path) || rec.Path != treePath(filepath.Dir(filepath.Dir(rec.Path)), rec.Run, rec.Task):
		return record{}, fmt.Errorf("its path is %q", rec.Path)
	}
	return rec, nil
}

func treePath(root, run, task string) string { return filepath.Join(root, run, task) }

// Lookup returns the worktree of a task. If the task has no worktree, the error is fs.ErrNotExist.
func (r *Repo) Lookup(run, task string) (Tree, error) {
	rec, err := r.records.read(run, task)
	return rec.Tree, err
}

// Find returns the worktree of the task t.Task of the run t.Run, as it is recorded on disk. It
// returns a [*git.MissingError] if the task has no worktree, or if the worktree's path is not
// t.Path.
func (r *Repo) Find(t Tree) (Tree, error) {
	rec, err := r.records.find(t)
	return rec.Tree, err
}

// SetBase records a new base of a worktree: the commit that the task's change is compared with. The
// caller must hold the repository's lock.
func (r *Repo) SetBase(t Tree, base git.Base) error {
	rec, err := r.records.find(t)
	if err != nil {
		return err
	}
	rec.Base = base
	return r.records.save(rec)
}

// find reads the record of the worktree t. It returns a [*git.MissingError] if there is no record,
// or if the record has another path than t.
func (r records) find(t Tree) (record, error) {
	rec, err := r.read(t.Run, t.Task)
	if errors.Is(err, fs.ErrNotExist) || err == nil && rec.Path != t.Path {
		return record{}, &git.MissingError{What: "worktree", Name: t.Path, Advice: "'git worktree list' shows those that are there"}
	}
	return rec, err
}

// save writes a record and syncs it to disk. The caller must hold the repository's lock.
func (r records) save(rec record) error {
	data, err := json.MarshalIndent(rec, "", "  ")
	if err != nil {
		return err
	}
	return r.repo.WriteState(r.path(rec.Run, rec.Task), append(data, '\n'))
}

// delete deletes a record. If the run has no other record, it also deletes the folder for the
// records of the run.
func (r records) delete(rec record) error {
	path := r.path(rec.Run, rec.Task)
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	_ = os.Remove(filepath.Dir(path)) // ignore the error: the folder may have other records
	return nil
}

// List returns the worktrees of a run, or of all runs if run is empty. They are sorted by the file
// names of their records. A worktree is listed from the start of its creation until it is removed,
// even if its folder is missing. If some records are unreadable, the error names them, and List
// still returns the other worktrees.
func (r *Repo) List(ctx context.Context, run string) ([]Tree, error) {
	runs := []string{run}
	if run == "" {
		var err error
		if runs, err = folder.Names(r.StatePath("trees")); err != nil {
			return nil, err
		}
	}
	var trees []Tree
	var problems []error
	for _, run := range runs {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		found, err := r.records.list(run)
		trees, problems = append(trees, found...), append(problems, err)
	}
	return trees, errors.Join(problems...)
}

func (r records) list(run string) ([]Tree, error) {
	if err := statefile.CheckName("run", run); err != nil {
		return nil, err
	}
	files, err := folder.Names(r.repo.StatePath("trees", run))
	if err != nil {
		return nil, err
	}
	var trees []Tree
	var problems []error
	for _, file := range files {
		task, ok := strings.CutSuffix(file, ".json")
		if !ok || strings.HasPrefix(file, ".") { // skip a file that is being written
			continue
		}
		rec, err := r.read(run, task)
		switch {
		case err == nil:
			trees = append(trees, rec.Tree)
		case !errors.Is(err, fs.ErrNotExist): // ignore a missing record: the worktree was just removed
			problems = append(problems, err)
		}
	}
	return trees, errors.Join(problems...)
}

// RecordError reports an unreadable record of a worktree.
type RecordError struct {
	Path string
	Err  error
}

func (e *RecordError) Error() string { return e.Path + ": not a worktree's record: " + e.Err.Error() }

// BranchOf returns the name of a task's default branch: gaffer/<run>/<task>.
func BranchOf(run, task string) string {
	return "gaffer/" + git.RefPart(run) + "/" + git.RefPart(task)
}

// CheckIDs returns an error if the ids are not valid folder names.
func CheckIDs(run, task string) error {
	if err := statefile.CheckName("run", run); err != nil {
		return err
	}
	return statefile.CheckName("task", task)
}

func (e *RecordError) Unwrap() error { return e.Err }

// Invalid returns true, so that commands exit with code 5 and the server answers with status 400.
func (e *RecordError) Invalid() bool { return true }

// Hint returns advice for the user.
func (e *RecordError) Hint() string {
	return "see with 'git worktree list' what is there, take it away by hand, and move the record away"
}
