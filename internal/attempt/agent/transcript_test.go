package agent_test

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"gaffer/internal/attempt/agent"
)

var kinds = map[agent.EntryKind]string{
	agent.AgentText: "said", agent.ToolCall: "did", agent.ToolOutput: "got", agent.Problem: "problem", agent.QuestionAsked: "asked", agent.Note: "noted", agent.UserMessage: "told",
}

// transcript formats the transcript of a log, one line per entry. It marks log lines that are plain
// text.
func transcript(lines [][]byte) string {
	var b strings.Builder
	var t agent.Transcript
	show := func(entries []agent.Entry) {
		for _, e := range entries {
			clock := ""
			if !e.At.IsZero() {
				clock = e.At.UTC().Format("15:04:05")
			}
			fmt.Fprintf(&b, "%-8s %-7s %q\n", clock, kinds[e.Kind], e.Text)
		}
	}
	for _, line := range lines {
		entries, ok := t.Line(line)
		show(entries)
		if !ok {
			fmt.Fprintf(&b, "plain %s\n", line)
		}
	}
	show(t.End())
	return b.String()
}

func TestTranscriptsOfTheRealPrograms(t *testing.T) {
	files, err := filepath.Glob("testdata/*/*.txt")
	if err != nil || len(files) < 40 {
		t.Fatalf("%d recordings, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimPrefix(file, "testdata/"), func(t *testing.T) {
			golden(t, strings.TrimSuffix(file, ".txt")+".transcript", transcript(load(t, file).lines))
		})
	}
}

func TestUnknownJSONInALogIsPlainText(t *testing.T) {
	for _, line := range []string{
		`{"some":"object"}`, `{"type":"user","name":"x"}`, `{"type":"text","text":"x"}`, `{"type":"result","ok":true}`,
		`{"method":"GET"}`, `{"id":1,"name":"x"}`, `{"message":"x"}`, `{"type":"error","message":"x"}`, `{`, `[1]`, ``, `text`,
	} {
		var tr agent.Transcript
		if entries, ok := tr.Line([]byte(line)); ok || len(entries) > 0 {
			t.Errorf("%s becomes %v", line, entries)
		}
	}
}

func TestALongToolOutputIsShortened(t *testing.T) {
	result := func(failed bool) string {
		return fmt.Sprintf(`{"type":"user","session_id":"s","message":{"content":[{"type":"tool_result","tool_use_id":"t","is_error":%v,"content":"1\n2\n3\n4\n\u001b[31m5\u001b[0m\n"}]}}`, failed)
	}
	for failed, want := range map[bool]string{false: `got     "1\n2\n3\n… 2 more lines"`, true: `problem "… 2 lines before\n3\n4\n5"`} {
		if got := transcript([][]byte{[]byte(result(failed))}); !strings.Contains(got, want) {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func FuzzTranscript(f *testing.F) {
	files, err := filepath.Glob("testdata/*/*.txt")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		f.Add(bytes.Join(load(f, file).lines, []byte("\n")))
	}
	f.Fuzz(func(t *testing.T, log []byte) {
		var tr agent.Transcript
		var all []agent.Entry
		for line := range bytes.Lines(log) {
			entries, _ := tr.Line(bytes.TrimSuffix(line, []byte("\n")))
			all = append(all, entries...)
		}
		for _, e := range append(all, tr.End()...) {
			if kinds[e.Kind] == "" || e.Text == "" {
				t.Errorf("%+v says nothing", e)
			}
			if i := strings.IndexFunc(e.Text, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }); i >= 0 {
				t.Errorf("%q has a control character at %d", e.Text, i)
			}
		}
	})
}
