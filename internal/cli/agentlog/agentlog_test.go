package agentlog

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gaffer/internal/attempt/agent/fake"
)

// said returns what the fake agent prints when it speaks the given protocol and does these steps.
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

func TestALogIsFormattedForUsers(t *testing.T) {
	for _, protocol := range []string{"claude", "codex"} {
		log := said(t, protocol, "say first things first", "tool true", "say all is done")
		whole := passed(t, log)
		for _, text := range []string{"first things first\n", "true\n", "all is done\n"} {
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

func TestPlainLinesStayUnchanged(t *testing.T) {
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

func TestAnEndlessLineUsesLimitedMemory(t *testing.T) {
	r := New(&bytes.Buffer{}, Options{})
	for range 64 {
		if _, err := r.Write(bytes.Repeat([]byte("x"), maxParsedLine/16)); err != nil {
			t.Fatal(err)
		}
	}
	if len(r.rest) > maxParsedLine {
		t.Errorf("%d bytes are kept", len(r.rest))
	}
}

func passed(t *testing.T, log []byte) string {
	t.Helper()
	var b bytes.Buffer
	r := New(&b, Options{})
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
	r := New(&b, Options{})
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

func TestEqualTimesArePrintedOnceAndLongEntriesAreIndented(t *testing.T) {
	log := `{"type":"system","subtype":"init","session_id":"s"}
{"type":"assistant","session_id":"s","message":{"content":[{"type":"text","text":"I look at the tests of the package first.\nThen I mend it."},{"type":"tool_use","name":"Bash","input":{"command":"go test ./..."}}]}}
{"type":"user","session_id":"s","timestamp":"2026-02-01T14:02:05Z","message":{"content":[{"type":"tool_result","is_error":true,"content":"FAIL"}]}}
a warning
{"type":"assistant","session_id":"s","message":{"content":[{"type":"text","text":"Oh."}]}}
`
	began := time.Date(2026, 2, 1, 14, 2, 0, 0, time.UTC)
	options := Options{Zone: time.UTC, Width: 40, Heading: func(int) (string, time.Time) { return "── attempt 2 ──", began }}
	want := `── attempt 2 ──
14:02:00  I look at the tests of the
          package first.
          Then I mend it.
          → Bash: go test ./...
14:02:05  ✗ FAIL
          a warning
          Oh.
`
	if got := written(t, log, options); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	options.Since = began.Add(3 * time.Second)
	want = "── attempt 2 ──\n14:02:05  ✗ FAIL\n          a warning\n          Oh.\n"
	if got := written(t, log, options); got != want {
		t.Errorf("since 14:02:03:\n%s\nwant\n%s", got, want)
	}
	options.Since = began.Add(time.Minute)
	if got := written(t, log, options); got != "── attempt 2 ──\n" {
		t.Errorf("since later: %s", got)
	}
}

func TestALiveEntryHasTheTimeOfItsArrival(t *testing.T) {
	now := time.Date(2026, 2, 1, 14, 2, 0, 0, time.UTC)
	log := `{"type":"assistant","session_id":"s","message":{"content":[{"type":"text","text":"Oh."}]}}` + "\n"
	got := written(t, log, Options{Zone: time.UTC, Live: func() time.Time { return now }})
	if got != "14:02:00  Oh.\n" {
		t.Errorf("%q", got)
	}
}

// written returns the log as a Writer formats it, as the log of attempt 2 if options.Heading is
// set.
func written(t *testing.T, log string, options Options) string {
	t.Helper()
	var b bytes.Buffer
	w := New(&b, options)
	if options.Heading != nil {
		if err := w.Begin(2); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Write([]byte(log)); err != nil {
		t.Fatal(err)
	}
	if err := w.End(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestAQuestionIsFollowedByItsAnswerWhenTheAgentGoesOn(t *testing.T) {
	var out bytes.Buffer
	var asked []string
	w := New(&out, Options{Outcome: func(text string) string {
		asked = append(asked, text)
		return "allowed by rule Bash(make:*)"
	}})
	request := func(id string) string {
		return `{"type":"control_request","request_id":"` + id + `","request":{"subtype":"can_use_tool","tool_name":"Bash","input":{"command":"make"}}}` + "\n"
	}
	if _, err := w.Write([]byte(request("1"))); err != nil || len(asked) != 0 {
		t.Fatalf("%v, asked for %q before the agent went on", err, asked)
	}
	if _, err := w.Write([]byte(`{"type":"assistant","message":{"content":[{"type":"text","text":"It is made."}]}}` + "\n" + request("2"))); err != nil {
		t.Fatal(err)
	}
	if err := w.End(); err != nil {
		t.Fatal(err)
	}
	want := "? Bash: make\n  1 allow\n  2 deny\n· allowed by rule Bash(make:*)\nIt is made.\n? Bash: make\n  1 allow\n  2 deny\n· allowed by rule Bash(make:*)\n"
	if out.String() != want || len(asked) != 2 {
		t.Errorf("found\n%s, want\n%s", out.String(), want)
	}
}
