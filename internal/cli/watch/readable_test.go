package watch

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gaffer/internal/agent/fake"
	screen "gaffer/internal/tui/watch"
)

// said is what an agent without a model writes, in a protocol's words.
func said(t *testing.T, protocol string, steps ...string) []byte {
	t.Helper()
	file := filepath.Join(t.TempDir(), "prompt")
	if err := os.WriteFile(file, []byte("fake: "+strings.Join(steps, "\nfake: ")), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, problems bytes.Buffer
	if code := fake.Main([]string{"--protocol", protocol, "--prompt-file", file}, strings.NewReader(""), &out, &problems); code != 0 {
		t.Fatalf("exit code %d: %s", code, problems.Bytes())
	}
	return out.Bytes()
}

func TestALogIsPassedOnAsPeopleReadIt(t *testing.T) {
	for _, protocol := range []string{"claude", "codex"} {
		log := said(t, protocol, "say first things first", "tool true", "say all is done")
		whole := passed(t, log)
		for _, text := range []string{"· first things first\n", "true\n", "· all is done\n"} {
			if !strings.Contains(whole, text) {
				t.Errorf("%s: no %q in\n%s\nof\n%s", protocol, text, whole, log)
			}
		}
		if strings.Contains(whole, `{"`) {
			t.Errorf("%s: JSON in\n%s", protocol, whole)
		}
		if torn := passedBytewise(t, log); torn != whole {
			t.Errorf("%s: in pieces it is\n%s", protocol, torn)
		}
	}
}

func TestWhatIsForPeopleAlreadyStaysAsItIs(t *testing.T) {
	for _, log := range []string{"plain\n\n  text\n", "{\"some\": \"other program's\"}\n[1]\n", "no end", ""} {
		want := log
		if log == "no end" {
			want += "\n"
		}
		if got := passed(t, []byte(log)); got != want {
			t.Errorf("%q becomes %q", log, got)
		}
	}
}

func TestALineWithoutAnEndTakesNoMoreThanItsRoom(t *testing.T) {
	r := newReadable(&bytes.Buffer{})
	for range 64 {
		if _, err := r.Write(bytes.Repeat([]byte("x"), longest/16)); err != nil {
			t.Fatal(err)
		}
	}
	if len(r.rest) > longest {
		t.Errorf("%d bytes are kept", len(r.rest))
	}
}

func passed(t *testing.T, log []byte) string {
	t.Helper()
	var b bytes.Buffer
	r := newReadable(&b)
	if _, err := r.Write(log); err != nil {
		t.Fatal(err)
	}
	if err := r.End(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func passedBytewise(t *testing.T, log []byte) string {
	t.Helper()
	var b bytes.Buffer
	r := newReadable(&b)
	for i := range log {
		if _, err := r.Write(log[i : i+1]); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.End(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestLinesAreToldWholeAndTheFirstBeginsTheLog(t *testing.T) {
	var told []screen.Log
	l := &lines{tell: func(what any) { told = append(told, what.(screen.Log)) }, log: screen.Log{Run: "r", Task: "t", Begin: true}}
	for _, text := range []string{"on", "e\ntwo\nth", "ree"} {
		if _, err := l.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	l.log.Ended = true
	l.end("")
	if len(told) != 2 || !told[0].Begin || strings.Join(told[0].Lines, "|") != "one|two" || told[1].Begin || !told[1].Ended || strings.Join(told[1].Lines, "|") != "three" {
		t.Errorf("%+v", told)
	}
}
