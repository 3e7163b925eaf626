package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// edit changes the lists team.tests and notify.events in a file with this content, and returns the
// new content.
func edit(t *testing.T, content string, change func(lists map[string][]string)) (string, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "gaffer", "gaffer.yaml")
	if content != "" {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	err := EditLists(path, []string{"team.tests", "notify.events"}, change)
	data, readErr := os.ReadFile(path)
	if readErr != nil {
		t.Fatal(readErr)
	}
	return string(data), err
}

// addMake adds the command make to the list team.tests.
func addMake(lists map[string][]string) { lists["team.tests"] = append(lists["team.tests"], "make") }

func TestAListInTheUsersFileIsChangedAndTheOtherLinesStay(t *testing.T) {
	for name, c := range map[string]struct{ before, after string }{
		"no file":                      {"", "team:\n  tests:\n    - \"make\"\n"},
		"only a comment":               {"# mine\n", "# mine\nteam:\n  tests:\n    - \"make\"\n"},
		"no newline at the end":        {"color: never", "color: never\nteam:\n  tests:\n    - \"make\"\n"},
		"no section":                   {"# mine\ncolor: never # always was\n", "# mine\ncolor: never # always was\nteam:\n  tests:\n    - \"make\"\n"},
		"a section without the key":    {"team:\n    # how\n    mode: simple\n\n# then\ncolor: never\n", "team:\n    # how\n    mode: simple\n    tests:\n      - \"make\"\n\n# then\ncolor: never\n"},
		"a list":                       {"team:\n  tests:\n  - go vet ./... # fast\n  # the rest\n  - go test ./...\n\ncolor: never\n", "team:\n  tests:\n  - go vet ./... # fast\n  # the rest\n  - go test ./...\n  - \"make\"\n\ncolor: never\n"},
		"a list in brackets":           {"team:\n  tests: [go vet ./...,\n    go test ./...]\n  mode: simple\n", "team:\n  tests:\n    - \"go vet ./...\"\n    - \"go test ./...\"\n    - \"make\"\n  mode: simple\n"},
		"a single text":                {"team:\n  tests: go vet ./...\n", "team:\n  tests:\n    - \"go vet ./...\"\n    - \"make\"\n"},
		"a section in braces":          {"team: {tests: [go vet ./...]}\ncolor: never\n", "team:\n  tests:\n    - \"go vet ./...\"\n    - \"make\"\ncolor: never\n"},
		"a section that names nothing": {"team:\ncolor: never\n", "team:\n  tests:\n    - \"make\"\ncolor: never\n"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := edit(t, c.before, addMake)
			if err != nil || got != c.after {
				t.Errorf("%v, found\n%s, want\n%s", err, got, c.after)
			}
		})
	}
}

func TestAnItemOfAListIsRemoved(t *testing.T) {
	without := func(word string) func(map[string][]string) {
		return func(lists map[string][]string) {
			lists["team.tests"] = slices.DeleteFunc(lists["team.tests"], func(s string) bool { return s == word })
		}
	}
	for name, c := range map[string]struct{ before, after string }{
		"one of three":      {"team:\n  tests:\n    - a # first\n    - \"b\"\n    # last\n    - c\ncolor: never\n", "team:\n  tests:\n    - a # first\n    # last\n    - c\ncolor: never\n"},
		"one in brackets":   {"team:\n  tests: [a, b]\n", "team:\n  tests:\n    - \"a\"\n"},
		"the only one":      {"team:\n  mode: simple\n  tests:\n    - b\n", "team:\n  mode: simple\n"},
		"all of a section":  {"team:\n  tests:\n    - b\n", "team:\n  tests: []\n"},
		"one that is there": {"team:\n  tests: [a]\n", "team:\n  tests: [a]\n"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := edit(t, c.before, without("b"))
			if err != nil || got != c.after {
				t.Errorf("%v, found\n%s, want\n%s", err, got, c.after)
			}
		})
	}
}

func TestAFileThatCannotBeChangedWithoutLossStaysAsItIs(t *testing.T) {
	for name, content := range map[string]string{
		"a comment in a list in brackets": "team:\n  tests: [a, # first\n    b]\n",
		"a text in a section in braces":   "team: {tests: [a], mode: simple}\n",
		"everything in braces":            "{team: {tests: [a]}}\n",
		"a file that is not valid":        "team:\n  tests: [a\n",
		"a key that is unknown":           "teem:\n  tests: [a]\n",
	} {
		t.Run(name, func(t *testing.T) {
			got, err := edit(t, content, addMake)
			if err == nil || got != content || !strings.Contains(err.Error(), "gaffer.yaml") {
				t.Errorf("%v, %s", err, got)
			}
		})
	}
}
