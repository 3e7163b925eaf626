package ledger

import (
	"math"
	"slices"
	"strings"
	"time"
)

// Group holds the counts for several runs, such as all runs of one agent. In a report, a run is one
// attempt of a task.
type Group struct {
	Count       int      `json:"count"`
	Success     int      `json:"success"`
	Failed      int      `json:"failed"`
	Timeout     int      `json:"timeout"`
	Running     int      `json:"running"`
	SuccessRate float64  `json:"success_rate"` // successful runs, as a percentage of the runs that have ended
	AvgDuration float64  `json:"avg_duration"` // average duration in seconds of the ended runs with a known duration
	CostUSD     *float64 `json:"cost_usd"`     // null if no cost is known
	CostRuns    int      `json:"cost_runs"`    // number of runs with a known cost
}

// Ended returns the number of runs that succeeded, failed or timed out.
func (g Group) Ended() int { return g.Success + g.Failed + g.Timeout }

// sum adds up the counts of several runs.
type sum struct {
	count, success, failed, timeout, running int
	timed                                    int
	seconds                                  float64
	priced                                   int
	usd                                      float64
	failures                                 latest
}

func (s *sum) add(a Attempt) {
	s.count++
	switch a.Status {
	case Done:
		s.success++
	case Failed:
		s.failed++
	case TimedOut:
		s.timeout++
	case Running:
		s.running++
	}
	if a.hasFailed() {
		s.failures.add(a)
	}
	if a.isTimed() {
		s.timed++
		s.seconds += *a.DurationSeconds
	}
	if a.CostUSD != nil {
		s.priced++
		s.usd += *a.CostUSD
	}
}

// merge adds the counts in o to s, but not the failures: merge is used only for the sums of each
// week, and a report does not list the failures of a week.
func (s *sum) merge(o *sum) {
	s.count += o.count
	s.success += o.success
	s.failed += o.failed
	s.timeout += o.timeout
	s.running += o.running
	s.timed += o.timed
	s.seconds += o.seconds
	s.priced += o.priced
	s.usd += o.usd
}

func (s *sum) group() Group {
	g := Group{
		Count: s.count, Success: s.success, Failed: s.failed, Timeout: s.timeout, Running: s.running,
		AvgDuration: oneDecimal(s.seconds / float64(max(s.timed, 1))),
		CostRuns:    s.priced,
	}
	g.SuccessRate = percent(g.Success, g.Ended())
	if s.priced > 0 {
		usd := math.Round(s.usd*1e4) / 1e4
		g.CostUSD = &usd
	}
	return g
}

// maxGroups is the maximum number of names that each list of a report distinguishes, such as the
// list of agents. A limit is needed because names in records are free text, so every record may
// have a different name.
const maxGroups = 1000

// otherNames is the name under which all names beyond maxGroups are counted.
const otherNames = "(others)"

// sums holds the counts of runs by name, such as the name of the agent.
type sums map[string]*sum

// of returns the sum for a name. If there is none yet, it creates one. But if s already has
// maxGroups names, it returns the sum for otherNames instead of a new one. Names that differ only
// after the first 200 characters count as the same name.
func (s sums) of(name string) *sum {
	name = Excerpt(name)
	one := s[name]
	if one == nil && len(s) >= maxGroups {
		name = otherNames
		one = s[name]
	}
	if one == nil {
		one = &sum{}
		s[name] = one
	}
	return one
}

// groups lists the sums, sorted by name. The function named converts a name and its counts to a
// list item.
func groups[T any](s sums, named func(string, Group) T) []T {
	list := make([]T, 0, len(s))
	for _, key := range sortedKeys(s) {
		list = append(list, named(key, s[key].group()))
	}
	return list
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

func percent(part, whole int) float64 {
	return oneDecimal(100 * float64(part) / float64(max(whole, 1)))
}

func oneDecimal(f float64) float64 { return math.Round(f*10) / 10 }

// maxEvidence is the maximum number of beads (task ids) that a recommendation names as examples.
const maxEvidence = 5

// latest holds the beads of the most recent attempts, the latest first, at most maxEvidence beads.
// Each bead occurs once.
type latest []evidence

type evidence struct {
	bead string
	at   time.Time
}

func (l *latest) add(a Attempt) {
	e := evidence{a.Bead, a.moment()}
	if at := slices.IndexFunc(*l, func(o evidence) bool { return o.bead == e.bead }); at >= 0 {
		if e.at.Before((*l)[at].at) {
			return
		}
		*l = slices.Delete(*l, at, at+1)
	}
	at, _ := slices.BinarySearchFunc(*l, e, func(a, b evidence) int {
		if c := b.at.Compare(a.at); c != 0 {
			return c
		}
		return strings.Compare(a.bead, b.bead)
	})
	if at == maxEvidence {
		return
	}
	*l = slices.Insert(*l, at, e)
	*l = (*l)[:min(len(*l), maxEvidence)]
}

func (l latest) beads() []string {
	list := make([]string, len(l))
	for i, e := range l {
		list[i] = e.bead
	}
	return list
}
