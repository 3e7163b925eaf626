package agent_test

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"gaffer/internal/attempt/agent"
	"gaffer/internal/engine/failure"
)

func TestACommandIsJudgedByItsExitCode(t *testing.T) {
	for _, c := range []struct {
		exit    agent.Exit
		lines   []string
		want    failure.Class
		summary string
	}{
		{agent.Exit{}, nil, failure.None, ""},
		{agent.Exit{}, []string{"one", "two"}, failure.None, "one\ntwo"},
		{agent.Exit{Code: 3}, nil, failure.Crashed, "exit code 3"},
		{agent.Exit{Code: 3}, []string{"no such file"}, failure.Crashed, "exit code 3: no such file"},
		{agent.Exit{Code: -1, Signal: "SIGSEGV"}, []string{"oops"}, failure.Crashed, "died of SIGSEGV: oops"},
		{agent.Exit{Code: -1, Signal: "SIGTERM", StopReason: "timeout"}, []string{"busy"}, failure.TimedOut, "died of SIGTERM: busy"},
		{agent.Exit{StopReason: "cancelled"}, []string{"done"}, failure.Cancelled, "done"},
		{agent.Exit{}, []string{"\x1b[32mgreen\x1b[0m\r", "a\x00b\xff"}, failure.None, "green\nab\ufffd"},
	} {
		_, v := readLines(t, "command", agent.Request{}, c.exit, c.lines...)
		if v.Class != c.want || v.Summary != c.summary {
			t.Errorf("%+v %q: %+v, want %q %q", c.exit, c.lines, v, c.want, c.summary)
		}
	}
}

func TestTheSummaryIsTheLastWholeLinesWithin500Characters(t *testing.T) {
	var lines []string
	for range 300 {
		lines = append(lines, strings.Repeat("€", 100))
	}
	_, v := readLines(t, "command", agent.Request{}, agent.Exit{}, append(lines, "the end")...)
	if want := strings.Repeat(lines[0]+"\n", 4) + "the end"; v.Summary != want {
		t.Errorf("%q, want %q", v.Summary, want)
	}
	_, v = readLines(t, "command", agent.Request{}, agent.Exit{Code: 9}, lines...)
	if n := utf8.RuneCountInString(v.Summary); n > 500 || !strings.HasPrefix(v.Summary, "exit code 9: "+lines[0]+"\n") {
		t.Errorf("%d characters: %q", n, v.Summary)
	}
	_, v = readLines(t, "command", agent.Request{}, agent.Exit{}, strings.Repeat("x", agent.MaxLine))
	if want := "…" + strings.Repeat("x", 499); v.Summary != want {
		t.Errorf("of one long line: %q", v.Summary)
	}
	_, v = readLines(t, "command", agent.Request{}, agent.Exit{}, strings.Repeat("word ", 200))
	if !strings.HasPrefix(v.Summary, "…word word") || utf8.RuneCountInString(v.Summary) > 500 {
		t.Errorf("of many words: %q", v.Summary)
	}
}

func TestTheAnswerOfWorkThatWasDoneIsKeptWhole(t *testing.T) {
	long := strings.Repeat("€", 1000) + "\n" + `{"status": "PASS"}`
	_, v := readLines(t, "command", agent.Request{}, agent.Exit{}, strings.Split(long, "\n")...)
	if strings.TrimSpace(v.Answer) != long {
		t.Errorf("%d bytes: %q", len(v.Answer), v.Answer)
	}
	_, v = readLines(t, "command", agent.Request{}, agent.Exit{Code: 1}, long)
	if v.Answer != "" {
		t.Errorf("work that was not done has the answer %q", v.Answer)
	}
	_, v = readLines(t, "claude", agent.Request{}, agent.Exit{}, `{"type":"result","subtype":"success","is_error":false,"result":"`+strings.Repeat("€", 100000)+` the end"}`)
	if !utf8.ValidString(v.Answer) || len(v.Answer) > 256<<10 || !strings.HasSuffix(v.Answer, "€ the end") || len(v.Answer) < 200_000 {
		t.Errorf("%d bytes of a long answer", len(v.Answer))
	}
}

func marked(t *testing.T, policy agent.Policy, exit agent.Exit, lines ...string) ([]agent.Signal, agent.Verdict) {
	t.Helper()
	a, err := agent.New("command", markers)
	if err != nil {
		t.Fatal(err)
	}
	reader := a.Reader(agent.Request{Policy: policy})
	var all []agent.Signal
	for _, line := range lines {
		all = append(all, reader.Line([]byte(line))...)
	}
	return all, reader.Verdict(exit)
}

func TestMarkersSayWhatLinesMean(t *testing.T) {
	for _, c := range []struct {
		name  string
		exit  agent.Exit
		lines []string
		want  failure.Class
	}{
		{"done", agent.Exit{}, []string{"work", "done"}, failure.None},
		{"no done line", agent.Exit{}, []string{"work"}, failure.Crashed},
		{"done, but it failed", agent.Exit{Code: 1}, []string{"done"}, failure.Crashed},
		{"done, and then it hung", agent.Exit{Code: -1, Signal: "SIGTERM", StopReason: agent.Lingered}, []string{"done"}, failure.None},
		{"failed with exit code 0", agent.Exit{}, []string{"[API Error: 401]"}, failure.Crashed},
		{"limit", agent.Exit{}, []string{"limit reached until 2026-11-15T12:00:00Z"}, failure.RateLimited},
		{"a limit that was overcome", agent.Exit{}, []string{"limit reached until noon", "done"}, failure.None},
	} {
		if _, v := marked(t, agent.Ask, c.exit, c.lines...); v.Class != c.want {
			t.Errorf("%s: %+v, want %q", c.name, v, c.want)
		}
	}
}

func TestTheGroupResetSaysWhenALimitEnds(t *testing.T) {
	for line, want := range map[string]time.Time{
		"limit reached until 2026-11-15T12:00:00Z":      time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC),
		"limit reached until 1762952400":                time.Unix(1762952400, 0),
		"limit reached until 3pm":                       time.Date(2026, 11, 15, 15, 0, 0, 0, time.UTC),
		"limit reached until 3:30 PM (Europe/Berlin)":   time.Date(2026, 11, 15, 14, 30, 0, 0, time.UTC),
		"limit reached until Nov 18, 10am":              time.Date(2026, 11, 18, 10, 0, 0, 0, time.UTC),
		"limit, resets 9am, reached until further news": time.Date(2026, 11, 15, 9, 0, 0, 0, time.UTC),
		"limit reached until noon":                      {},
	} {
		if _, v := marked(t, agent.Ask, agent.Exit{Code: 1, At: at}, line); v.Class != failure.RateLimited || !v.Reset.Equal(want) {
			t.Errorf("%s: %+v, want %v", line, v, want)
		}
	}
}

func TestACommandThatWaitsIsAnsweredOnStdin(t *testing.T) {
	signals, _ := marked(t, agent.Ask, agent.Exit{}, "question: which?", "going on", "question: and now?")
	if len(signals) != 3 || signals[0].State != agent.Waiting || signals[0].Progress || signals[1].Closed != "1" || signals[2].Ask.ID != "2" {
		t.Fatalf("%q", shown(signals))
	}
	q := signals[0].Ask
	if q.Text != "which?" || string(q.Reply(agent.Answer{Text: "this\none"})) != "this one\n" || string(q.Reply(agent.Answer{Deny: true})) != "no\n" {
		t.Errorf("question %+v", q)
	}
	signals, _ = marked(t, agent.Deny, agent.Exit{}, "question: which?")
	if signals[0].Ask != nil || signals[0].State != agent.Waiting {
		t.Errorf("nobody can answer, and still: %q", shown(signals))
	}
}
