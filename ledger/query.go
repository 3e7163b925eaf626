package ledger

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"gaffer/statefile/timestamp"
)

// Query says which attempts a report counts. The zero value is all of them.
type Query struct {
	Since     Since
	Agents    []string // any of them; all if empty
	Models    []string
	Templates []string
	// Cost returns what an attempt has cost, which no record says. Nil means
	// that no cost is known. It is called by one goroutine at a time.
	Cost func(bead string, attempt int) (usd float64, known bool)
}

// Filter is how a report says which attempts it counts. Null stands for all.
type Filter struct {
	Since    *string  `json:"since"` // a date or a time
	Agent    []string `json:"agent"`
	Model    []string `json:"model"`
	Template []string `json:"template"`
}

func (q Query) filter() Filter {
	f := Filter{Agent: q.Agents, Model: q.Models, Template: q.Templates}
	if q.Since.text != "" {
		f.Since = &q.Since.text
	}
	return f
}

// price sets what the attempts have cost, where that is known. No cost is below
// zero, and none is beyond counting.
func (q Query) price(attempts []Attempt) {
	if q.Cost == nil {
		return
	}
	for i := range attempts {
		usd, known := q.Cost(attempts[i].Bead, attempts[i].Attempt)
		if known && usd >= 0 && usd < math.MaxInt32 {
			attempts[i].CostUSD = &usd
		}
	}
}

// Since is the moment from which a report counts. The zero value is always.
type Since struct {
	text string
	at   time.Time
}

// ParseSince reads a date, whose day begins in UTC as the records' times do, a
// time, or how long before now: 7d, 24h, 2w.
func ParseSince(text string, now time.Time) (Since, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return Since{}, nil
	}
	if ago, ok := age(text); ok {
		at := now.Add(-ago).UTC().Truncate(time.Second)
		return Since{timestamp.Format(at), at}, nil
	}
	at, err := timestamp.Parse(text, time.UTC)
	if err != nil {
		return Since{}, fmt.Errorf("%w, as a date 2026-02-12, or as an age 7d", err)
	}
	return Since{text, at}, nil
}

// age reads a duration that may also be in days or weeks. It is no longer than a
// duration can be, which is before the first record.
func age(text string) (time.Duration, bool) {
	const day = 24 * time.Hour
	for unit, long := range map[string]time.Duration{"d": day, "w": 7 * day} {
		if digits, ok := strings.CutSuffix(text, unit); ok {
			n, err := strconv.ParseUint(digits, 10, 63)
			return time.Duration(min(n, uint64(math.MaxInt64/long))) * long, err == nil
		}
	}
	d, err := time.ParseDuration(text)
	return d, err == nil && d >= 0
}

// Unmatched is a name that a query asks for and that no record has.
type Unmatched struct {
	Field string   `json:"field"` // agent, model or template
	Name  string   `json:"name"`
	Seen  []string `json:"seen"` // the names that records have instead
}

// selection picks the attempts of a query and remembers which names it met.
type selection struct {
	since Since
	names []wanted
}

// wanted is the names that one field may have, and those that were met.
type wanted struct {
	field string
	of    func(Attempt) string
	any   []string
	seen  map[string]bool
}

func newSelection(q Query) *selection {
	s := &selection{since: q.Since}
	add := func(field string, names []string, of func(Attempt) string) {
		if len(names) > 0 {
			s.names = append(s.names, wanted{field, of, names, map[string]bool{}})
		}
	}
	add("agent", q.Agents, func(a Attempt) string { return a.Agent })
	add("model", q.Models, func(a Attempt) string { return a.Model })
	add("template", q.Templates, func(a Attempt) string { return a.Template })
	return s
}

const noStart = "no-start-time"

// from returns the attempts that count. With a moment, they are those that
// started or ended at or after it, and one whose times cannot be read is left
// out by name.
func (s *selection) from(m *merged) []Attempt {
	return slices.DeleteFunc(m.attempts, func(a Attempt) bool {
		if s.since.text != "" {
			if a.started.IsZero() && a.finished.IsZero() {
				m.left = append(m.left, leftOut{noStart, a.Bead})
				return true
			}
			if a.started.Before(s.since.at) && a.finished.Before(s.since.at) {
				return true
			}
		}
		return !s.named(a)
	})
}

func (s *selection) named(a Attempt) bool {
	all := true
	for _, w := range s.names {
		name := w.of(a)
		if len(w.seen) < maxGroups {
			w.seen[name] = true
		}
		all = all && slices.Contains(w.any, name)
	}
	return all
}

func (s *selection) unmatched() []Unmatched {
	list := []Unmatched{}
	for _, w := range s.names {
		for _, name := range w.any {
			if !w.seen[name] {
				list = append(list, Unmatched{w.field, name, sortedKeys(w.seen)})
			}
		}
	}
	return list
}
