package agent

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"gaffer/internal/engine/failure"
)

// word is the last word of a program: what it says came of the work.
type word struct {
	class failure.Class
	text  string
	reset time.Time
	until string // of a rate limit: the part of text that says when it ends, if that is known
}

// denial is what was refused to an agent, and whether that is why it stopped.
type denial struct {
	what []string
	// wentOn says that the agent used another tool after the last refusal: it took
	// the refusal as guidance. An agent that did nothing more has stopped because
	// of it, for all that can be told from outside.
	wentOn bool
}

// mostDenied is how many refusals are listed.
const mostDenied = 50

func (d *denial) add(what string) {
	if len(d.what) < mostDenied {
		d.what = append(d.what, what)
	}
	d.wentOn = false
}

// used says that the agent has used a tool.
func (d *denial) used() { d.wentOn = len(d.what) > 0 }

// judge says how an attempt ended.
//
// A program that was told to stop did not end by itself, so that whatever it
// says after that, success even, is not what came of the work. One that is gone
// without a word has died, whatever its exit code.
//
// A refusal alone is no failure. It is one if the agent stopped because of it.
func judge(said *word, refused denial, rest string, exit Exit) Verdict {
	if exit.Told != "" && exit.Told != Lingered {
		return told(said, rest, exit)
	}
	done := said != nil && said.class == failure.None
	if len(refused.what) > 0 && !refused.wentOn && (done || said == nil || said.class == failure.Crashed) {
		v := Verdict{Class: failure.Denied, Summary: refusal(said, refused.what), Denied: refused.what, Done: done}
		if done {
			v.Answer = answer(said.text)
		}
		return v
	}
	if said == nil {
		return Verdict{Class: failure.Crashed, Summary: join(death(exit), rest), Denied: refused.what}
	}
	v := Verdict{Class: said.class, Summary: summary(said.text), Denied: refused.what, Done: done}
	if done {
		v.Answer = answer(said.text)
		v.Summary = v.mention(said.text)
	}
	if said.class == failure.RateLimited {
		v.Reset = said.resets(exit.At)
	}
	return v
}

// Proven is the verdict on work that the agent says is done, when the task's checks
// have shown that it is: what was refused was not needed.
func (v Verdict) Proven() Verdict {
	v.Class, v.Summary = failure.None, v.mention(v.Answer)
	return v
}

// mention is a summary of text that says what was refused.
func (v Verdict) mention(text string) string {
	note := v.Refusals()
	if note == "" {
		return summary(text)
	}
	text = strings.TrimSpace(last(summary(text), max(0, summaryLength-utf8.RuneCountInString(note)-3)))
	if text == "" {
		return note
	}
	return text + " (" + note + ")"
}

// Refusals says what was refused, such as "denied: Bash: make install", or "".
func (v Verdict) Refusals() string {
	if len(v.Denied) == 0 {
		return ""
	}
	return first(clean("denied: "+strings.Join(v.Denied, "; ")), summaryLength/2)
}

// resets is when a rate limit ends, if the program has said it somehow.
func (w *word) resets(now time.Time) time.Time {
	if !w.reset.IsZero() {
		return w.reset
	}
	if at := resetTime("resets at "+w.until, now); !at.IsZero() {
		return at
	}
	return resetTime(w.text, now)
}

// told: the reason is a failure class, and one that nobody knows is a
// cancellation.
func told(said *word, rest string, exit Exit) Verdict {
	v := Verdict{Class: failure.Cancelled, Summary: rest}
	known := []failure.Class{failure.Stalled, failure.TimedOut, failure.Lost, failure.OverBudget, failure.Released}
	if class := failure.Class(exit.Told); slices.Contains(known, class) {
		v.Class = class
	}
	if said != nil && said.text != "" {
		v.Summary = summary(said.text)
	}
	return v
}

func refusal(said *word, denied []string) string {
	text := "denied: " + strings.Join(denied, "; ")
	if said != nil && said.class == failure.None {
		text = join(text, said.text)
	}
	return first(clean(text), summaryLength)
}

// death says how a program went that said nothing about it.
func death(exit Exit) string {
	if exit.Signal != "" {
		return fmt.Sprintf("died of %s without a last word", exit.Signal)
	}
	return fmt.Sprintf("died without a last word, exit code %d", exit.Code)
}

// join keeps the end of the detail, so that both fit into a summary.
func join(what, detail string) string {
	if detail = strings.TrimSpace(detail); detail == "" {
		return what
	}
	return what + ": " + end(detail, max(0, summaryLength-len(what)-2))
}
