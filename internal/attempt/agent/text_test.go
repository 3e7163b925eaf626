package agent

import (
	"testing"
	"time"

	"gaffer/internal/engine/failure"
)

func TestCleanKeepsReadableText(t *testing.T) {
	for text, want := range map[string]string{
		"plain\ttext\n":                  "plain\ttext\n",
		"\x1b[1;31mred\x1b[0m":           "red",
		"\x1b]0;title\x07after":          "after",
		"\x1b]8;;http://x\x1b\\link\x1b": "link",
		"50%\r100%":                      "50%\n100%",
		"a\x00b\x07c\x7f":                "abc",
		"\xff\xfeok\xc3(":                "��ok�(",
		"ü€\u202e":                       "ü€",
		"\x1b[31":                        "",
		"\x1bM":                          "",
	} {
		if got := clean(text); got != want {
			t.Errorf("clean(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestTextIsCutAtARune(t *testing.T) {
	if got := lastChars("äöü", 2); got != "öü" {
		t.Errorf("last: %q", got)
	}
	if got := firstChars("äöü", 2); got != "äö" {
		t.Errorf("first: %q", got)
	}
	if lastChars("", 3) != "" || lastChars("ab", 0) != "" || firstChars("ab", 3) != "ab" || lastChars("ab", 3) != "ab" {
		t.Error("what is short is left alone")
	}
}

func TestAResetTimeIsReadFromProse(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 11, 15, 5, 13, 40, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"try again at Nov 15th, 2026 12:51 AM.":                      time.Date(2026, 11, 15, 0, 51, 0, 0, time.UTC),
		"purchase more credits or try again at 6:13 AM.":             time.Date(2026, 11, 15, 6, 13, 0, 0, time.UTC),
		"try again at 5:13 AM.":                                      time.Date(2026, 11, 15, 5, 13, 0, 0, time.UTC),
		"try again at 5:12 AM.":                                      time.Date(2026, 11, 16, 5, 12, 0, 0, time.UTC),
		"You've hit your session limit · resets 9am (Europe/Berlin)": time.Date(2026, 11, 15, 9, 0, 0, 0, berlin),
		"resets 2:30pm (Nowhere/AtAll)":                              time.Date(2026, 11, 15, 14, 30, 0, 0, time.UTC),
		"Weekly limit reached · resets Nov 18, 10am (Europe/Berlin)": time.Date(2026, 11, 18, 10, 0, 0, 0, berlin),
		"resets Jan 2 at 12pm":                                       time.Date(2027, 1, 2, 12, 0, 0, 0, time.UTC),
		"Claude AI usage limit reached|1762952400":                   time.Unix(1762952400, 0),
		"limit resets at: 2026-11-15T12:00:00+01:00":                 time.Date(2026, 11, 15, 11, 0, 0, 0, time.UTC),
		"try again later":                                            {},
		"try again at 26:99 PM":                                      {},
		"resets Foo 99, 3pm":                                         {},
		"order 1762952400000":                                        {},
	} {
		if got := resetTime(text, now); !got.Equal(want) {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
	if got := resetTime("try again at 6:13 AM.", time.Time{}); !got.IsZero() {
		t.Errorf("a time of day on no day: %v", got)
	}
}

func TestErrorsAreClassifiedByStatusAndByWords(t *testing.T) {
	for _, c := range []struct {
		status int
		text   string
		want   failure.Class
	}{
		{429, "", failure.RateLimited},
		{401, "anything", failure.Auth},
		{403, "", failure.Auth},
		{500, "", failure.APIError},
		{400, "Prompt is too long", failure.ContextOverflow},
		{400, "bad", failure.APIError},
		{0, "exceeded retry limit, last status: 429 Too Many Requests", failure.RateLimited},
		{0, "unexpected status 401 Unauthorized: invalid x-api-key", failure.Auth},
		{0, `[API Error: {"error":{"code":429,"message":"x"}}]`, failure.RateLimited},
		{0, "We're currently experiencing high demand, which may cause temporary errors.", failure.APIError},
		{0, "Your input exceeds the context window of this model.", failure.ContextOverflow},
		{0, "You've hit your usage limit.", failure.RateLimited},
		{0, "Missing environment variable: `KEY`", failure.Auth},
		{0, "error_max_turns", failure.Crashed},
		{0, "", failure.Crashed},
	} {
		if got := classify(c.status, c.text); got != c.want {
			t.Errorf("classify(%d, %q) = %q, want %q", c.status, c.text, got, c.want)
		}
	}
}

func TestVerdicts(t *testing.T) {
	success, crashed, limited := &finalMessage{text: "ok"}, &finalMessage{class: failure.Crashed, text: "bad"}, &finalMessage{class: failure.RateLimited, text: "slow down"}
	denied := denial{requests: []string{"Bash: make"}}
	obeyed := denial{requests: denied.requests, continued: true}
	for _, c := range []struct {
		name   string
		said   *finalMessage
		denied denial
		exit   Exit
		want   failure.Class
	}{
		{"it said success", success, denial{}, Exit{}, failure.None},
		{"it said success and exited badly", success, denial{}, Exit{Code: 1}, failure.None},
		{"it said success and was ended because it lingered", success, denial{}, Exit{Code: -1, Signal: "SIGKILL", StopReason: Lingered}, failure.None},
		{"it said success after it was told to stop", success, denial{}, Exit{StopReason: "timeout"}, failure.TimedOut},
		{"it said success and something was denied", success, denied, Exit{}, failure.Denied},
		{"it failed and something was denied", crashed, denied, Exit{Code: 1}, failure.Denied},
		{"it went on without what was denied and said success", success, obeyed, Exit{}, failure.None},
		{"it went on without what was denied and failed", crashed, obeyed, Exit{Code: 1}, failure.Crashed},
		{"it went on without what was denied and said nothing", nil, obeyed, Exit{}, failure.Crashed},
		{"it met a limit and something was denied", limited, denied, Exit{Code: 1}, failure.RateLimited},
		{"nothing was said and something was denied", nil, denied, Exit{}, failure.Denied},
		{"it failed", crashed, denial{}, Exit{}, failure.Crashed},
		{"it said nothing", nil, denial{}, Exit{}, failure.Crashed},
		{"it said nothing and died", nil, denial{}, Exit{Code: -1, Signal: "SIGKILL"}, failure.Crashed},
		{"it lingered and had said nothing", nil, denial{}, Exit{StopReason: Lingered}, failure.Crashed},
		{"it was cancelled and something was denied", nil, denied, Exit{StopReason: "cancelled"}, failure.Cancelled},
		{"it stalled", nil, denial{}, Exit{Code: -1, Signal: "SIGTERM", StopReason: "stalled"}, failure.Stalled},
		{"it was over its budget", nil, denial{}, Exit{StopReason: "budget"}, failure.OverBudget},
		{"it was told why nobody knows", nil, denial{}, Exit{StopReason: "shutdown"}, failure.Cancelled},
	} {
		if got := judge(c.said, c.denied, "", c.exit); got.Class != c.want {
			t.Errorf("%s: %+v, want %q", c.name, got, c.want)
		}
	}
}
