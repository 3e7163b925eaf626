package agents

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"gaffer/internal/testkit/testenv"
	"gaffer/test/stubmodel"
)

// State shared by all tests.
var (
	programs string               // folder with links to gaffer, claude and codex, for PATH
	model    *stubmodel.Server    // the stub model that the programs use
	seats    = make(chan bool, 2) // limits how many agent programs run at the same time, because they need much memory
)

// where is the environment variable with the folder of the real agent programs.
const where = "GAFFER_AGENTS_BIN"

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	flag.Parse()
	if flag.Lookup("test.list").Value.String() != "" {
		return m.Run() // tests are only listed, which needs no programs
	}
	dir, err := os.MkdirTemp("", "gaffer-agents-")
	if err != nil {
		return fail(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	for _, name := range []string{"claude", "codex"} {
		if err := link(filepath.Join(os.Getenv(where), name), filepath.Join(dir, name)); err != nil {
			return fail(err)
		}
	}
	gaffer, err := testenv.BuildProgram()
	if err == nil {
		err = os.Symlink(gaffer, filepath.Join(dir, "gaffer"))
	}
	if err != nil {
		return fail(err)
	}
	programs, model = dir, stubmodel.Serve()
	defer model.Close()
	return m.Run()
}

// link creates a symbolic link at path that points to a program.
func link(program, path string) error {
	target, err := filepath.EvalSymlinks(program)
	if os.Getenv(where) == "" || err != nil {
		return fmt.Errorf("no %s in %s=%q: run script/test-agents, which installs it", filepath.Base(program), where, os.Getenv(where))
	}
	return os.Symlink(target, path)
}

func fail(err error) int {
	fmt.Fprintln(os.Stderr, "test/agents:", err)
	return 1
}
