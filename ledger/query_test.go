package ledger

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestSinceIsADateATimeOrAnAge(t *testing.T) {
	for text, want := range map[string]time.Time{
		"2026-02-12":           time.Date(2026, 2, 12, 0, 0, 0, 0, time.UTC),
		"2026-02-12T17:08:00Z": time.Date(2026, 2, 12, 17, 8, 0, 0, time.UTC),
		"7d":                   noon.Add(-7 * 24 * time.Hour),
		"2w":                   noon.Add(-14 * 24 * time.Hour),
		"24h":                  noon.Add(-24 * time.Hour),
		" 90m ":                noon.Add(-90 * time.Minute),
	} {
		got, err := ParseSince(text, noon)
		if err != nil || !got.at.Equal(want) {
			t.Errorf("%q: %v, %v; want %v", text, got.at, err, want)
		}
	}
	for _, text := range []string{"16000w", "30000d", "99999999999d", "9223372036854775807w"} {
		if got, err := ParseSince(text, noon); err != nil || got.at.Year() > 1980 {
			t.Errorf("%q: %v, %v; want the time before all records", text, got.at, err)
		}
	}
	for _, text := range []string{"yesterday", "-7d", "-1h", "d", "1.5d", "7 d", "99999999999999999999d"} {
		if got, err := ParseSince(text, noon); err == nil {
			t.Errorf("%q is %v", text, got.at)
		}
	}
}

func TestAnAgeIsReportedAsTheTimeThatItMeans(t *testing.T) {
	r, _ := reportOf(t, mixed(t), "7d")
	if want := noon.Add(-7 * 24 * time.Hour).Format(time.RFC3339); *r.Filter.Since != want {
		t.Errorf("since %s, want %s", *r.Filter.Since, want)
	}
}

func TestAReportCountsOnlyTheNamesItIsAskedFor(t *testing.T) {
	s := mixed(t)
	for name, c := range map[string]struct {
		query Query
		want  []string
	}{
		"an agent":              {Query{Agents: []string{"codex"}}, []string{"bd-2", "bd-3", "bd-4"}},
		"two agents":            {Query{Agents: []string{"claude", "unknown"}}, []string{"bd-1", "bd-1", "bd-5"}},
		"a template":            {Query{Templates: []string{"bug-fix"}}, []string{"bd-1", "bd-1"}},
		"no template":           {Query{Templates: []string{"custom"}}, []string{"bd-2", "bd-3", "bd-4", "bd-5"}},
		"a model and an agent":  {Query{Agents: []string{"codex"}, Models: []string{"gpt"}}, []string{"bd-2", "bd-3", "bd-4"}},
		"a model of another":    {Query{Agents: []string{"codex"}, Models: []string{"sonnet"}}, nil},
		"case is not forgiven":  {Query{Agents: []string{"Codex"}}, nil},
		"nothing asked for":     {Query{}, []string{"bd-1", "bd-1", "bd-2", "bd-3", "bd-4", "bd-5"}},
		"a name that is absent": {Query{Agents: []string{"codex", "gemini"}}, []string{"bd-2", "bd-3", "bd-4"}},
	} {
		t.Run(name, func(t *testing.T) {
			r, rows := queried(t, s, c.query)
			var got []string
			for _, a := range rows {
				got = append(got, a.Bead)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			if r.Statistics.TotalRuns != len(rows) {
				t.Errorf("%d runs counted, %d handed out", r.Statistics.TotalRuns, len(rows))
			}
		})
	}
}

func TestAnUnmatchedNameIsReportedWithTheExistingOnes(t *testing.T) {
	r, _ := queried(t, mixed(t), Query{Agents: []string{"codx", "claude"}, Templates: []string{"docs"}})
	want := []Unmatched{
		{"agent", "codx", []string{"claude", "codex", "unknown"}},
		{"template", "docs", []string{"bug-fix", "custom"}},
	}
	if diff := cmp.Diff(want, r.Unmatched); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(Filter{Agent: []string{"codx", "claude"}, Template: []string{"docs"}}, r.Filter); diff != "" {
		t.Error(diff)
	}
}

func TestCostsAreCountedWhereTheyAreKnown(t *testing.T) {
	cost := func(bead string, attempt int) (float64, bool) {
		switch bead {
		case "bd-1":
			return 0.25 * float64(attempt), true
		case "bd-2":
			return 1, true
		case "bd-3":
			return math.NaN(), true
		case "bd-4":
			return -1, true
		}
		return 5, false
	}
	r, rows := queried(t, mixed(t), Query{Cost: cost})
	if diff := cmp.Diff(Cost{USD: new(1.75), KnownRuns: 3, UnknownRuns: 3, FailedUSD: new(1.25)}, r.Statistics.Cost); diff != "" {
		t.Error(diff)
	}
	got := map[string]*float64{}
	for _, a := range r.Statistics.ByAgent {
		got[a.Agent] = a.CostUSD
	}
	if diff := cmp.Diff(map[string]*float64{"claude": new(0.75), "codex": new(1.0), "unknown": nil}, got); diff != "" {
		t.Error(diff)
	}
	if rows[1].CostUSD == nil || *rows[1].CostUSD != 0.5 || rows[5].CostUSD != nil {
		t.Errorf("rows %v and %v", rows[1], rows[5])
	}
}
