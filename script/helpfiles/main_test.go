package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestEveryCommandHasAManPageAndEveryShellACompletionScript(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("SOURCE_DATE_EPOCH", "1700000000") // 14 November 2023
	if err := write("1.2.3", dir); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"share/man/man1/gaffer.1":                     `"Nov 2023" "gaffer 1.2.3"`,
		"share/man/man1/gaffer-schedule.1":            "Start no more runs of a schedule",
		"share/man/man1/gaffer-run.1":                 "--parallel",
		"share/man/man1/gaffer-session-new.1":         "gaffer-session-new",
		"share/bash-completion/completions/gaffer":    "complete",
		"share/zsh/site-functions/_gaffer":            "#compdef gaffer",
		"share/fish/vendor_completions.d/gaffer.fish": "complete -c gaffer",
		"share/gaffer/completions/gaffer.ps1":         "Register-ArgumentCompleter",
	} {
		text, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(path)))
		if err != nil {
			t.Error(err)
		} else if !strings.Contains(string(text), want) {
			t.Errorf("%s does not contain %q", path, want)
		}
	}
}
