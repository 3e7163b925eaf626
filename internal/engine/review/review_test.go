package review

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"gaffer/fleet"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// steps holds the actions on a review by the names that the test tables use.
var steps = map[string]func(r *fleet.Review) error{
	"comment": func(r *fleet.Review) error {
		_, err := AddComment(r, fleet.Comment{Path: "a.go", First: 3, Lines: "x := 1\n", Text: "why?"}, "sam", now)
		return err
	},
	"edit":    func(r *fleet.Review) error { return EditComment(r, "c1", "why one?", now) },
	"delete":  func(r *fleet.Review) error { return DeleteComment(r, "c1") },
	"resolve": func(r *fleet.Review) error { return Resolve(r, "c1", true) },
	"view":    func(r *fleet.Review) error { return View(r, "a.go", "d1") },
	"approve": func(r *fleet.Review) error { return Approve(r, "aa1") },
	"reopen":  Reopen,
	"send back": func(r *fleet.Review) error {
		_, err := SendBack(r, "aa2")
		return err
	},
	"answer": func(r *fleet.Review) error {
		RecordAnswers(r, []int{r.Round}, Answers("c1: fixed"), "a1", now)
		EndRound(r)
		return nil
	},
	"take back": func(r *fleet.Review) error { ReturnToDrafts(r, r.Round); return nil },
	"continue":  func(r *fleet.Review) error { VoidApproval(r); return nil },
	"merge":     func(r *fleet.Review) error { return Merge(r, fleet.Landing{Into: "main"}) },
	"discard":   func(r *fleet.Review) error { return Discard(r, "refs/rescue") },
	"undo":      Undo,
}

func TestAReviewGoesFromStateToState(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		done    string // names of steps that must succeed, separated by commas
		then    string // name of the step that is tested after them
		want    fleet.ReviewState
		refused bool
	}{
		{"", "comment", fleet.ReviewCommented, false},
		{"comment", "delete", fleet.ReviewOpen, false},
		{"comment,comment", "delete", fleet.ReviewCommented, false},
		{"", "send back", fleet.ReviewOpen, true}, // refused: the review has no comments to send
		{"comment", "send back", fleet.ReviewSentBack, false},
		{"comment,send back", "edit", fleet.ReviewSentBack, true},
		{"comment,send back", "delete", fleet.ReviewSentBack, true},
		{"comment,send back", "resolve", fleet.ReviewSentBack, false},
		{"comment,send back", "comment", fleet.ReviewSentBack, false}, // allowed: the comment waits for the next round
		{"comment,send back", "approve", fleet.ReviewSentBack, true},
		{"comment,send back", "merge", fleet.ReviewSentBack, true},
		{"comment,send back", "answer", fleet.ReviewOpen, false},
		{"comment,send back,comment", "answer", fleet.ReviewCommented, false},
		{"comment,send back", "take back", fleet.ReviewCommented, false},
		{"comment,send back,take back", "edit", fleet.ReviewCommented, false},
		{"comment", "approve", fleet.ReviewCommented, true}, // refused: an approval would leave a comment that is never sent
		{"comment,send back,answer", "approve", fleet.ReviewApproved, false},
		{"approve", "comment", fleet.ReviewCommented, false},
		{"approve", "reopen", fleet.ReviewOpen, false},
		{"", "reopen", fleet.ReviewOpen, true},
		{"approve", "continue", fleet.ReviewOpen, false},
		{"approve,merge", "continue", fleet.ReviewOpen, false},
		{"approve,merge,continue", "undo", fleet.ReviewOpen, false},
		{"comment,send back", "continue", fleet.ReviewSentBack, false},
		{"", "merge", fleet.ReviewMerged, false},
		{"approve", "merge", fleet.ReviewMerged, false},
		{"merge", "merge", fleet.ReviewMerged, true},
		{"merge", "discard", fleet.ReviewMerged, true},
		{"merge", "comment", fleet.ReviewMerged, true},
		{"merge", "undo", fleet.ReviewApproved, false},
		{"comment,send back", "discard", fleet.ReviewDiscarded, false},
		{"comment,discard", "undo", fleet.ReviewCommented, false},
		{"discard", "comment", fleet.ReviewDiscarded, true},
		{"discard", "send back", fleet.ReviewDiscarded, true},
		{"", "undo", fleet.ReviewOpen, true},
		{"merge", "view", fleet.ReviewMerged, false},
	} {
		r := fleet.Review{State: fleet.ReviewOpen}
		for _, step := range strings.FieldsFunc(c.done, func(r rune) bool { return r == ',' }) {
			if err := steps[step](&r); err != nil {
				t.Fatalf("%s, at %s: %v", c.done, step, err)
			}
		}
		err := steps[c.then](&r)
		if r.State != c.want || (err != nil) != c.refused {
			t.Errorf("%q, then %s: %s, %v; want %s", c.done, c.then, r.State, err, c.want)
		}
		if refused := (*RefusedError)(nil); c.refused && !errors.As(err, &refused) {
			t.Errorf("%q, then %s: %v is no refusal", c.done, c.then, err)
		}
	}
}

func TestAChangeOfAReviewLeavesTheEarlierValueAlone(t *testing.T) {
	t.Parallel()
	first := fleet.Review{State: fleet.ReviewOpen, Viewed: map[string]string{"b.go": "d0"}}
	if err := errors.Join(steps["comment"](&first), steps["comment"](&first)); err != nil {
		t.Fatal(err)
	}
	kept := fleet.Review{Comments: slices.Clone(first.Comments), Viewed: maps.Clone(first.Viewed)}
	for _, step := range []string{"edit", "resolve", "view", "delete", "send back", "answer", "take back"} {
		later := first
		if err := steps[step](&later); err != nil {
			t.Fatal(step, err)
		}
		if !slices.Equal(first.Comments, kept.Comments) || !maps.Equal(first.Viewed, kept.Viewed) {
			t.Fatalf("%s has changed the comments or viewed files of the earlier value", step)
		}
	}
}

func TestOnlyValidCommentsAreAdded(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]fleet.Comment{
		"no text":              {Text: " \n"},
		"too long":             {Text: strings.Repeat("x", MaxText+1)},
		"not text":             {Text: "a\x00b"},
		"not UTF-8":            {Text: "ok", Path: "\xff"},
		"line without a file":  {Text: "ok", First: 1},
		"no first line":        {Text: "ok", Path: "a", Last: 2},
		"negative line":        {Text: "ok", Path: "a", First: -1},
		"no tree":              {Text: "ok", Tree: "main"},
		"unknown side":         {Text: "ok", Path: "a", First: 1, Side: "left"},
		"too many bytes lines": {Text: "ok", Path: "a", First: 1, Lines: strings.Repeat("x", MaxLines+1)},
	} {
		r := fleet.Review{State: fleet.ReviewOpen}
		_, err := AddComment(&r, c, "sam", now)
		if invalid := (*InvalidError)(nil); !errors.As(err, &invalid) || len(r.Comments) > 0 {
			t.Errorf("%s: %v, %d comments", name, err, len(r.Comments))
		}
	}
	r := fleet.Review{State: fleet.ReviewOpen}
	c, err := AddComment(&r, fleet.Comment{ID: "x", Path: "a", First: 7, Text: "ok", Round: 3, Resolved: true}, "sam", now)
	if want := (fleet.Comment{ID: "c1", Path: "a", Side: fleet.NewSide, First: 7, Last: 7, Text: "ok", By: "sam", At: now}); err != nil || c != want {
		t.Errorf("added %+v, %v; want %+v", c, err, want)
	}
	if err := EditComment(&r, "c9", "x", now); err == nil {
		t.Error("a comment that does not exist was edited")
	}
}

func TestSendingBackTellsTheAgentWhereEachCommentIs(t *testing.T) {
	t.Parallel()
	r := fleet.Review{State: fleet.ReviewOpen, Seen: "old"}
	for _, c := range []fleet.Comment{
		{Path: "a.go", First: 3, Last: 4, Lines: "x := 1\n\n", Text: "Use a constant."},
		{Path: "b.go", First: 9, Side: fleet.OldSide, Lines: "keep()", Text: "Keep this."},
		{Path: "c.go", Text: "Add a test."},
		{Text: "Smaller, please."},
	} {
		if _, err := AddComment(&r, c, "sam", now); err != nil {
			t.Fatal(err)
		}
	}
	text, err := SendBack(&r, "abc")
	if err != nil {
		t.Fatal(err)
	}
	want := `The user has reviewed your change and has 4 comments. Line numbers are those of the files as you left them.

[c1] a.go:3-4
> x := 1
>
Use a constant.

[c2] b.go:9 (removed by your change; numbers are those before it)
> keep()
Keep this.

[c3] c.go
Add a test.

[c4] the whole change
Smaller, please.

Work on every comment. Then end your last message with one line for each of them (c1, c2, c3, c4), in one of these forms:
c1: fixed
c1: not fixed: the reason
`
	if text != want {
		t.Errorf("the text is:\n%s\nwant:\n%s", text, want)
	}
	if r.Round != 1 || r.Seen != "abc" || Drafts(r) != 0 {
		t.Errorf("after it: %+v", r)
	}
	if len(Answers(text)) == 0 { // the parser must understand answers in the format that the prompt asks for
		t.Error("the form of the answers cannot be read")
	}
}

func TestManyQuotedLinesAreShortened(t *testing.T) {
	t.Parallel()
	text := Prompt([]fleet.Comment{{ID: "c1", Path: "a", First: 1, Last: 100, Lines: strings.Repeat("line\n", 100), Text: "long"}})
	if n := strings.Count(text, "> line"); n != maxQuoted || !strings.Contains(text, "> (60 more lines)\n") {
		t.Errorf("%d lines are quoted in:\n%s", n, text)
	}
}

func TestAnswersAreReadInTheFormsThatAgentsUse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		line  string
		fixed bool
		text  string
	}{
		{"c1: fixed", true, ""},
		{"c1: Fixed.", true, ""},
		{"- **c1**: fixed – it is a constant now", true, "it is a constant now"},
		{"* `c1`: not fixed: the test needs it", false, "the test needs it"},
		{"[c1] fixed", true, ""},
		{"**[c1]:** Fixed, see a.go", true, "see a.go"},
		{"1. c1: done", true, ""},
		{"C1 - Won't fix: other code uses it", false, "other code uses it"},
		{"| c1 | not fixed | too risky |", false, "too risky"},
		{"c1: ✅ fixed", true, ""},
		{"c1 → addressed (a.go:3)", true, "(a.go:3)"},
		{"Comment c1: not changed because it is right", false, "because it is right"},
		{"c1: has been resolved", true, ""},
		{"> c1: fixed\r", true, ""},
	} {
		got, ok := Answers("I did it all.\n\n" + c.line + "\n")["c1"]
		if !ok || got != (Answer{c.fixed, c.text}) {
			t.Errorf("%q: %+v, %v; want %v, %q", c.line, got, ok, c.fixed, c.text)
		}
	}
	for _, line := range []string{
		"c1 was hard to do", "I fixed c1", "c1:", "abc1: fixed", "see c1: fixed it", "c1: fixture added", "c1: unclear", "c1x: fixed",
	} {
		if got := Answers(line); len(got) > 0 {
			t.Errorf("%q: %+v, want no answer", line, got)
		}
	}
	got := Answers("c1: not fixed: later\nc2: fixed\nc1: fixed")
	if len(got) != 2 || !got["c1"].Fixed || !got["c2"].Fixed {
		t.Errorf("the last answer does not count: %+v", got)
	}
}

func TestAnAnswerIsKeptWithItsComment(t *testing.T) {
	t.Parallel()
	r := fleet.Review{State: fleet.ReviewOpen}
	for _, step := range []string{"comment", "send back", "comment", "comment"} {
		if err := steps[step](&r); err != nil {
			t.Fatal(err)
		}
	}
	if !RecordAnswers(&r, []int{1}, Answers("c1: not fixed: why\nc2: fixed\nc7: fixed"), "a7", now) {
		t.Error("there was no answer")
	}
	want := fleet.CommentAnswer{Text: "why", Attempt: "a7", At: now}
	if a := r.Comments[0].Answer; a == nil || *a != want {
		t.Errorf("c1 has the answer %+v, want %+v", a, want)
	}
	if r.Comments[1].Answer != nil {
		t.Error("a comment that was not sent has an answer")
	}
	if RecordAnswers(&r, []int{1}, Answers("c2: fixed"), "a8", now) {
		t.Error("a draft was answered")
	}
}

// A client that did not get an answer repeats its request with the same key. By then the comment
// may already have been sent to the agent, or the change may have been merged.
func TestAKeyMakesARepeatedCommentHarmless(t *testing.T) {
	t.Parallel()
	r := fleet.Review{State: fleet.ReviewOpen}
	comment := fleet.Comment{Key: "k", Path: "a.go", First: 3, Text: "why? "}
	first, err := AddComment(&r, comment, "sam", now)
	if err != nil || first.ID != "c1" {
		t.Fatalf("%+v, %v", first, err)
	}
	for _, step := range []string{"", "send back", "answer", "merge"} {
		if step != "" {
			if err := steps[step](&r); err != nil {
				t.Fatal(err)
			}
		}
		again, err := AddComment(&r, comment, "sam", now.Add(time.Minute))
		if err != nil || again.ID != "c1" || !again.At.Equal(now) || len(r.Comments) != 1 {
			t.Errorf("after %q: %+v, %v, %d comments", step, again, err, len(r.Comments))
		}
	}
	other := comment
	other.First = 4
	var refused *RefusedError
	if _, err := AddComment(&r, other, "sam", now); !errors.As(err, &refused) || !strings.Contains(err.Error(), "use a new key") {
		t.Errorf("another line with the same key: %v", err)
	}
	var invalid *InvalidError
	if _, err := AddComment(&fleet.Review{}, fleet.Comment{Key: strings.Repeat("k", MaxKey+1), Text: "x"}, "sam", now); !errors.As(err, &invalid) {
		t.Errorf("a long key: %v", err)
	}
}

func TestActionsAreTheRulesByName(t *testing.T) {
	t.Parallel()
	no := false
	r := fleet.Review{State: fleet.ReviewOpen}
	for _, c := range []struct {
		action fleet.ReviewAction
		want   func() bool
	}{
		{fleet.ReviewAction{Action: "comment", Comment: fleet.Comment{Text: "one"}}, func() bool { return r.Comments[0].Text == "one" && r.Comments[0].By == "sam" }},
		{fleet.ReviewAction{Action: "edit", ID: "c1", Comment: fleet.Comment{Text: "two"}}, func() bool { return r.Comments[0].Text == "two" }},
		{fleet.ReviewAction{Action: "resolve", ID: "c1"}, func() bool { return r.Comments[0].Resolved }},
		{fleet.ReviewAction{Action: "resolve", ID: "c1", Resolved: &no}, func() bool { return !r.Comments[0].Resolved }},
		{fleet.ReviewAction{Action: "resolve", Comment: fleet.Comment{ID: "c1", Resolved: true}}, func() bool { return r.Comments[0].Resolved }},
		{fleet.ReviewAction{Action: "delete", Comment: fleet.Comment{ID: "c1"}}, func() bool { return len(r.Comments) == 0 }},
		{fleet.ReviewAction{Action: "view", Path: "a", Digest: "d"}, func() bool { return r.Viewed["a"] == "d" }},
		{fleet.ReviewAction{Action: "view", Path: "a"}, func() bool { return len(r.Viewed) == 0 }},
		{fleet.ReviewAction{Action: "approve", Tree: "abc"}, func() bool { return r.State == fleet.ReviewApproved && r.Seen == "abc" }},
		{fleet.ReviewAction{Action: "reopen"}, func() bool { return r.State == fleet.ReviewOpen }},
	} {
		if err := Apply(&r, c.action, "sam", now); err != nil || !c.want() {
			t.Fatalf("%+v: %v, %+v", c.action, err, r)
		}
	}
	for _, bad := range []fleet.ReviewAction{{}, {Action: "merge"}, {Action: "approve", Tree: "HEAD"}, {Action: "view"}} {
		var invalid *InvalidError
		if err := Apply(&r, bad, "sam", now); !errors.As(err, &invalid) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}
