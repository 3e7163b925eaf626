package agent

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"gaffer/internal/engine/failure"
)

// word is the final message of a program, with the result of the work.
type word struct {
	class failure.Class
	text  string
	reset time.Time
	until string // for a rate limit: the part of text that says when it ends, if known
}

// denial records what was denied to an agent, and whether that made it stop.
type denial struct {
	what []string
	// wentOn is true if the agent used another tool after the last denial, so that it
	// took the denial as guidance. If the agent did nothing more, gaffer assumes that
	// it stopped because of the denial.
	wentOn bool
}

// mostDenied is the largest number of denials that are listed.
const mostDenied = 50

func (d *denial) add(what string) {
	if len(d.what) < mostDenied {
		d.what = append(d.what, what)
	}
	d.wentOn = false
}

// used records that the agent has used a tool.
func (d *denial) used() { d.wentOn = len(d.what) > 0 }

// judge decides how an attempt ended.
//
// A program that was told to stop did not end by itself. So its later output does not
// count, even if it reports success. A program that ended without a final message has
// crashed, whatever its exit code.
//
// A denial alone is not a failure. It is one if the agent stopped because of it.
func judge(said *word, refused denial, rest string, exit Exit) Verdict {
	if exit.StopReason != "" && exit.StopReason != Lingered {
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

// Proven returns the verdict after the task's checks have confirmed that the work is
// done: the denied requests were not needed.
func (v Verdict) Proven() Verdict {
	v.Class, v.Summary = failure.None, v.mention(v.Answer)
	return v
}

// mention returns a summary of text, with a note about denied requests.
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

// Refusals lists the denied requests, such as "denied: Bash: make install", or returns
// "".
func (v Verdict) Refusals() string {
	if len(v.Denied) == 0 {
		return ""
	}
	return first(clean("denied: "+strings.Join(v.Denied, "; ")), summaryLength/2)
}

// resets returns when a rate limit ends, if the program's output says so.
func (w *word) resets(now time.Time) time.Time {
	if !w.reset.IsZero() {
		return w.reset
	}
	if at := resetTime("resets at "+w.until, now); !at.IsZero() {
		return at
	}
	return resetTime(w.text, now)
}

// told returns the verdict on a program that gaffer told to stop. The reason is a
// failure class. An unknown reason counts as a cancellation.
func told(said *word, rest string, exit Exit) Verdict {
	v := Verdict{Class: failure.Cancelled, Summary: rest}
	known := []failure.Class{failure.Stalled, failure.TimedOut, failure.Lost, failure.OverBudget, failure.Released, failure.Interrupted}
	if class := failure.Class(exit.StopReason); slices.Contains(known, class) {
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

// death describes the end of a program that printed no final message.
func death(exit Exit) string {
	if exit.Signal != "" {
		return fmt.Sprintf("died of %s without a last word", exit.Signal)
	}
	return fmt.Sprintf("died without a last word, exit code %d", exit.Code)
}

// join appends the detail to what, and cuts its beginning so that both fit into a
// summary.
func join(what, detail string) string {
	if detail = strings.TrimSpace(detail); detail == "" {
		return what
	}
	return what + ": " + end(detail, max(0, summaryLength-len(what)-2))
}
