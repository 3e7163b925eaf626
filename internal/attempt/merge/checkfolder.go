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

// checkSite is the temporary worktree in which the result of a merge is checked. Each target branch
// has its own site. Two files in the repository's git folder belong to it:
//
//	gaffer/checks/<name>.json  describes the worktree, see siteRecord
//	gaffer/checks/<name>.lock  is locked by the process that checks the merge
//
// Only the process that holds the lock may use the site. The lock is released when that process
// ends. So what a process finds at a site that it has just locked is a leftover of an earlier
// check, for example after a crash.
type checkSite struct {
	repo *worktree.Repo
	name string
	path string // path of the worktree
	lock host.Lock
	away bool // the site has no worktree: takeAway has removed it, or found none
}

// siteRecord is the content of a site's .json file, which describes the worktree. The file is
// written before the worktree is created, and deleted after the worktree is deleted.
type siteRecord struct {
	Into   string `json:"into"`
	Path   string `json:"path"`
	Commit string `json:"commit"`
}

// sitePrefix is the start of each checkSite's name.
const sitePrefix = "check-"

// siteName returns the name of a branch's site. Different branches have different names. A name has
// only characters that every tool accepts in a path.
func siteName(branch string) string {
	const harmless = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._"
	plain := strings.Map(func(c rune) rune {
		if strings.ContainsRune(harmless, c) {
			return c
		}
		return '-'
	}, branch)
	return sitePrefix + plain[:min(len(plain), 40)] + "-" + fmt.Sprintf("%x", sha256.Sum256([]byte(branch)))[:12]
}

// file returns the path of the site's .json or .lock file. end is ".json" or ".lock".
func (s *checkSite) file(end string) string { return s.repo.StatePath("checks", s.name+end) }

// claimSite waits until it has locked the site of a branch. scratch is the parent folder for the
// site's worktree, which checkOut creates later. The caller must call release.
func claimSite(ctx context.Context, repo *worktree.Repo, branch, scratch string) (*checkSite, error) {
	root, err := repo.PrepareFolder(scratch)
	if err != nil {
		return nil, err
	}
	if err := statefile.MkdirAll(repo.Host, repo.StatePath("checks")); err != nil {
		return nil, err
	}
	s := &checkSite{repo: repo, name: siteName(branch)}
	s.path = filepath.Join(root, s.name)
	s.lock, err = repo.Host.Lock(ctx, "lock check", s.file(".lock"))
	return s, err
}

// sweepSites deletes the worktrees and files of sites that no process has locked. They are
// leftovers of earlier checks, for example after a crash. If sweepSites cannot delete something,
// the next call tries again.
func sweepSites(ctx context.Context, repo *worktree.Repo) {
	files, _ := folder.Names(repo.StatePath("checks"))
	for _, file := range files {
		name := strings.TrimSuffix(strings.TrimSuffix(file, ".json"), ".lock")
		if name == file || !strings.HasPrefix(name, sitePrefix) {
			continue
		}
		if s := trySite(repo, name); s != nil {
			_ = repo.Locked(ctx, func(g git.Client) error { return s.takeAway(ctx, g) })
			s.release()
		}
	}
}

// trySite locks the site with this name, without waiting. It returns nil if it cannot lock the
// site, for example because another process has locked it.
func trySite(repo *worktree.Repo, name string) *checkSite {
	s := &checkSite{repo: repo, name: name}
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

// read reads the site's .json file. If the file is missing, the error is fs.ErrNotExist.
func (s *checkSite) read() (rec siteRecord, err error) {
	path := s.file(".json")
	data, err := statefile.ReadBytes(s.repo.Host, path)
	if err != nil {
		return rec, err
	}
	if err := json.Unmarshal(data, &rec); err != nil {
		return rec, &worktree.RecordError{Path: path, Err: err}
	}
	if siteName(rec.Into) != s.name || !filepath.IsAbs(rec.Path) || filepath.Base(rec.Path) != s.name {
		return rec, &worktree.RecordError{Path: path, Err: fmt.Errorf("its branch is %q and its path %q", rec.Into, rec.Path)}
	}
	return rec, nil
}

// checkOut writes the site's .json file and creates the worktree with the files of the commit. The
// caller must hold the repository's lock.
func (s *checkSite) checkOut(ctx context.Context, g git.Client, branch, commit string) error {
	if filled, err := folder.IsFilled(s.path); err != nil {
		return err
	} else if filled {
		return &git.TakenError{What: "folder", Name: s.path, By: "there is something in it that gaffer did not make", Advice: "move it away"}
	}
	data, err := json.MarshalIndent(siteRecord{branch, s.path, commit}, "", "  ")
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

// takeAway renames the folder of the site's worktree and removes the worktree from git's list of
// worktrees. The caller must hold the repository's lock. Deleting the folder may take long, so
// clean does that later, without the lock. If the folder has content but is not in git's list,
// takeAway changes nothing and returns a [*git.TakenError].
func (s *checkSite) takeAway(ctx context.Context, g git.Client) error {
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
func (s *checkSite) clean() bool {
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

// release unlocks the site. If the site's worktree and all renamed folders are gone, release first
// deletes the site's .json and .lock files.
func (s *checkSite) release() {
	if s.away && s.clean() {
		for _, end := range []string{".json", ".lock"} {
			_ = os.Remove(s.file(end)) // if this fails, sweepSites deletes the file later
		}
	}
	_ = s.lock.Unlock() // ignore the error: the lock file is closed even then
}
