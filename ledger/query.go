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

// Query selects the attempts that a report counts. The zero value selects all attempts.
type Query struct {
	Since     Since
	Agents    []string // only attempts of these agents; if empty, attempts of all agents
	Models    []string
	Templates []string
	// Cost returns the cost of an attempt in US dollars, which the records do not contain. If Cost
	// is nil, no cost is known. Cost is never called concurrently.
	Cost func(bead string, attempt int) (usd float64, known bool)
}

// Filter is the part of a [Query] that a report shows. null in a field means that the query does
// not restrict the attempts by this field.
type Filter struct {
	Since    *string  `json:"since"` // start of the reported period: a date or a time
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

// price calls q.Cost for each attempt and stores the cost, if it is known, in the attempt. It
// ignores negative and implausibly high costs.
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

// Since is the start of the period that a report covers. The zero value means that the report
// counts the attempts of all times.
type Since struct {
	text string
	at   time.Time
}

// ParseSince parses the start of a report's period: a date, a time, or an age such as 7d, 24h or
// 2w, which is subtracted from now. A date means midnight in UTC, because run records use UTC.
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

// age parses a duration such as 24h, 7d or 2w. It returns false if text is not a duration. For a
// number of days or weeks that is too large for a time.Duration, it returns about 290 years.
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

// Unmatched is a name that a report's query asks for, such as the name of an agent, although no
// attempt in the report's period has this name.
type Unmatched struct {
	Field string   `json:"field"` // the field of the query that contains the name: agent, model or template
	Name  string   `json:"name"`
	Seen  []string `json:"seen"` // the names that attempts have in this field, at most maxGroups
}

// selection picks the attempts that match a query. A query may restrict the agent, the model and
// the template of attempts. For each restricted field, selection also remembers which names
// attempts have in this field.
type selection struct {
	since Since
	names []wanted
}

// wanted holds the names that a query accepts in one field of an attempt, such as the names of the
// agents.
type wanted struct {
	field string
	of    func(Attempt) string // returns the value of this field of an attempt, such as the agent's name
	any   []string             // the names that the query accepts
	seen  map[string]bool      // the names that attempts have in this field, at most maxGroups
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

// from returns the attempts in m that match the query. If the query has a Since, an attempt matches
// only if it started or ended at or after that time. Then an attempt without a readable time does
// not match, and from adds the id of its task to m.left. The result reuses the memory of
// m.attempts.
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
