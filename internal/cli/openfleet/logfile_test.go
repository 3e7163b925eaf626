package openfleet

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"gaffer/fleet"
	"gaffer/internal/exit"
)

func TestTheLastLinesAreFound(t *testing.T) {
	long := strings.Repeat("x", blockSize*2+7)
	for name, c := range map[string]struct {
		log  string
		n    int
		want string
	}{
		"all":                 {"a\nb\nc\n", -1, "a\nb\nc\n"},
		"none":                {"a\nb\n", 0, ""},
		"two":                 {"a\nb\nc\n", 2, "b\nc\n"},
		"as many as there":    {"a\nb\n", 2, "a\nb\n"},
		"more than there are": {"a\nb\n", 9, "a\nb\n"},
		"no newline at end":   {"a\nb\nc", 2, "b\nc"},
		"empty lines":         {"a\n\n\n", 2, "\n\n"},
		"empty":               {"", 3, ""},
		"over blocks":         {"a\n" + long + "\n" + long + "\nb\n", 2, long + "\nb\n"},
		"one long line":       {long, 1, long},
	} {
		f := strings.NewReader(c.log)
		if err := seekLastLines(f, c.n); err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(f)
		if err != nil || string(got) != c.want {
			t.Errorf("%s: %.40q (%d bytes), %v", name, got, len(got), err)
		}
	}
}

func TestALogIsFollowedUntilItsEnd(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(path, []byte("one\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := openRegular(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	asked := 0
	over := func() (bool, error) {
		asked++
		w, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			return false, err
		}
		defer w.Close()
		_, err = w.WriteString("more\n")
		return asked == 3, err
	}
	var b bytes.Buffer
	attempts := func() ([]fleet.Attempt, error) {
		return []fleet.Attempt{{Number: 1, Process: fleet.Process{Log: path}}}, nil
	}
	l := logFile{file: f, to: &b, query: fleet.LogQuery{Tail: -1, Follow: true}, attempts: attempts, over: over}
	if err := l.copy(context.Background()); err != nil || b.String() != "one\nmore\nmore\nmore\n" {
		t.Errorf("%q, %v", b.String(), err)
	}
}

// marked is a buffer that marks the start of each attempt.
type marked struct{ bytes.Buffer }

func (m *marked) Begin(attempt int) error {
	fmt.Fprintf(&m.Buffer, "[%d]", attempt)
	return nil
}

func TestTheAttemptsInASharedLogAreDistinguished(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(path, []byte("a\nb\nc\nd\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := openRegular(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	list := []fleet.Attempt{
		{Number: 4}, // this attempt has not started
		{Number: 3, Process: fleet.Process{Log: path, LogFrom: 4}},
		{Number: 1, Process: fleet.Process{Log: path}},
		{Number: 2, Process: fleet.Process{Log: path, LogFrom: 4}}, // this attempt has written nothing
	}
	for _, c := range []struct {
		query fleet.LogQuery
		want  string
	}{
		{fleet.LogQuery{Tail: -1}, "[1]a\nb\n[3]c\nd\n"},
		{fleet.LogQuery{Tail: 3}, "[1]b\n[3]c\nd\n"},
		{fleet.LogQuery{Tail: 1}, "[3]d\n"},
		{fleet.LogQuery{Tail: -1, Attempt: 1}, "[1]a\nb\n"},
		{fleet.LogQuery{Tail: 1, Attempt: 1}, "[1]b\n"},
		{fleet.LogQuery{Tail: -1, Attempt: 2}, ""},
		{fleet.LogQuery{Tail: -1, Attempt: 3}, "[3]c\nd\n"},
	} {
		var m marked
		l := logFile{file: f, to: &m, query: c.query, attempts: func() ([]fleet.Attempt, error) { return list, nil }}
		if err := l.copy(t.Context()); err != nil || m.String() != c.want {
			t.Errorf("%+v: %q, %v; want %q", c.query, m.String(), err, c.want)
		}
	}
	l := logFile{file: f, to: io.Discard, query: fleet.LogQuery{Attempt: 7}, attempts: func() ([]fleet.Attempt, error) { return list, nil }}
	if err := l.copy(t.Context()); exit.Of(err) != exit.CodeNotFound {
		t.Errorf("attempt 7: %v", err)
	}
}

func TestAPathThatIsNoFileIsNoLog(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{dir, pipe, filepath.Join(dir, "none")} {
		if f, err := openRegular(path); err == nil {
			f.Close() //nolint:errcheck // the test fails anyway
			t.Errorf("%s was opened", path)
		}
	}
}
