package project

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func noEnv(string) string { return "" }

// tree creates files, given as names and contents, in a new folder. A name that ends with a slash
// is a folder. tree returns the path of the new folder, with symbolic links resolved.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		path := filepath.Join(root, name)
		if strings.HasSuffix(name, "/") {
			must(t, os.MkdirAll(path, 0o755))
			continue
		}
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must(t, os.WriteFile(path, []byte(text), 0o644))
	}
	return root
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestFind(t *testing.T) {
	repo := map[string]string{"r/.git/HEAD": "ref: x", "r/a/b/": ""}
	for name, c := range map[string]struct {
		files map[string]string
		start string
		root  string
		from  string
	}{
		"a repository from its root":       {repo, "r", "r", ".git"},
		"a repository from a subfolder":    {repo, "r/a/b", "r", ".git"},
		"a repository from its git folder": {repo, "r/.git", "r", ".git"},
		"an empty .git is passed over": {
			map[string]string{"r/.git/HEAD": "", "r/a/.git/": ""}, "r/a", "r", ".git",
		},
		"git is stronger than gaffer.yaml below it": {
			map[string]string{"r/.git/HEAD": "", "r/a/gaffer.yaml": ""}, "r/a", "r", ".git",
		},
		"a linked worktree belongs to the main one": {
			map[string]string{
				"r/.git/HEAD": "", "r/.git/config": "[core]\n\tbare = false\n",
				"r/.git/worktrees/w/commondir": "../..\n",
				"w/.git":                       "gitdir: ../r/.git/worktrees/w\n", "w/a/": "",
			}, "w/a", "r", "git worktree",
		},
		"a worktree of a bare repository is its own root": {
			map[string]string{
				"r/.git/config":                "[core]\n\tbare = true\n",
				"r/.git/worktrees/w/commondir": "../..\n",
				"r/w/.git":                     "gitdir: ../.git/worktrees/w\n",
			}, "r/w", "r/w", ".git",
		},
		"a worktree of a bare repository by another name too": {
			map[string]string{
				"r.git/worktrees/w/commondir": "../..\n",
				"w/.git":                      "gitdir: ../r.git/worktrees/w\n",
			}, "w", "w", ".git",
		},
		"a submodule is its own root": {
			map[string]string{
				"r/.git/HEAD": "", "r/.git/modules/s/HEAD": "",
				"r/s/.git": "gitdir: ../.git/modules/s\n", "r/s/a/": "",
			}, "r/s/a", "r/s", ".git",
		},
		"a worktree of a submodule belongs to the submodule": {
			map[string]string{
				"r/.git/HEAD":                            "",
				"r/.git/modules/s/config":                "[core]\n\tworktree = ../../../s\n",
				"r/.git/modules/s/worktrees/w/commondir": "../..\n",
				"r/s/.git":                               "gitdir: ../.git/modules/s\n",
				"w/.git":                                 "gitdir: ../r/.git/modules/s/worktrees/w\n",
			}, "w", "r/s", "git worktree",
		},
		"without git, the nearest gaffer.yaml": {
			map[string]string{"r/gaffer.yaml": "", "r/a/.fctry/": "", "r/a/b/": ""}, "r/a/b", "r", "gaffer.yaml",
		},
		"without that, the nearest state": {
			map[string]string{"r/.founder-mode/": "", "r/a/b/": ""}, "r/a/b", "r", ".founder-mode",
		},
		"state of the workflow counts as well": {
			map[string]string{"r/.fctry/": "", "r/a/": ""}, "r/a", "r", ".fctry",
		},
		"without anything, the folder itself": {
			map[string]string{"r/a/": ""}, "r/a", "r/a", "current folder",
		},
	} {
		t.Run(name, func(t *testing.T) {
			base := tree(t, c.files)
			p, err := Find(filepath.Join(base, c.start), noEnv)
			must(t, err)
			if want := (Project{filepath.Join(base, c.root), c.from}); p != want {
				t.Errorf("got %+v, want %+v", p, want)
			}
		})
	}
}

func TestALinkIntoARepositoryLeadsToTheRepository(t *testing.T) {
	base := tree(t, map[string]string{"r/.git/HEAD": "", "r/a/": ""})
	must(t, os.Symlink(filepath.Join(base, "r/a"), filepath.Join(base, "link")))
	p, err := Find(filepath.Join(base, "link"), noEnv)
	must(t, err)
	if p.Root != filepath.Join(base, "r") {
		t.Errorf("got %s", p.Root)
	}
}

func TestTheVariableDecidesOverGit(t *testing.T) {
	base := tree(t, map[string]string{"r/.git/HEAD": "", "other/": ""})
	set := func(string) string { return "../other" }
	p, err := Find(filepath.Join(base, "r"), set)
	must(t, err)
	if want := (Project{filepath.Join(base, "other"), EnvVar}); p != want {
		t.Errorf("got %+v, want %+v", p, want)
	}
}

func TestABrokenGitFileIsAnErrorAndNotASecondRoot(t *testing.T) {
	for name, files := range map[string]map[string]string{
		"dangling": {"w/.git": "gitdir: /nowhere/.git/worktrees/w\n"},
		"garbage":  {"w/.git": "\x00\x01"},
		"empty":    {"w/.git": ""},
	} {
		base := tree(t, files)
		p, err := Find(filepath.Join(base, "w"), noEnv)
		if err == nil {
			t.Errorf("%s: found %+v", name, p)
		}
	}
}

func TestARootThatIsNoFolderIsRefused(t *testing.T) {
	base := tree(t, map[string]string{"file": ""})
	for _, dir := range []string{"file", "missing"} {
		if p, err := At(filepath.Join(base, dir), "--project"); err == nil {
			t.Errorf("%s: took %+v", dir, p)
		}
	}
}

func TestAFIFONamedDotGitDoesNotHang(t *testing.T) {
	base := tree(t, nil)
	must(t, syscall.Mkfifo(filepath.Join(base, ".git"), 0o644))
	if p, err := Find(base, noEnv); err == nil {
		t.Errorf("found %+v", p)
	}
}

func TestRealGitAgrees(t *testing.T) {
	base := tree(t, nil)
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", args...)
		cmd.Dir = base
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	me := []string{"-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always"}
	git("init", "-q", "main")
	git(append(me, "-C", "main", "commit", "-q", "--allow-empty", "-m", "one")...)
	git("-C", "main", "worktree", "add", "-q", "../linked")
	git("init", "-q", "super")
	git(append(me, "-C", "super", "submodule", "--quiet", "add", "../main", "sub")...)
	git("-C", "super/sub", "worktree", "add", "-q", "../../sublinked")
	git("clone", "-q", "--bare", "main", "bare")
	git("-C", "bare", "worktree", "add", "-q", "-f", "../barelinked")
	for start, root := range map[string]string{
		"main": "main", "linked": "main", "super": "super", "super/sub": "super/sub",
		"sublinked": "super/sub", "barelinked": "barelinked",
	} {
		p, err := Find(filepath.Join(base, start), noEnv)
		must(t, err)
		if want := filepath.Join(base, root); p.Root != want {
			t.Errorf("from %s: %s, want %s", start, p.Root, want)
		}
	}
}

func TestAProjectContainsItsFoldersAndWorktrees(t *testing.T) {
	root := tree(t, map[string]string{
		"app/.git/HEAD":                     "ref: refs/heads/main\n",
		"app/.git/config":                   "[core]\n\tbare = false\n",
		"app/.git/worktrees/side/HEAD":      "ref: refs/heads/side\n",
		"app/.git/worktrees/side/commondir": "../..\n",
		"app/src/x":                         "",
		"app/vendored/.git/HEAD":            "ref: refs/heads/main\n",
		"app/vendored/.git/config":          "[core]\n\tbare = false\n",
		"plain/deep/x":                      "",
	})
	must(t, os.MkdirAll(filepath.Join(root, "side"), 0o755))
	must(t, os.WriteFile(filepath.Join(root, "side", ".git"), []byte("gitdir: "+filepath.Join(root, "app/.git/worktrees/side")+"\n"), 0o644))
	for _, c := range []struct {
		project, dir string
		want         bool
	}{
		{"app", "app", true},
		{"app", "app/src", true},
		{"app", "side", true},
		{"app", "app/vendored", false},
		{"app", "plain", false},
		{"app", "gone", false},
		{"app/src", "app/src", true}, // a flag has set the root
		{"app/src", "app", false},
		{"plain", "plain/deep", true}, // no file or folder marks a project here
		{"plain/deep", "plain", false},
	} {
		p, err := At(filepath.Join(root, c.project), "a test")
		must(t, err)
		if got := p.Contains(filepath.Join(root, c.dir)); got != c.want {
			t.Errorf("%s holds %s: %v, want %v", c.project, c.dir, got, c.want)
		}
	}
}
