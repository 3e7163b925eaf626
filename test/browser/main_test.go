package browser

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"gaffer/internal/testkit/dashboard"
	"gaffer/internal/testkit/testenv"
)

// State shared by all tests: the program and one browser. Each test has a separate server and a
// separate browser profile without cookies.
var (
	gaffer  string
	browser *dashboard.Browser
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "gaffer-browser-")
	if err != nil {
		return fail(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if gaffer, err = testenv.BuildProgram(); err != nil {
		return fail(err)
	}
	if browser, err = dashboard.Start(filepath.Join(dir, "profile")); err != nil {
		return fail(err)
	}
	defer browser.Close()
	return m.Run()
}

func fail(err error) int {
	fmt.Fprintln(os.Stderr, err)
	return 1
}
