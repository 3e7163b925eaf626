package tmux

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTheSessionOfABeadHasItsName(t *testing.T) {
	for bead, want := range map[string]string{
		"bd-xyz":   "agent-bd-xyz",
		"bd_1+2 ä": "agent-bd_1+2 ä",
		"bd-1.2":   "agent~bd-1+2E2",
		"a:b.c+d":  "agent~a+3Ab+2Ec+2Bd",
		"#{pid}":   "agent~+23{pid}",
		"\xff\n":   "agent~+FF+0A",
		"":         "agent-",
	} {
		if got := SessionName(bead); got != want {
			t.Errorf("%q: %q, want %q", bead, got, want)
		}
	}
}

func FuzzSessionNamesAreUnique(f *testing.F) {
	f.Add("bd-1.2", "bd-1+2E2")
	f.Add("bd-1.2", "bd-1:2")
	f.Add("a+b.", "a+2Bb.")
	f.Add("\xff", "+FF")
	f.Fuzz(func(t *testing.T, a, b string) {
		one, other := SessionName(a), SessionName(b)
		if a != b && one == other {
			t.Errorf("%q and %q are both %q", a, b, one)
		}
		if !isValidName(one) {
			t.Errorf("%q: %q is no name for a session", a, one)
		}
	})
}

func TestTmuxKeepsTheNameOfASession(t *testing.T) {
	s, p := newServer(t), newProgram(t, "wait")
	for _, bead := range []string{
		"bd-1.2", "bd-1:2", "bd-1_2", "$1", "%1", "@1", "=x", "#{pid}", "a b", "日本ä", `\n`, "a$b", `"q"`, "'q'", "*", "{last}", "-x", "~", strings.Repeat("x", 200),
	} {
		name := SessionName(bead)
		p.start(s, name, "x")
		if !has(t, s, name) {
			list, err := s.List(t.Context())
			t.Fatalf("%q is not among %+v, %v", name, list, err)
		}
		if _, err := s.Capture(t.Context(), name); err != nil {
			t.Error(err)
		}
		if err := s.End(t.Context(), name); err != nil || has(t, s, name) {
			t.Errorf("%q is still there, %v", name, err)
		}
	}
}

func TestMissingTmuxIsAnErrorWithAHint(t *testing.T) {
	s, p := newServer(t), newProgram(t, "wait")
	path := os.Getenv("PATH")
	t.Setenv("PATH", t.TempDir())
	_, listErr := s.List(t.Context())
	for _, err := range []error{Available(t.Context()), listErr, s.Start(t.Context(), "agent-a", []string{p.path}, nil, p.place)} {
		missing, ok := errors.AsType[*MissingError](err)
		if !ok || !missing.NotFound() || !strings.Contains(missing.Hint(), "install tmux 3.2 or newer") || !strings.Contains(missing.Hint(), "--headless") {
			t.Errorf("%v", err)
		}
	}
	t.Setenv("PATH", path)
	if err := Available(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestATmuxThatIsTooOldIsRefused(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "tmux"), []byte("#!/bin/sh\necho tmux 2.9a\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir)
	if old, ok := errors.AsType[*OldError](Available(t.Context())); !ok || old.Version != "tmux 2.9a" {
		t.Errorf("%v", old)
	}
	for version, want := range map[string]bool{
		"tmux 1.8": true, "tmux 3.1c": true, "tmux 3.2": false, "tmux 3.3a": false, "tmux 3.10": false, "tmux 4": false,
		"tmux next-3.6": false, "tmux master": false, "tmux openbsd-7.4": false,
	} {
		if got := isOld(version); got != want {
			t.Errorf("%s: %v, want %v", version, got, want)
		}
	}
}
