package statefile_test

import (
	"errors"
	"strings"
	"testing"

	"gaffer/statefile"
)

func TestAnIDMayBecomeAFilesName(t *testing.T) {
	for _, name := range []string{
		"a", "20260201-143025-a1b2c3d4", "bd-1.2", "agent 003", "a..b", "a.", "é", "🙂", "日本語", "a:b", "~", strings.Repeat("x", 200),
	} {
		if err := statefile.CheckName("session", name); err != nil {
			t.Error(err)
		}
	}
}

func TestAnIDThatCannotBeAFilesNameIsRefused(t *testing.T) {
	for name, want := range map[string]string{
		"":                       `session "": is empty`,
		".":                      `session ".": starts with a dot`,
		"..":                     `session "..": starts with a dot`,
		".hidden":                `session ".hidden": starts with a dot`,
		"-rf":                    `session "-rf": starts with a dash`,
		"a/b":                    `session "a/b": has a slash`,
		"/":                      `session "/": has a slash`,
		"../../etc/passwd":       `session "../../etc/passwd": has a slash`,
		`a\b`:                    `session "a\\b": has a slash`,
		"a\x00b":                 `session "a\x00b": has a character that cannot be printed`,
		"a\nb":                   `session "a\nb": has a character that cannot be printed`,
		"a\tb":                   `session "a\tb": has a character that cannot be printed`,
		"\x7f":                   `session "\x7f": has a character that cannot be printed`,
		"a\u202eb":               `session "a\u202eb": has a character that cannot be printed`,
		"a\u200bb":               `session "a\u200bb": has a character that cannot be printed`,
		"a\xff":                  `session "a\xff": is not UTF-8`,
		" a":                     `session " a": starts or ends with a space`,
		"a ":                     `session "a ": starts or ends with a space`,
		strings.Repeat("x", 201): `session "` + strings.Repeat("x", 60) + `…": has 201 bytes, more than the 200 an id may have`,
		strings.Repeat("é", 150): `session "` + strings.Repeat("é", 60) + `…": has 300 bytes, more than the 200 an id may have`,
	} {
		err := statefile.CheckName("session", name)
		var refused *statefile.NameError
		if !errors.As(err, &refused) || err.Error() != want {
			t.Errorf("%q: %v\nshould be %s", name, err, want)
		}
	}
}
