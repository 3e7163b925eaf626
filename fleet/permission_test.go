package fleet

import (
	"errors"
	"testing"
	"time"
)

func permission() Question {
	return Question{
		ID: "q", Run: "20260301-115800-4cebc8bf", Task: "api", Options: []string{"allow", "deny"},
		Tool: "Bash", Suggestions: []string{"Bash(go test ./...)", "Bash(go test:*)"},
	}
}

func TestTheChoicesOfAPermissionAreItsOptionsAndThenTheAnswersThatLast(t *testing.T) {
	q := permission()
	for typed, want := range map[string]Reply{
		"1":     {Text: "allow"},
		"2":     {Text: "deny"},
		"3":     {Text: "allow", Scope: GrantTask, Rule: "Bash(go test ./...)"},
		"4":     {Text: "allow", Scope: GrantRun, Rule: "Bash(go test ./...)"},
		"5":     {Text: "allow", Scope: GrantAlways, Rule: "Bash(go test ./...)"},
		"8":     {Text: "allow", Scope: GrantAlways, Rule: "Bash(go test:*)"},
		"maybe": {Text: "maybe"},
		`"5"`:   {Text: "5"},
	} {
		if got, err := q.Reply(typed); err != nil || got != want {
			t.Errorf("%s: %+v, %v; want %+v", typed, got, err, want)
		}
	}
	var none *NoOptionError
	if _, err := q.Reply("9"); !errors.As(err, &none) || none.Options != 8 {
		t.Errorf("9: %v", err)
	}
	if texts := q.Choices(); len(texts) != 8 || texts[6].Text != "allow for this run: Bash(go test:*)" {
		t.Errorf("%v", texts)
	}
}

func TestOnlyARequestForPermissionWithAKnownRuleHasLastingAnswers(t *testing.T) {
	plain, unknown, byHand := permission(), permission(), permission()
	plain.Tool, unknown.Suggestions, byHand.Run = "", nil, ""
	if len(plain.Choices()) != 2 || len(unknown.Choices()) != 2 || len(byHand.Choices()) != 2 {
		t.Errorf("%v, %v, %v", plain.Choices(), unknown.Choices(), byHand.Choices())
	}
	if _, err := plain.Reply("3"); err == nil {
		t.Error("a third option of two was chosen")
	}
	if (Reply{Scope: GrantOnce}).Lasting() || (Reply{}).Lasting() || !(Reply{Scope: GrantRun}).Lasting() {
		t.Error("an answer for once must not be a lasting one")
	}
}

func TestTheOutcomeOfAQuestionNamesWhoAnsweredIt(t *testing.T) {
	at := time.Date(2026, 2, 6, 12, 0, 0, 0, time.UTC)
	for want, q := range map[string]QuestionRecord{
		"":                                {Question: permission()},
		"allowed by rule Bash(go test:*)": {permission(), Answered{Answer: "allow", By: "rule Bash(go test:*)"}, at},
		"denied by policy rules":          {permission(), Answered{Answer: "no rule", Denied: true, By: "policy rules"}, at},
		"denied by ada":                   {permission(), Answered{Answer: "deny", By: "ada"}, at},
		"answered: 8080 by ada":           {Question{Text: "Which port?"}, Answered{Answer: "8080", By: "ada"}, at},
	} {
		if got := q.Outcome(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
