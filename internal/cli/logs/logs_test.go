package logs

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestTheLastLinesAreFound(t *testing.T) {
	long := strings.Repeat("x", block*2+7)
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
		if err := seek(f, c.n); err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(f)
		if err != nil || string(got) != c.want {
			t.Errorf("%s: %.40q (%d bytes), %v", name, got, len(got), err)
		}
	}
}

func TestALogDoesNotSteerTheTerminal(t *testing.T) {
	for in, want := range map[string]string{
		"plain\ttext é日\n":             "plain\ttext é日\n",
		"\x1b[31mred\x1b[0m":           "\x1b[31mred\x1b[0m\x1b[0m",
		"\x1b[38;2;1;2;3mrgb\x1b[4:3m": "\x1b[38;2;1;2;3mrgb\x1b[4:3m\x1b[0m",
		"\x1b[2J\x1b[H\x1b[1;1Hx":      "x",
		"\x1b[?1049hx":                 "x",
		"\x1b[>4;2mx":                  "x",
		"\x1b]0;title\x07x":            "x",
		"\x1b]52;c;aGVsbG8=\x1b\\x":    "x",
		"\x1bPq#0\x1b\\x":              "x",
		"\x1b]0;never ends\nx":         "\nx",
		"\x1bcx":                       "x",
		"a\r\nb\rc\r":                  "a\nb\nc",
		"\x00\x07\x08":                 "\ufffd\ufffd\ufffd",
		"\u009b31mx":                   "\ufffd31mx",
		"\u202ex":                      "\ufffdx",
		"\xff\xfex":                    "\ufffd\ufffdx",
		"\x1b[" + strings.Repeat("1;", 99) + "mx": "x",
		"\x1b[31\nx":   "\nx",
		"\x1b\x1b[2Jx": "x",
	} {
		for cut := range len(in) + 1 { // a sequence may come in two pieces
			var b bytes.Buffer
			p := &printable{out: &b}
			for _, part := range []string{in[:cut], in[cut:]} {
				if n, err := io.WriteString(p, part); err != nil || n != len(part) {
					t.Fatalf("%d, %v", n, err)
				}
			}
			p.end()
			if b.String() != want {
				t.Errorf("%q cut at %d: %q, want %q", in, cut, b.String(), want)
			}
		}
	}
}

func FuzzALogDoesNotSteerTheTerminal(f *testing.F) {
	f.Add([]byte("a\x1b[31mb\x1b[2J\r\n\xff"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var b bytes.Buffer
		p := &printable{out: &b}
		for _, part := range bytes.SplitAfter(data, []byte("b")) {
			if _, err := p.Write(part); err != nil {
				t.Fatal(err)
			}
		}
		left := b.String()
		for {
			at := strings.IndexByte(left, 0x1b)
			if at < 0 {
				break
			}
			left = left[at+1:]
			end := strings.IndexByte(left, 'm')
			if end < 1 || left[0] != '[' || strings.Trim(left[1:end], "0123456789;:") != "" {
				t.Fatalf("%q lets %q through", data, left)
			}
		}
	})
}

func TestWhatIsAddedIsFollowedUntilTheEnd(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(path, []byte("one\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := openLog(path)
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
	if err := follow(context.Background(), f, &b, over); err != nil || b.String() != "one\nmore\nmore\nmore\n" {
		t.Errorf("%q, %v", b.String(), err)
	}
}

func TestWhatIsNoFileIsNoLog(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{dir, pipe, filepath.Join(dir, "none")} {
		if f, err := openLog(path); err == nil {
			f.Close() //nolint:errcheck // the test fails anyway
			t.Errorf("%s was opened", path)
		}
	}
}
