package config

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Kind is the type of a setting's value.
type Kind int

// The kinds.
const (
	Path     Kind = iota // a file or folder, relative to the project's root
	Duration             // 500ms, 30s, 2m
	Choice               // one of the key's Choices
	Database             // a file, a URL, or auto
)

// check tells whether text is a value of the key, and if not, what was found
// and what is allowed.
func (k Key) check(text string) error {
	switch k.Kind {
	case Duration:
		return checkDuration(text)
	case Choice:
		if !slices.Contains(k.Choices, text) {
			return fmt.Errorf("found %s, want %s", quote(text), orList(k.Choices))
		}
	case Path, Database:
		return checkPath(text)
	}
	return nil
}

func checkPath(text string) error {
	switch {
	case strings.TrimSpace(text) == "":
		return errors.New("found an empty path, want a folder relative to the project's root, or an absolute one")
	case strings.ContainsRune(text, 0):
		return fmt.Errorf("found a NUL character in the path %s", quote(text))
	}
	return nil
}

func checkDuration(text string) error {
	d, err := time.ParseDuration(text)
	if err != nil {
		return fmt.Errorf("found %s, want a duration such as 500ms, 30s or 2m", quote(text))
	}
	if d < 0 {
		return fmt.Errorf("found %s, want a duration that is not negative", quote(text))
	}
	return nil
}

// orList joins words as a person would: a, b or c.
func orList(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// quote shows what was found. A whole file may have landed in one value, and
// nobody wants to read that in an error.
func quote(text string) string {
	const most = 80
	if len(text) <= most {
		return strconv.Quote(text)
	}
	return strconv.Quote(text[:most]) + "…"
}
