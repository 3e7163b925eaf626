package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gaffer/internal/testkit/testenv"
)

// bench runs script/bench with its programs and its page in folders of the test. It returns the
// page.
func bench(t *testing.T, dir string, fails bool, env []string, args ...string) string {
	t.Helper()
	cmd := exec.Command("../../script/bench", append(args, "--quick", "--docs", filepath.Join(dir, "docs"))...)
	cmd.Env = append(append(os.Environ(), "BENCH_BIN="+filepath.Join(dir, "bin")), env...)
	out, err := cmd.CombinedOutput()
	if (err != nil) != fails {
		t.Fatalf("%v: %v\n%s", args, err, out)
	}
	pages, err := filepath.Glob(filepath.Join(dir, "docs", "*.md"))
	if err != nil || len(pages) != 1 {
		t.Fatalf("%v: wrote %q, %v\n%s", args, pages, err, out)
	}
	text, err := os.ReadFile(pages[0])
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestTheScriptMeasuresOneSectionAndSaysWhyItFailed(t *testing.T) {
	testenv.Integration(t)
	dir := t.TempDir()
	text := bench(t, dir, false, nil, "all", "--only", "documents")
	for _, want := range []string{"| **gaffer processes** |", "| python processes |", "| *limit: bare durable write* |", "`script/bench all --quick --only documents`", "Not measured yet: `script/bench all --only run`"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not have %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "failed") {
		t.Errorf("the page says that something failed:\n%s", text)
	}

	broken := filepath.Join(dir, "broken")
	must(t, os.Mkdir(broken, 0o755))
	must(t, os.WriteFile(filepath.Join(broken, "python3"), []byte("#!/bin/sh\nexit 7\n"), 0o755))
	text = bench(t, dir, true, []string{"PATH=" + broken + ":" + os.Getenv("PATH")}, "all", "--only", "documents")
	if !strings.Contains(text, "**The measurement failed:** exit status 1: exit status 7. The figures below are incomplete.") {
		t.Errorf("the page does not say why the measurement failed:\n%s", text)
	}
}

func TestTheScriptMeasuresAFleetOfWorkers(t *testing.T) {
	testenv.Integration(t)
	dir := t.TempDir()
	must(t, os.Mkdir(filepath.Join(dir, "bin"), 0o755))
	must(t, os.Symlink(testenv.Program(t), filepath.Join(dir, "bin", "gaffer")))
	text := bench(t, dir, false, nil, "scale", "--only", "sqlite")
	for _, want := range []string{"| workers | 1 | 10 | 100 |", "| heartbeat, p99 |", "| CPU: coordinator |", "### SQLite: what breaks first"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not have %q:\n%s", want, text)
		}
	}
}

func TestTheScriptMeasuresEverySection(t *testing.T) {
	testenv.Proof(t)
	text := bench(t, t.TempDir(), false, nil, "all")
	for _, s := range benchmarks().sections {
		if !strings.Contains(text, "| "+s.name+" | ") {
			t.Errorf("section %s was not measured:\n%s", s.name, text)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
