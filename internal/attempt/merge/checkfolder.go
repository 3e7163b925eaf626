package merge

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"gaffer/internal/attempt/worktree"
	"gaffer/internal/attempt/worktree/folder"
	"gaffer/internal/git"
	"gaffer/statefile"
	"gaffer/statefile/host"
)

// checkFolder is the temporary worktree in which the result of a merge is checked. Each target
// branch has its own checkFolder. Two files in the repository's git folder belong to it:
//
//	gaffer/checks/<name>.json  describes the worktree, see checkFolderRecord
//	gaffer/checks/<name>.lock  is locked by the process that checks the merge
//
// Only the process that holds the lock may use the checkFolder. The kernel releases the lock when
// that process ends. So a worktree that exists when a process gets the lock is left over from an
// earlier check, for example after a crash.
type checkFolder struct {
	repo *worktree.Repo
	name string
	path string // path of the worktree
	lock host.Lock
	away bool // the worktree does not exist: moveAway has removed it, or found none
}

// checkFolderRecord is the content of the .json file of a [checkFolder]. It describes the temporary
// worktree. The file is written before the worktree is created, and deleted after the worktree is
// deleted.
type checkFolderRecord struct {
	Into   string `json:"into"`
	Path   string `json:"path"`
	Commit string `json:"commit"`
}

// checkFolderPrefix is the start of each checkFolder's name.
const checkFolderPrefix = "check-"

// checkFolderName returns the name of the [checkFolder] of a target branch. Different branches have
// different names. A name has only characters that every tool accepts in a path.
func checkFolderName(branch string) string {
	const harmless = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._"
	plain := strings.Map(func(c rune) rune {
		if strings.ContainsRune(harmless, c) {
			return c
		}
		return '-'
	}, branch)
	return checkFolderPrefix + plain[:min(len(plain), 40)] + "-" + fmt.Sprintf("%x", sha256.Sum256([]byte(branch)))[:12]
}

// file returns the path of the .json or the .lock file of the [checkFolder]. The parameter end is
// ".json" or ".lock".
func (s *checkFolder) file(end string) string { return s.repo.StatePath("checks", s.name+end) }

// claimCheckFolder locks the [checkFolder] of a target branch. It waits while another process holds
// the lock. The parameter scratch is the parent folder of the temporary worktree, which checkOut
// creates later. The caller must call release at the end.
func claimCheckFolder(ctx context.Context, repo *worktree.Repo, branch, scratch string) (*checkFolder, error) {
	root, err := repo.PrepareFolder(scratch)
	if err != nil {
		return nil, err
	}
	if err := statefile.MkdirAll(repo.Host, repo.StatePath("checks")); err != nil {
		return nil, err
	}
	s := &checkFolder{repo: repo, name: checkFolderName(branch)}
	s.path = filepath.Join(root, s.name)
	s.lock, err = repo.Host.Lock(ctx, "lock check", s.file(".lock"))
	return s, err
}

// removeLeftCheckFolders deletes the worktree and the files of each [checkFolder] that no process
// has locked. They are left over from earlier checks, for example after a crash. If it cannot
// delete something, the next call tries again.
func removeLeftCheckFolders(ctx context.Context, repo *worktree.Repo) {
	files, _ := folder.Names(repo.StatePath("checks"))
	for _, file := range files {
		name := strings.TrimSuffix(strings.TrimSuffix(file, ".json"), ".lock")
		if name == file || !strings.HasPrefix(name, checkFolderPrefix) {
			continue
		}
		if s := tryCheckFolder(repo, name); s != nil {
			_ = repo.Locked(ctx, func(g git.Client) error { return s.moveAway(ctx, g) })
			s.release()
		}
	}
}

// tryCheckFolder locks the [checkFolder] with this name, without waiting. It returns nil if it
// cannot lock it, for example because another process has locked it.
func tryCheckFolder(repo *worktree.Repo, name string) *checkFolder {
	s := &checkFolder{repo: repo, name: name}
	path := s.file(".lock")
	f, err := host.OpenLock(path)
	if err != nil {
		return nil
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	held, err1 := f.Stat()
	named, err2 := os.Lstat(path)
	// Give up if another process holds the lock, or has deleted the lock file since it was opened.
	if err != nil || err1 != nil || err2 != nil || !os.SameFile(held, named) {
		_ = f.Close()
		return nil
	}
	s.lock = openLock{f}
	return s
}

// openLock is an open and locked file. Closing the file releases the lock.
type openLock struct{ *os.File }

func (l openLock) Unlock() error { return l.Close() }

// read reads the .json file of the [checkFolder]. If the file is missing, the error is
// fs.ErrNotExist.
func (s *checkFolder) read() (rec checkFolderRecord, err error) {
	path := s.file(".json")
	data, err := statefile.ReadBytes(s.repo.Host, path)
	if err != nil {
		return rec, err
	}
	if err := json.Unmarshal(data, &rec); err != nil {
		return rec, &worktree.RecordError{Path: path, Err: err}
	}
	if checkFolderName(rec.Into) != s.name || !filepath.IsAbs(rec.Path) || filepath.Base(rec.Path) != s.name {
		return rec, &worktree.RecordError{Path: path, Err: fmt.Errorf("its branch is %q and its path %q", rec.Into, rec.Path)}
	}
	return rec, nil
}

// checkOut writes the .json file of the [checkFolder] and creates the worktree with the files of
// the commit. The caller must hold the repository's lock.
func (s *checkFolder) checkOut(ctx context.Context, g git.Client, branch, commit string) error {
	if filled, err := folder.IsFilled(s.path); err != nil {
		return err
	} else if filled {
		return &git.TakenError{What: "folder", Name: s.path, By: "there is something in it that gaffer did not make", Advice: "move it away"}
	}
	data, err := json.MarshalIndent(checkFolderRecord{branch, s.path, commit}, "", "  ")
	if err != nil {
		return err
	}
	s.away = false
	if err := s.repo.WriteState(s.file(".json"), append(data, '\n')); err != nil {
		return err
	}
	_, err = g.Run(ctx, "worktree", "add", "--quiet", "--detach", "--", s.path, commit)
	return err
}

// moveAway renames the folder of the temporary worktree, and removes the worktree from git's list
// of worktrees. The caller must hold the repository's lock. The method clean deletes the renamed
// folder later, without that lock, because the deletion may take long. If the folder has content
// but is not in git's list, moveAway changes nothing and returns a [*git.TakenError].
func (s *checkFolder) moveAway(ctx context.Context, g git.Client) error {
	rec, err := s.read()
	if errors.Is(err, fs.ErrNotExist) {
		s.away = true
		return nil
	}
	if err != nil {
		return err
	}
	list, err := s.repo.Worktrees(ctx, g)
	if err != nil {
		return err
	}
	_, registered := git.FindLinked(list, rec.Path)
	if filled, err := folder.IsFilled(rec.Path); err != nil {
		return err
	} else if filled && !registered {
		return &git.TakenError{What: "folder", Name: rec.Path, By: "there is something in it, but git does not know it as a worktree", Advice: "move it away"}
	}
	if err := moveAside(rec.Path); err != nil {
		return err
	}
	if registered {
		if _, err := g.Run(ctx, "worktree", "remove", "--force", "--force", "--", rec.Path); err != nil {
			return err
		}
	}
	s.away = true
	return nil
}

// asidePrefix returns the prefix of the names that moveAside gives to the folder at path.
func asidePrefix(path string) string { return "." + filepath.Base(path) + ".removed-" }

// moveAside renames a folder to a new name that ends with a number. Folders from earlier calls may
// still exist, so it takes the first number that is free.
func moveAside(path string) error {
	for n := 1; ; n++ {
		aside := filepath.Join(filepath.Dir(path), fmt.Sprint(asidePrefix(path), n))
		err := os.Rename(path, aside)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err == nil || !errors.Is(err, fs.ErrExist):
			return err
		}
	}
}

// clean deletes the folders that moveAside has renamed. It reports whether all of them are gone.
func (s *checkFolder) clean() bool {
	rec, err := s.read()
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	dir, all := filepath.Dir(rec.Path), true
	files, err := folder.Names(dir)
	for _, file := range files {
		if strings.HasPrefix(file, asidePrefix(rec.Path)) && folder.RemoveAll(filepath.Join(dir, file)) != nil {
			all = false
		}
	}
	return err == nil && all
}

// release releases the lock of the [checkFolder]. If the temporary worktree and all renamed folders
// are gone, release first deletes the .json and .lock files.
func (s *checkFolder) release() {
	if s.away && s.clean() {
		for _, end := range []string{".json", ".lock"} {
			_ = os.Remove(s.file(end)) // if this fails, removeLeftCheckFolders deletes the file later
		}
	}
	_ = s.lock.Unlock() // ignore the error: the lock file is closed even then
}
