package agent

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"gaffer/internal/engine/failure"
)

// finalMessage is the final message of an agent program. The fields class and text say how the work
// ended.
type finalMessage struct {
	class     failure.Class
	text      string
	reset     time.Time
	resetText string // the end of the rate limit as the program prints it, or empty
}

// denial records the agent's requests for permission that were denied, and whether the agent
// continued after the last denial.
type denial struct {
	requests []string
	// continued says that the agent used another tool after the last denial. If false, gaffer
	// assumes that the agent stopped because of the denial.
	continued bool
}

// maxDenied is the maximum number of denied requests that are recorded.
const maxDenied = 50

func (d *denial) add(what string) {
	if len(d.requests) < maxDenied {
		d.requests = append(d.requests, what)
	}
	d.continued = false
}

// usedTool records that the agent used a tool. So the agent has continued after any earlier denial.
func (d *denial) usedTool() { d.continued = len(d.requests) > 0 }

// judge decides how an attempt ended.
//
// If gaffer stopped the program, the reason for that decides, even if the final message reports
// success. The exception is the reason [Lingered]: the program had printed its final message, but
// did not exit.
//
// The denial of a request for permission is a failure only if the agent stopped because of it. If
// the program ended without a final message, and not because of a denial, judge considers it
// crashed, whatever its exit code is.
func judge(final *finalMessage, denied denial, otherOutput string, exit Exit) Verdict {
	if exit.StopReason != "" && exit.StopReason != Lingered {
		return stoppedVerdict(final, otherOutput, exit)
	}
	done := final != nil && final.class == failure.None
	if len(denied.requests) > 0 && !denied.continued && (done || final == nil || final.class == failure.Crashed) {
		v := Verdict{Class: failure.Denied, Summary: denialSummary(final, denied.requests), Denied: denied.requests, Done: done}
		if done {
			v.Answer = endOfAnswer(final.text)
		}
		return v
	}
	if final == nil {
		return Verdict{Class: failure.Crashed, Summary: appendDetail(describeCrash(exit), otherOutput), Denied: denied.requests}
	}
	v := Verdict{Class: final.class, Summary: summary(final.text), Denied: denied.requests, Done: done}
	if done {
		v.Answer = endOfAnswer(final.text)
		v.Summary = v.summaryWithDenials(final.text)
	}
	if final.class == failure.RateLimited {
		v.Reset = final.resetTime(exit.At)
	}
	return v
}

// Proven returns v changed to a success. The caller uses it if the attempt's work has passed the
// task's checks. Then the work is done, even if some of the agent's requests for permission were
// denied.
func (v Verdict) Proven() Verdict {
	v.Class, v.Summary = failure.None, v.summaryWithDenials(v.Answer)
	return v
}

// summaryWithDenials returns a summary of text. If some of the agent's requests for permission were
// denied, the summary ends with a list of them.
func (v Verdict) summaryWithDenials(text string) string {
	note := v.DeniedText()
	if note == "" {
		return summary(text)
	}
	text = strings.TrimSpace(lastChars(summary(text), max(0, summaryLength-utf8.RuneCountInString(note)-3)))
	if text == "" {
		return note
	}
	return text + " (" + note + ")"
}

// DeniedText lists the agent's requests for permission that were denied, such as "denied: Bash:
// make install". It returns "" if no request was denied.
func (v Verdict) DeniedText() string {
	if len(v.Denied) == 0 {
		return ""
	}
	return firstChars(clean("denied: "+strings.Join(v.Denied, "; ")), summaryLength/2)
}

// resetTime returns when a rate limit ends, or the zero time if the program's output does not say
// so. The parameter now is the time when the program ended.
func (w *finalMessage) resetTime(now time.Time) time.Time {
	if !w.reset.IsZero() {
		return w.reset
	}
	if at := resetTime("resets at "+w.resetText, now); !at.IsZero() {
		return at
	}
	return resetTime(w.text, now)
}

// stoppedVerdict returns the verdict on a program that gaffer has stopped. Its class is the reason
// why gaffer stopped the program. If that reason is not a known class, the class is
// [failure.Cancelled].
func stoppedVerdict(final *finalMessage, otherOutput string, exit Exit) Verdict {
	v := Verdict{Class: failure.Cancelled, Summary: otherOutput}
	known := []failure.Class{failure.Stalled, failure.TimedOut, failure.Lost, failure.OverBudget, failure.Released, failure.Interrupted}
	if class := failure.Class(exit.StopReason); slices.Contains(known, class) {
		v.Class = class
	}
	if final != nil && final.text != "" {
		v.Summary = summary(final.text)
	}
	return v
}

func denialSummary(final *finalMessage, denied []string) string {
	text := "denied: " + strings.Join(denied, "; ")
	if final != nil && final.class == failure.None {
		text = appendDetail(text, final.text)
	}
	return firstChars(clean(text), summaryLength)
}

// describeCrash describes the end of a program that printed no final message.
func describeCrash(exit Exit) string {
	if exit.Signal != "" {
		return fmt.Sprintf("died of %s without a last word", exit.Signal)
	}
	return fmt.Sprintf("died without a last word, exit code %d", exit.Code)
}

// appendDetail appends the detail to the summary. If the result would be longer than summaryLength,
// it cuts the beginning of the detail.
func appendDetail(summary, detail string) string {
	if detail = strings.TrimSpace(detail); detail == "" {
		return summary
	}
	return summary + ": " + endFromLine(detail, max(0, summaryLength-len(summary)-2))
}
