package notify

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"gaffer/fleet"
	"gaffer/internal/engine/store"
	"gaffer/internal/text/truncate"
)

// Maximum lengths, in characters, of titles and texts that come from agents and users. Longer ones
// are truncated.
const (
	maxTitle = 100
	maxText  = 500
)

// line returns a text as one printable line of at most maxChars characters.
func line(text string, maxChars int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	text = strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return ' '
		}
		if !unicode.IsPrint(r) {
			return utf8.RuneError
		}
		return r
	}, text[:min(len(text), 8*maxChars)])
	return truncate.Chars(strings.Join(strings.Fields(text), " "), maxChars)
}

// nameOf returns the name of a run for display, or its id if it has no name.
func nameOf(run store.Run) string {
	if name := line(run.Name, maxTitle/2); name != "" {
		return name
	}
	return line(run.ID, maxTitle/2)
}

// elapsed formats a duration, such as 42s, 2m 34s or 1h 05m.
func elapsed(d time.Duration) string {
	s := int(max(d, 0) / time.Second)
	switch {
	case s < 60:
		return fmt.Sprintf("%ds", s)
	case s < 3600:
		return fmt.Sprintf("%dm %02ds", s/60, s%60)
	}
	return fmt.Sprintf("%dh %02dm", s/3600, s/60%60)
}

func count(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}

// spentOf returns a text that compares the cost with the budget, such as "$8.10 of $10.00".
func spentOf(spent, budget store.Amount) string {
	var parts []string
	if budget.MicroUSD > 0 {
		parts = append(parts, fleet.MoneyOf(spent.USD(), budget.USD()))
	}
	if budget.Tokens > 0 {
		parts = append(parts, fmt.Sprintf("%d of %d tokens", spent.Tokens, budget.Tokens))
	}
	return strings.Join(parts, ", ")
}

func dollars(micro int64) string { return fleet.Money(float64(micro) / 1e6) }

// tally returns a text such as "2 waiting, 1 failed": the number of notifications of each of the
// [Kinds], in the order of Kinds.
func tally(notes []Notification) string {
	var parts []string
	for _, k := range Kinds() {
		n := 0
		for _, note := range notes {
			if note.Kind == k {
				n++
			}
		}
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, k))
		}
	}
	return strings.Join(parts, ", ")
}

// Limits of a digest, a message that combines several notifications. Its text lists at most
// digestLines of them, and its field Notes at most digestNotes.
const (
	digestLines = 8
	digestNotes = 100
)

// digest combines several notifications into one.
func digest(id string, notes []Notification) Notification {
	notes = slices.Clone(notes)
	slices.SortStableFunc(notes, func(a, b Notification) int {
		return slices.Index(Kinds(), a.Kind) - slices.Index(Kinds(), b.Kind)
	})
	d := Notification{ID: id, Kind: Digest, Count: len(notes), Title: fmt.Sprintf("%d notifications: %s", len(notes), tally(notes))}
	var lines []string
	for i, n := range notes {
		if d.Time.Before(n.Time) {
			d.Time = n.Time
		}
		if i < digestLines {
			lines = append(lines, n.Title)
		}
	}
	if more := len(notes) - digestLines; more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	d.Text, d.Notes = strings.Join(lines, "\n"), notes[:min(len(notes), digestNotes)]
	return d
}
