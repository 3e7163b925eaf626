package tmux

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

func TestAProgramGetsItsArgumentsExactly(t *testing.T) {
	for name, args := range map[string][]string{
		"none":    nil,
		"one":     {"alone"},
		"strange": strange(),
		"long":    {strings.Repeat("x;'\" ", 20_000)},
	} {
		t.Run(name, func(t *testing.T) {
			s, p := newServer(t), newProgram(t, "wait")
			p.start(s, "agent-a", args...)
			got, want := p.awaitReports(1)[0].Argv, append([]string{p.path}, args...)
			if !slices.Equal(got, want) {
				t.Errorf("got  %q\nwant %q", got, want)
			}
		})
	}
}

func strange() []string {
	return []string{
		"", " ", "a b", " 'x' ", `"`, `\`, `\;`, ";", "a;", `a\;`, `a\\;`, "$HOME", "`id`", "$(id)", "~", "*", "&", "|", "#", "##",
		"#{pid}", "#(id)", "%1", "{", "}", "a\nb", "\n  # no comment\n", "\t", "tab\tand\r", "ä 🦊 日本", "\xff\xfe", "\x01\x7f\x1b[31m",
		"-t", "--", "-", "=", "%if", "a=b", "\\n", "\\101", "!x",
	}
}

func TestAProgramWithoutArgumentsIsNotParsedByAShell(t *testing.T) {
	s, p := newServer(t), newProgram(t, "wait")
	link := filepath.Join(p.place, `a b;$HOME'"#{pid}=x`)
	if err := os.Symlink(p.path, link); err != nil {
		t.Fatal(err)
	}
	p.path = link
	p.start(s, "agent-a")
	if got := p.awaitReports(1)[0].Argv; !slices.Equal(got, []string{link}) {
		t.Errorf("got %q", got)
	}
}

func TestTheEnvironmentDoesNotDependOnTheServers(t *testing.T) {
	s, first := newServer(t), newProgram(t, "wait")
	t.Setenv("OF_THE_CALLER", "must not be seen")
	t.Setenv("DISPLAY", ":7")
	first.env = append(first.env, "ONLY_FIRST=1", "LANG=C.UTF-8", "PATH=/nowhere")
	first.start(s, "agent-first", "x")
	second := newProgram(t, "wait")
	odd := []string{"ODD=a b;$HOME\n  ä'\"#{pid};", "EMPTY=", "TWICE=1", "TWICE=2", "no entry", "=no name", "TMUX=not this", "SHELL=/bin/bash", "BIG=" + strings.Repeat("x", 100_000)}
	second.env = append(second.env, odd...)
	second.start(s, "agent-second", "x")

	got := second.awaitReports(1)[0]
	for _, want := range []string{odd[0], odd[1], odd[3], odd[7], odd[8], "PATH=" + os.Getenv("PATH")} {
		if !slices.Contains(got.Env, want) {
			t.Errorf("%.60q is missing", want)
		}
	}
	for _, entry := range got.Env {
		name, _, _ := strings.Cut(entry, "=")
		if !slices.Contains([]string{
			role, place, "PATH", "ODD", "EMPTY", "TWICE", "SHELL", "BIG", "TERM", "TERM_PROGRAM", "TERM_PROGRAM_VERSION", "TMUX", "TMUX_PANE", "PWD",
		}, name) {
			t.Errorf("%q was not given", entry)
		}
	}
	if tmux, _ := lookup(got.Env, "TMUX"); !strings.HasPrefix(tmux, s.socket+",") {
		t.Errorf("TMUX is %q", tmux)
	}
	if env := first.awaitReports(1)[0].Env; !slices.Contains(env, "PATH=/nowhere") || !slices.Contains(env, "LANG=C.UTF-8") {
		t.Errorf("%q is not the environment of the first", env)
	}
}

func TestArgumentsAndEnvironmentAreNotVisibleToOtherUsers(t *testing.T) {
	s, p := newServer(t), newProgram(t, "wait")
	p.env = append(p.env, "TOKEN=secret-value")
	p.start(s, "agent-a", "secret-argument")
	pid, err := s.pid(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"cmdline", "environ"} {
		data, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, file))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(data), "secret") {
			t.Errorf("%s: %q", file, data)
		}
	}
	if dir, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid)); err != nil || dir != "/" {
		t.Errorf("the server is in %q, %v", dir, err)
	}
}

func TestAProgramRunsInItsFolder(t *testing.T) {
	s, p := newServer(t), newProgram(t, "wait")
	dir := filepath.Join(t.TempDir(), "a b;#{pid}'$HOME ä#")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := s.Start(t.Context(), "agent-a", []string{p.path, "x"}, p.env, dir); err != nil {
		t.Fatal(err)
	}
	if got := p.awaitReports(1)[0].Dir; got != dir {
		t.Errorf("got %q, want %q", got, dir)
	}
}

func TestAStartThatCannotWorkIsRefused(t *testing.T) {
	s, p := newServer(t), newProgram(t, "wait")
	file := filepath.Join(p.place, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for want, c := range map[string]struct {
		session   string
		argv, env []string
		dir       string
	}{
		`start session "a.b": tmux cannot have a session of this name`:   {"a.b", []string{p.path}, nil, p.place},
		`start session "$1": tmux cannot have a session of this name`:    {"$1", []string{p.path}, nil, p.place},
		`start session "": tmux cannot have a session of this name`:      {"", []string{p.path}, nil, p.place},
		`start session "a": no program to run`:                           {"a", nil, nil, p.place},
		`start session "a": the program "sh" is not an absolute path`:    {"a", []string{"sh"}, nil, p.place},
		`start session "a": "x\x00y" has a zero byte`:                    {"a", []string{p.path, "x\x00y"}, nil, p.place},
		"start session a: enter " + file + ": not a directory":           {"a", []string{p.path}, nil, file},
		"start session a: stat " + file + "2: no such file or directory": {"a", []string{p.path}, nil, file + "2"},
		`start session a: exec: "` + file + `": permission denied`:       {"a", []string{file}, nil, p.place},
	} {
		if err := s.Start(t.Context(), c.session, c.argv, c.env, c.dir); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if s.listening() {
		t.Error("a server was begun")
	}
}

func TestASecondSessionOfANameIsRefused(t *testing.T) {
	s, p := newServer(t), newProgram(t, "wait")
	p.start(s, "agent-a", "x")
	err := s.Start(t.Context(), "agent-a", []string{p.path, "y"}, p.env, p.place)
	if exists, ok := errors.AsType[*ExistsError](err); !ok || !exists.Conflict() || exists.Session != "agent-a" {
		t.Errorf("%v, want an ExistsError", err)
	}
	p.awaitReports(1)
}

func TestTwentyStartsAtOnceAllSucceed(t *testing.T) {
	s, p := newServer(t), newProgram(t, "wait")
	var group sync.WaitGroup
	for i := range 20 {
		group.Go(func() {
			if err := New(s.socket).Start(t.Context(), fmt.Sprintf("agent-bd-%d", i), []string{p.path, "x"}, p.env, p.place); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	p.awaitReports(20)
	if list, err := s.List(t.Context()); err != nil || len(list) != 20 {
		t.Errorf("%d sessions, %v", len(list), err)
	}
}

func TestOneOfTwentyStartsWithTheSameNameSucceeds(t *testing.T) {
	s, p := newServer(t), newProgram(t, "wait")
	var group sync.WaitGroup
	var done, refused atomic.Int32
	for range 20 {
		group.Go(func() {
			err := s.Start(t.Context(), "agent-a", []string{p.path, "x"}, p.env, p.place)
			switch {
			case err == nil:
				done.Add(1)
			case errors.As(err, new(*ExistsError)):
				refused.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	group.Wait()
	if done.Load() != 1 || refused.Load() != 19 {
		t.Errorf("%d started, %d refused", done.Load(), refused.Load())
	}
	p.awaitReports(1)
}

func TestAStartWhileTheServerExitsHappensOnce(t *testing.T) {
	s, p := newServer(t), newProgram(t, "end")
	const workers, each = 3, 30
	starts := filepath.Join(p.place, "starts")
	argv := []string{"/bin/sh", "-c", `echo >> "$0"`, starts}
	var group sync.WaitGroup
	for i := range workers {
		group.Go(func() {
			for j := range each {
				name := fmt.Sprintf("agent-%d-%d", i, j)
				if err := s.Start(t.Context(), name, argv, p.env, p.place); err != nil {
					t.Error(err)
				}
				if _, err := s.Has(t.Context(), name); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	awaitNoServer(t, s)
	if data, err := os.ReadFile(starts); err != nil || len(data) != workers*each {
		t.Errorf("%d starts, %v; want %d", len(data), err, workers*each)
	}
}

func TestOnlyTheOwnerMayEnterTheSocketsFolder(t *testing.T) {
	s, p := newServer(t), newProgram(t, "wait")
	p.start(s, "agent-a", "x")
	if info, err := os.Stat(filepath.Dir(s.socket)); err != nil || info.Mode() != fs.ModeDir|0o700 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	open := newServer(t)
	if err := os.Mkdir(filepath.Dir(open.socket), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Dir(open.socket), 0o755); err != nil {
		t.Fatal(err)
	}
	err := open.Start(t.Context(), "agent-a", []string{p.path, "x"}, p.env, p.place)
	if err == nil || !strings.HasSuffix(err.Error(), "is in a folder that others may enter (mode 0755)") {
		t.Errorf("%v", err)
	}
	if open.listening() {
		t.Error("a server was begun")
	}
}

func TestASocketWithALongPathIsRefusedByEveryCall(t *testing.T) {
	p := newProgram(t, "wait")
	s := New("/" + strings.Repeat("x", 107))
	_, listErr := s.List(t.Context())
	_, captureErr := s.Capture(t.Context(), "agent-a")
	for _, err := range []error{
		s.Start(t.Context(), "agent-a", []string{p.path, "x"}, p.env, p.place), s.End(t.Context(), "agent-a"), listErr, captureErr,
	} {
		if err == nil || !strings.HasSuffix(err.Error(), "has 108 bytes, more than the 107 that the path of a socket may have") {
			t.Errorf("%v", err)
		}
	}
}
