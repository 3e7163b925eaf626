package fleet

import (
	"testing"
	"time"
)

func TestATypedNumberChoosesAnOptionOrIsRefused(t *testing.T) {
	for _, c := range []struct {
		typed   string
		options []string
		want    string
		refused bool
	}{
		{"2", []string{"80", "8080"}, "8080", false},
		{"7", []string{"80", "8080"}, "", true},
		{"0", []string{"80", "8080"}, "", true},
		{"-1", []string{"80", "8080"}, "", true},
		{"80", []string{"80", "8080"}, "80", false}, // a number that is the text of an option
		{"neither", []string{"80", "8080"}, "neither", false},
		{"7", nil, "7", false},
		{`"7"`, []string{"80", "8080"}, "7", false}, // a number in quotes is a text
		{`"yes"`, []string{"80", "8080"}, `"yes"`, false},
	} {
		got, err := Question{Options: c.options}.Choose(c.typed)
		if got != c.want || (err != nil) != c.refused {
			t.Errorf("%q of %q is %q, %v; want %q", c.typed, c.options, got, err, c.want)
		}
	}
}

func TestAQuestionIsNamedByItsTaskOrItsAsker(t *testing.T) {
	for _, c := range []struct{ run, task, want string }{
		{"20260301-115800-4cebc8bf", "api", "4cebc8bf/api"},
		{"", "20260301-115800-4cebc8bf/api", "4cebc8bf/api"}, // the agent of a task asked through a tool
		{"20260301-115800-4cebc8bf", "api/v2", "4cebc8bf/api/v2"},
		{"", "claude-4711", "claude-4711"},
		{"my-own-run", "api", "my-own-run/api"}, // an id that gaffer did not create
		{"0018c9a1f2b3c4d5e6f70", "api", "0018c9a1f2b3c4d5e6f70/api"},
	} {
		if got := QuestionName(c.run, c.task); got != c.want {
			t.Errorf("%q, %q: %q, want %q", c.run, c.task, got, c.want)
		}
	}
}

func TestACandidateCostsWhatAllItsAttemptsCost(t *testing.T) {
	t.Parallel()
	ended := time.Date(2026, 2, 1, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		task Task
		want Cost
	}{
		"the last has ended":     {Task{Spent: Cost{USD: 3, Tokens: 30}, Attempt: &Attempt{Ended: ended, Spent: Cost{USD: 1, Tokens: 10}}}, Cost{USD: 3, Tokens: 30}},
		"the last is running":    {Task{Spent: Cost{USD: 3, Tokens: 30}, Attempt: &Attempt{Spent: Cost{USD: 1, Tokens: 10}}}, Cost{USD: 4, Tokens: 40}},
		"a task without the sum": {Task{Attempt: &Attempt{Ended: ended, Spent: Cost{USD: 1}}}, Cost{USD: 1}},
		"it has not started yet": {Task{}, Cost{}},
	} {
		if got := CandidateOf(c.task).Spent; got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}
