package agent_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gaffer/internal/attempt/agent"
)

var update = flag.Bool("update", false, "rewrite the golden files; read the diff")

// at is when the recorded programs ended. Tests need it for messages that have only a time of day.
var at = time.Date(2026, 11, 15, 5, 20, 0, 0, time.UTC)

// recording is the shortened output of a real program, one file per run. A line that
// starts with # is a comment or a setting for the test: the policy, and how the program
// ended (code, signal, reason of a stop).
type recording struct {
	agent   string
	request agent.Request
	lines   [][]byte
	exit    agent.Exit
}

func load(t testing.TB, file string) recording {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	r := recording{agent: filepath.Base(filepath.Dir(file)), exit: agent.Exit{At: at}}
	if r.agent == "server" {
		r.agent = "codex"
	}
	for line := range bytes.Lines(data) {
		line = bytes.TrimSuffix(line, []byte("\n"))
		text, ok := bytes.CutPrefix(line, []byte("# "))
		if !ok {
			r.lines = append(r.lines, line)
			continue
		}
		key, value, _ := strings.Cut(string(text), " ")
		switch key {
		case "policy":
			r.request.Policy = agent.Policy(value)
		case "exit":
			_, _ = fmt.Sscan(value, &r.exit.Code, &r.exit.Signal, &r.exit.StopReason)
		default:
			t.Fatalf("%s: %q means nothing", file, line)
		}
	}
	return r
}

// read passes the recording's lines to a new reader. It returns all signals and the verdict.
func (r recording) read(t testing.TB) ([]agent.Signal, agent.Verdict) {
	t.Helper()
	a, err := agent.New(r.agent, nil)
	if err != nil {
		t.Fatal(err)
	}
	reader := a.Reader(r.request)
	var all []agent.Signal
	for _, line := range r.lines {
		all = append(all, reader.Line(line)...)
	}
	return all, reader.Verdict(r.exit)
}

func TestSignalsOfTheRealPrograms(t *testing.T) {
	files, err := filepath.Glob("testdata/*/*.txt")
	if err != nil || len(files) < 40 {
		t.Fatalf("%d recordings, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimPrefix(file, "testdata/"), func(t *testing.T) {
			signals, verdict := load(t, file).read(t)
			var b strings.Builder
			for _, s := range signals {
				b.WriteString(show(s) + "\n")
			}
			fmt.Fprintf(&b, "\n%s\n", showVerdict(verdict))
			golden(t, strings.TrimSuffix(file, ".txt")+".golden", b.String())
		})
	}
}

func golden(t *testing.T, path, text string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; go test ./internal/attempt/agent -update writes it", err)
	}
	if diff := cmp.Diff(string(want), text); diff != "" {
		t.Errorf("%s: (-want +got)\n%s", path, diff)
	}
}

// show formats a signal on one line. It leaves out fields that are zero.
func show(s agent.Signal) string {
	var parts []string
	add := func(name string, value any) { parts = append(parts, fmt.Sprintf("%s %v", name, value)) }
	if s.State != "" {
		parts = append(parts, string(s.State))
	}
	if s.Progress {
		parts = append(parts, "progress")
	}
	if s.Doing != "" {
		add("doing", fmt.Sprintf("%q", s.Doing))
	}
	if s.Thread != "" {
		add("thread", s.Thread)
	}
	if s.Ask != nil {
		add("ask", fmt.Sprintf("%s %q %q", s.Ask.ID, s.Ask.Text, s.Ask.Options))
	}
	if s.Closed != "" {
		add("closed", s.Closed)
	}
	if s.ReplyTo != "" {
		add("reply to", s.ReplyTo+" "+strings.TrimSpace(string(s.Reply)))
	}
	if s.Usage != nil {
		add("usage", fmt.Sprintf("%d in, %d out, %.6f USD", s.Usage.Input, s.Usage.Output, s.Usage.USD))
	}
	if s.Context != (agent.Context{}) {
		add("context", fmt.Sprintf("%d of %d", s.Context.Tokens, s.Context.Window))
	}
	if s.Delivered != "" {
		add("took", s.Delivered)
	}
	if s.Refused != "" {
		add("refused", s.Refused)
	}
	if s.Resumed {
		parts = append(parts, "began")
	}
	if s.Ended {
		parts = append(parts, "ended")
	}
	return strings.Join(parts, ", ")
}

func showVerdict(v agent.Verdict) string {
	text := fmt.Sprintf("class %q\nsummary %q", v.Class, v.Summary)
	if !v.Reset.IsZero() {
		text += "\nreset " + v.Reset.UTC().Format(time.RFC3339)
	}
	if len(v.Denied) > 0 {
		text += fmt.Sprintf("\ndenied %q", v.Denied)
	}
	return text
}

func TestReadingTheSameOutputTwiceGivesTheSameSignals(t *testing.T) {
	files, _ := filepath.Glob("testdata/*/*.txt")
	for _, file := range files {
		r := load(t, file)
		signals, verdict := r.read(t)
		again, verdictAgain := r.read(t)
		if fmt.Sprint(shown(signals)) != fmt.Sprint(shown(again)) || showVerdict(verdict) != showVerdict(verdictAgain) {
			t.Errorf("%s: the second reading differs", file)
		}
	}
}

func shown(signals []agent.Signal) []string {
	var all []string
	for _, s := range signals {
		all = append(all, show(s))
	}
	return all
}
