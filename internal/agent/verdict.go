package agent

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"gaffer/internal/failure"
)

// word is the last word of a program: what it says came of the work.
type word struct {
	class failure.Class
	text  string
	reset time.Time
	until string // of a rate limit: the part of text that says when it ends, if that is known
}

// judge says how an attempt ended.
//
// A program that was told to stop did not end by itself, so that whatever it
// says after that, success even, is not what came of the work. One that is gone
// without a word has died, whatever its exit code.
func judge(said *word, denied []string, rest string, exit Exit) Verdict {
	if exit.Told != "" && exit.Told != Lingered {
		return told(said, rest, exit)
	}
	if len(denied) > 0 && (said == nil || said.class == failure.None || said.class == failure.Crashed) {
		return Verdict{Class: failure.Denied, Summary: refusal(said, denied), Denied: denied}
	}
	if said == nil {
		return Verdict{Class: failure.Crashed, Summary: join(death(exit), rest)}
	}
	v := Verdict{Class: said.class, Summary: summary(said.text)}
	if said.class == failure.None {
		v.Answer = answer(said.text)
	}
	if said.class == failure.RateLimited {
		v.Reset = said.resets(exit.At)
	}
	return v
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
