package ledger

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestARecommendationIsMadeBeyondItsThresholdAndNotAtIt(t *testing.T) {
	for _, c := range []struct {
		name  string
		stats Statistics
		want  []string
	}{
		{"all is well", Statistics{TotalRuns: 9, Tasks: 9, Success: 9, SuccessRate: 100}, nil},
		{"two runs say nothing", Statistics{TotalRuns: 2, Tasks: 2, Failed: 2}, nil},
		{
			"exactly at the thresholds",
			Statistics{
				TotalRuns: 10, Tasks: 10, Success: 7, Failed: 1, Timeout: 2, SuccessRate: 70, RetryCount: 3, RetryRate: 30,
				ByAgent:        []Agent{{"codex", Group{Success: 3, Failed: 2, SuccessRate: 60}}},
				ByTemplate:     []Template{{"a", Group{Success: 3, Failed: 2, SuccessRate: 60}}, {"b", Group{}}},
				FailureReasons: []Reason{{"a", 1}, {"b", 1}, {"c", 1}},
			},
			nil,
		},
		{"low success", Statistics{TotalRuns: 3, Tasks: 3, Success: 2, Failed: 1, SuccessRate: 66.7}, []string{"success rate is 66.7% (2 of 3 ended runs), below 70%: "}},
		{"many retries", Statistics{TotalRuns: 6, Tasks: 3, Success: 6, SuccessRate: 100, RetryCount: 2, RetryRate: 66.7}, []string{"retry rate is 66.7% (2 of 3 tasks"}},
		{"a weak agent", Statistics{Success: 3, SuccessRate: 100, ByAgent: []Agent{
			{"codex", Group{Success: 1, Failed: 1, SuccessRate: 50}}, {"claude", Group{Success: 1, SuccessRate: 50}},
		}}, []string{"agent codex succeeds in 50.0% (1 of 2 ended runs), below 60%: "}},
		{"a weak template", Statistics{Success: 3, SuccessRate: 100, ByTemplate: []Template{
			{"bug-fix", Group{Success: 1, Failed: 2, SuccessRate: 33.3}}, {"docs", Group{Success: 1, Failed: 1, SuccessRate: 50}},
		}}, []string{"template bug-fix succeeds in 33.3% (1 of 3 ended runs), below 60%: "}},
		{"the only template says nothing", Statistics{Success: 3, SuccessRate: 100, ByTemplate: []Template{
			{"custom", Group{Success: 1, Failed: 2, SuccessRate: 33.3}},
		}}, nil},
		{"a common failure", Statistics{Success: 17, SuccessRate: 85, Failed: 3, FailureReasons: []Reason{{"lost", 2}, {"denied", 1}}}, []string{`most failures have one reason, "lost" (2 of 3, 66.7%, above 50%): `}},
		{"no reason is no reason", Statistics{Success: 17, SuccessRate: 85, Failed: 3, FailureReasons: []Reason{{noReason, 3}}}, nil},
		{"timeouts", Statistics{Success: 7, SuccessRate: 70, Timeout: 3, FailureReasons: []Reason{{"a", 1}, {"b", 1}, {"c", 1}}}, []string{"30.0% of ended runs timed out (3 of 10), above 20%: "}},
		{"stuck", Statistics{Success: 7, SuccessRate: 100, Running: 3, Stuck: 2}, []string{"2 of 3 running runs are stuck: "}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := newTally(noon).recommend(c.stats)
			if len(got) != len(c.want) {
				t.Fatalf("got %q", got)
			}
			for i := range got {
				if !strings.HasPrefix(got[i].String(), c.want[i]) {
					t.Errorf("got %q, want %q", got[i], c.want[i])
				}
			}
		})
	}
}

func TestWhenThereIsNothingToRecommendTheReportSaysSo(t *testing.T) {
	got := sentences(nil, Statistics{TotalRuns: 9})
	if diff := cmp.Diff([]string{"nothing to do: no threshold is crossed in 9 runs"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestRecommendationsNameTheLatestBeadsThatShowIt(t *testing.T) {
	s := testStore(t)
	for i := range 8 {
		put(t, s, RunKind, fmt.Sprintf("bd-%d", i), `{"agent": "codex", "started_at": %q, "attempt": 2, "status": "timeout",
			"finished_at": %q, "failure_reason": "slow", "template_name": %q}`,
			noon.Format(time.RFC3339), noon.Add(time.Duration(i*7%8)*time.Minute).Format(time.RFC3339), []string{"a", "b"}[i%2])
	}
	put(t, s, RunKind, "bd-old", `{"started_at": %q}`, noon.Add(-2*RunLimit).Format(time.RFC3339))
	r, _ := queried(t, s, Query{})
	latest, odd := []string{"bd-1", "bd-2", "bd-3", "bd-4", "bd-5"}, []string{"bd-1", "bd-3", "bd-5", "bd-7"}
	want := map[string][]string{
		LowSuccess: latest, HighRetry: latest, WeakAgent + " codex": latest, MainReason + " slow": latest, ManyTimeouts: latest,
		WeakTemplate + " a": {"bd-2", "bd-4", "bd-6", "bd-0"}, WeakTemplate + " b": odd, StuckRuns: {"bd-old"},
	}
	got := map[string][]string{}
	for _, d := range r.Details {
		got[strings.TrimSpace(d.Rule+" "+d.Subject)] = d.Evidence
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestTheEvidenceIsTheLatestOnceForEachBead(t *testing.T) {
	var l latest
	for _, minute := range []int{5, 1, 9, 3, 7, 2, 8, 9} {
		a := Attempt{Bead: fmt.Sprintf("bd-%d", minute), started: noon.Add(time.Duration(minute) * time.Minute)}
		l.add(a)
	}
	l.add(Attempt{Bead: "bd-3", started: noon.Add(time.Hour)})
	l.add(Attempt{Bead: "bd-8", started: noon})
	if diff := cmp.Diff([]string{"bd-3", "bd-9", "bd-8", "bd-7", "bd-5"}, l.beads()); diff != "" {
		t.Error(diff)
	}
}
