package cli

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/rogpeppe/go-internal/testscript"

	"gaffer/internal/config"
	"gaffer/internal/project"
	"gaffer/internal/project/trust"
	"gaffer/internal/testkit/testenv"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"stubborn": stubborn})
}

// TestScript runs every script in testdata/script. In addition to testscript's own commands, a
// script has:
//
//	exit N gaffer ARG…       the command ends with exactly this code
//	parallel N gaffer ARG…   N processes at once; all must succeed
//	fits COLUMNS LINES       the last stdout fits a screen of this size; with ttyout
//	                         as a third argument, the output to the terminal does
//
// In the arguments of parallel, {} stands for the number of the process. parallel passes only HOME,
// PATH, TMPDIR and gaffer's variables from the script's environment to the processes.
//
// AGENTS is a folder with stubs of the agent programs. A script that needs them installed uses env
// PATH=$AGENTS${:}$PATH.
//
// After ttyin, testscript closes the terminal as soon as the command has ended, and loses output
// that it has not read by then. So these commands wait for half a second at their end.
func TestScript(t *testing.T) {
	testenv.Integration(t)
	program := testenv.Program(t)
	bin, agents := t.TempDir(), t.TempDir()
	for _, name := range []string{"claude", "codex", "gemini", "opencode"} {
		if err := os.WriteFile(filepath.Join(agents, name), []byte("#!/bin/sh\necho 1.0 of a stub\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(program, filepath.Join(bin, "gaffer")); err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       os.Getenv("UPDATE_SCRIPTS") != "",
		Setup: func(e *testscript.Env) error {
			e.Setenv("AGENTS", agents)
			e.Setenv("PATH", bin+string(filepath.ListSeparator)+e.Getenv("PATH"))
			return isolate(e)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exit":     exitCode,
			"parallel": func(ts *testscript.TestScript, _ bool, args []string) { parallel(ts, program, args) },
			"fits":     fits,
		},
	})
}

// isolate gives the script a separate home directory, stops the search for a project at the
// script's folder, and kills the processes that the script leaves running. EXAMPLES is the folder
// of the repository's examples.
func isolate(e *testscript.Env) error {
	leaveNothing(e)
	examples, err := filepath.Abs(filepath.Join("..", "..", "examples"))
	if err != nil {
		return err
	}
	e.Setenv("EXAMPLES", examples)
	home := filepath.Join(e.WorkDir, ".home")
	e.Setenv("HOME", home)
	e.Setenv("GAFFER_PROJECT", e.WorkDir)
	e.Setenv(trust.Variable, "all") // trust all projects: only security-trust.txtar tests trust
	return os.Mkdir(home, 0o755)
}

func exitCode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exit N program [args...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		failed, ok := errors.AsType[*exec.ExitError](err)
		if !ok {
			ts.Fatalf("%v", err)
		}
		got = failed.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

func fits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 || len(args) > 3 {
		ts.Fatalf("usage: fits COLUMNS LINES [ttyout]")
	}
	columns, err := strconv.Atoi(args[0])
	ts.Check(err)
	lines, err := strconv.Atoi(args[1])
	ts.Check(err)
	shown := ts.ReadFile(append(args, "stdout")[2])
	text := strings.Split(strings.TrimSuffix(strings.ReplaceAll(shown, "\r\n", "\n"), "\n"), "\n")
	if len(text) > lines {
		ts.Fatalf("%d lines, want %d at most", len(text), lines)
	}
	for _, line := range text {
		if n := ansi.StringWidth(line); n > columns {
			ts.Fatalf("%d columns, want %d at most: %s", n, columns, line)
		}
	}
}

func parallel(ts *testscript.TestScript, program string, args []string) {
	if len(args) < 2 || args[1] != "gaffer" {
		ts.Fatalf("usage: parallel N gaffer [args...]")
	}
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	failures := make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		cmd := numberedCommand(ts, program, args[2:], i)
		all.Go(func() { failures[i] = output(cmd) })
	}
	all.Wait()
	ts.Check(errors.Join(failures...))
}

func numberedCommand(ts *testscript.TestScript, path string, args []string, i int) *exec.Cmd {
	numbered := make([]string, len(args))
	for j, arg := range args {
		numbered[j] = strings.ReplaceAll(arg, "{}", strconv.Itoa(i))
	}
	cmd := exec.Command(path, numbered...)
	cmd.Dir = ts.MkAbs(".")
	names := []string{"HOME", "PATH", "TMPDIR", project.EnvVar, trust.Variable}
	for _, key := range config.Keys() {
		names = append(names, key.Env())
	}
	for _, name := range names {
		cmd.Env = append(cmd.Env, name+"="+ts.Getenv(name))
	}
	return cmd
}

func output(cmd *exec.Cmd) error {
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, out)
	}
	return nil
}
