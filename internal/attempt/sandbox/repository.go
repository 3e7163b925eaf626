package sandbox

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"gaffer/internal/plan"
)

// repository is the git repository of a folder.
type repository struct {
	// link is the path of .git in the work folder or above it. In a linked worktree, .git is a file
	// that contains the path in the field git. Otherwise it is a folder.
	link string
	git  string // folder with the HEAD and index of the worktree
	// common is the folder with the objects, refs, config and hooks of the repository. In the main
	// worktree, it is the same folder as git.
	common string
	branch string // ref that is checked out, such as refs/heads/x; empty if none
}

// findRepository returns the repository that a folder belongs to, or a zero value if there is none.
// It does not trust a .git file, which an agent may have written: a linked worktree counts only if
// its repository lists it.
func findRepository(work string) repository {
	for dir := work; ; dir = filepath.Dir(dir) {
		link := filepath.Join(dir, ".git")
		info, err := os.Lstat(link)
		switch {
		case err == nil && info.IsDir():
			return repository{link: link, git: link, common: link, branch: headOf(link)}
		case err == nil && info.Mode().IsRegular():
			return linkedRepository(link)
		case err == nil || dir == filepath.Dir(dir):
			return repository{}
		}
	}
}

func linkedRepository(link string) repository {
	git, ok := strings.CutPrefix(readLine(link), "gitdir: ")
	if !ok {
		return repository{}
	}
	if !filepath.IsAbs(git) {
		git = filepath.Join(filepath.Dir(link), git)
	}
	git = realPath(git)
	common := filepath.Dir(filepath.Dir(git))
	back := readLine(filepath.Join(git, "gitdir"))
	if !filepath.IsAbs(back) {
		back = filepath.Join(git, back)
	}
	if filepath.Base(filepath.Dir(git)) != "worktrees" || realPath(back) != realPath(link) || !exists(filepath.Join(common, "objects")) || !exists(filepath.Join(common, "HEAD")) {
		return repository{}
	}
	return repository{link: link, git: git, common: common, branch: headOf(git)}
}

func headOf(git string) string {
	ref, ok := strings.CutPrefix(readLine(filepath.Join(git, "HEAD")), "ref: ")
	if !ok || !filepath.IsLocal(ref) || !strings.HasPrefix(ref, "refs/heads/") {
		return ""
	}
	return ref
}

func readLine(file string) string {
	text, _ := os.ReadFile(file) // ignore the error: a missing file counts as empty
	line, _, _ := strings.Cut(string(text), "\n")
	return strings.TrimSpace(line)
}

// Writable returns the folders that git writes to during a commit in the folder work. The caller
// passes them to a program that creates its own sandbox. The result is empty if work belongs to no
// repository.
func Writable(work string) []string {
	r := findRepository(realPath(work))
	switch {
	case r.link == "":
		return nil
	case r.git == r.common:
		return []string{r.git}
	}
	return []string{r.common, r.git}
}

// repository adds a repository to the sandbox so that the program can commit: the program can add
// objects, and move branches. In a linked worktree whose branch has a slash in its name, such as
// a/b/c, it can move only branches whose names begin with a/b/. The program cannot change the hooks
// and settings of the repository, because git would later run, outside of the sandbox, programs
// that they name.
func (l *layout) repository(r repository) {
	if r.link == "" {
		return
	}
	if r.git == r.common {
		l.add(writable, r.git) // a mount of its own, so that the program cannot rename the folder
		_ = os.Mkdir(filepath.Join(r.git, "hooks"), 0o755)
		l.protect(r.git, "config", "config.worktree", "commondir", "hooks", "modules", "worktrees", "objects/pack", "objects/info")
		return
	}
	l.add(readOnly, r.common)
	join := func(parts ...string) string { return filepath.Join(append([]string{r.common}, parts...)...) }
	l.addIfThere(writable, join("objects"), join("refs"), join("logs"), join("reftable"), join("lfs"))
	l.addIfThere(readOnly, join("objects", "pack"), join("objects", "info"), join("refs", "tags"), join("refs", "remotes"))
	if folder := filepath.Dir(r.branch); r.branch != "" && folder != "refs/heads" {
		l.addIfThere(readOnly, join("refs", "heads"))
		if os.MkdirAll(join(folder), 0o777) == nil {
			l.add(writable, join(folder))
		}
	}
	l.add(writable, r.git)
	l.protect(r.git, "commondir", "gitdir", "config.worktree")
	l.add(readOnly, r.link)
}

// protect makes the entries with these names in a writable folder read-only. An entry that does not
// exist cannot be made read-only. If its name contains no slash, it is instead deleted after the
// program has ended, in case the program has created it.
func (l *layout) protect(folder string, names ...string) {
	for _, name := range names {
		path := filepath.Join(folder, name)
		if exists(path) {
			l.add(readOnly, path)
		} else if !strings.Contains(name, "/") {
			l.remove = append(l.remove, path)
		}
	}
}

// gitVariables returns environment variables with settings for git: those that git needs in a
// sandbox, and some of the user's settings, such as user.name. The sandbox hides the home folder
// and with it the user's settings file.
func gitVariables(environ, env []string, mode plan.SandboxMode) (list []string) {
	count, _ := strconv.Atoi(lookup(env, "GIT_CONFIG_COUNT"))
	set := func(key, value string) {
		n := strconv.Itoa(count)
		list = append(list, "GIT_CONFIG_KEY_"+n+"="+key, "GIT_CONFIG_VALUE_"+n+"="+value)
		count++
	}
	set("gc.auto", "0")            // garbage collection would fail: packed objects are read-only in the sandbox
	set("commit.gpgsign", "false") // the signing keys are hidden
	set("tag.gpgsign", "false")
	set("credential.helper", "")
	if mode == plan.SandboxContainer {
		set("safe.directory", "*") // the folder's owner may have another numeric id in the container
	}
	if git, err := find("git", environ); err == nil {
		cmd := exec.Command(git, "config", "--global", "--includes", "-z", "--get-regexp", `^(user\.(name|email)|init\.defaultbranch|core\.(autocrlf|eol)|merge\.conflictstyle|pull\.rebase)$`)
		cmd.Env, cmd.Dir = environ, "/"
		out, _ := cmd.Output() // ignore the error: the user may have no settings
		for entry := range strings.SplitSeq(string(out), "\x00") {
			if key, value, ok := strings.Cut(entry, "\n"); ok {
				set(key, value)
			}
		}
	}
	return append(list, "GIT_CONFIG_COUNT="+strconv.Itoa(count))
}
