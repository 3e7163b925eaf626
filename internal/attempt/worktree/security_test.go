package worktree

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gaffer/internal/project/trust"
)

// plant creates a program that records each of its calls. traces returns the recorded calls.
func (p project) plant() (program string, traces func() string) {
	p.Helper()
	dir := p.TempDir()
	program, trace := filepath.Join(dir, "planted"), filepath.Join(dir, "trace")
	text := "#!/bin/sh\necho \"$@\" >>" + trace + "\ncase \"$1\" in clean|smudge) cat;; esac\n"
	if err := os.WriteFile(program, []byte(text), 0o755); err != nil {
		p.Fatal(err)
	}
	return program, func() string {
		data, _ := os.ReadFile(trace) // the file is missing if the program never ran
		return string(data)
	}
}

// poison sets every git setting by which a repository can make git run a program.
func (p project) poison(dir, program string) {
	p.Helper()
	for key, value := range map[string]string{
		"core.fsmonitor": program + " fsmonitor", "core.hooksPath": filepath.Dir(program), "core.pager": program + " pager",
		"core.editor": program + " editor", "core.sshCommand": program + " ssh", "core.askPass": program,
		"core.alternateRefsCommand": program + " alternates", "core.gitProxy": program, "credential.helper": "!" + program + " credential",
		"diff.external": program + " diff", "diff.evil.command": program + " driver", "diff.evil.textconv": program + " textconv",
		"filter.evil.clean": program + " clean", "filter.evil.smudge": program + " smudge", "filter.evil.required": "true",
		"merge.evil.driver": program + " merge", "gpg.program": program, "log.showSignature": "true", "commit.gpgSign": "true",
		"hook.evil.command": program + " hook", "hook.evil.event": "post-checkout", "interactive.diffFilter": program + " interactive",
		"sequence.editor": program + " sequence", "protocol.ext.allow": "always",
	} {
		p.Git(dir, "config", key, value)
	}
	hooks := []string{"pre-commit", "post-commit", "post-checkout", "post-merge", "pre-merge-commit", "prepare-commit-msg", "commit-msg", "reference-transaction", "post-index-change"}
	for _, folder := range []string{filepath.Dir(program), filepath.Join(dir, ".git", "hooks")} {
		for _, hook := range hooks {
			p.Write(folder, hook, "#!/bin/sh\n"+program+" hook-"+hook+"\n")
			if err := os.Chmod(filepath.Join(folder, hook), 0o755); err != nil {
				p.Fatal(err)
			}
		}
	}
}

func TestSecurityNothingThatARepositoryNamesRunsBeforeItIsTrusted(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	p := newProject(t)
	p.Write(p.Dir, ".gitattributes", "*.txt filter=evil diff=evil merge=evil\n")
	p.Commit(p.Dir, "attributes")
	tree := p.work("a", "done.txt", "1\n2\n3\n")
	p.Write(tree.Path, "shared.txt", "one\n")
	base := p.base()
	program, traces := p.plant()
	p.poison(p.Dir, program)
	r := p.open(p.Dir)

	if _, err := r.Status(t.Context(), tree); err != nil {
		t.Error(err)
	}
	if list, _, err := r.Diff(t.Context(), tree.Run, tree.Task); err != nil || len(list) != 2 {
		t.Errorf("%+v, %v", list, err)
	}
	if _, _, err := r.Changes(t.Context(), base.Commit, tree.Branch); err != nil {
		t.Error(err)
	}
	if _, err := r.Rescue(t.Context(), tree); err != nil {
		t.Error(err)
	}
	if _, err := r.Base(t.Context(), "main"); err != nil {
		t.Error(err)
	}
	untrusted := (*trust.Error)(nil)
	if _, err := r.Commit(t.Context(), tree, "more"); !errors.As(err, &untrusted) {
		t.Errorf("commit: %v", err)
	}
	if _, err := r.Create(t.Context(), p.spec("b")); !errors.As(err, &untrusted) {
		t.Errorf("create: %v", err)
	}
	if _, err := r.Environ(); !errors.As(err, &untrusted) {
		t.Errorf("environment to push with: %v", err)
	}
	if _, err := r.Remove(t.Context(), tree, true); err != nil {
		t.Errorf("remove: %v", err)
	}
	if got := traces(); got != "" {
		t.Errorf("a program of the repository ran:\n%s", got)
	}

	if err := trust.Add(os.Getenv, p.Dir, r.Programs(), time.Now()); err != nil {
		t.Fatal(err)
	}
	made, err := p.open(p.Dir).Create(t.Context(), p.spec("b"))
	if err != nil {
		t.Fatal(err)
	}
	if got := traces(); !strings.Contains(got, "smudge") || strings.Contains(got, "hook") {
		t.Errorf("after it was trusted there ran %q, want the filter and no hook", got)
	}
	p.Write(p.Dir, ".git/worktrees/b/config.worktree", "[filter \"other\"]\n\tclean = "+program+" other\n")
	if _, err := p.open(p.Dir).Commit(t.Context(), made, "x"); !errors.As(err, &untrusted) {
		t.Errorf("with a filter that a worktree has added: %v", err)
	}
}

func TestSecurityAStatusDoesNotRunWhatANestedRepositoryNames(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	program, traces := p.plant()
	inner := filepath.Join(p.Dir, "inner")
	p.Git(p.Dir, "init", "--quiet", inner)
	p.Git(inner, "config", "user.name", "Person")
	p.Git(inner, "config", "user.email", "person@example.com")
	p.Write(inner, ".gitattributes", "*.txt filter=evil\n")
	p.Write(inner, "a.txt", "1\n")
	p.Commit(inner, "first")
	p.Commit(p.Dir, "with a repository in it")
	tree := p.create("a")
	p.Git(tree.Path, "clone", "--quiet", inner, "inner")
	copied := filepath.Join(tree.Path, "inner")
	p.Git(copied, "config", "filter.evil.clean", program+" clean")
	p.Write(copied, "a.txt", "2\n")
	if _, err := p.repo.Status(t.Context(), tree); err != nil {
		t.Error(err)
	}
	if got := traces(); got != "" {
		t.Errorf("a program of the inner repository ran: %s", got)
	}
}
