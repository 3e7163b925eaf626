package runs_test

import (
	"encoding/csv"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gaffer/coordinator"
	"gaffer/fleet"
	"gaffer/internal/api/credential"
	"gaffer/internal/engine"
	"gaffer/internal/engine/failure"
	"gaffer/internal/engine/store"
	"gaffer/internal/plan"
)

// spend submits a run of one task to a project and lets an attempt of it end at the time end.
func (f *fixture) spend(project string, t plan.Task, end time.Time, spent store.Amount) string {
	f.t.Helper()
	f.pass(end.Sub(f.clock()))
	t.ID, t.Prompt = "t", "x"
	run := must2(f.Runs.Submit(f.ctx, coordinator.NewRun{Project: project, Plan: text(plan.Plan{Name: "of " + project, Tasks: []plan.Task{t}})}))(f)
	f.finish(f.claimIn(project), engine.Finish{Progress: fleet.Progress{Spent: spent}})
	return run.ID
}

func (f *fixture) claimIn(project string) engine.Assignment {
	f.t.Helper()
	return must2(f.engine.Claim(f.ctx, engine.Claim{Worker: "w", Labels: []string{"project:" + project, "gpu", "@w"}}))(f)
}

// sums returns a row for each group: the key, the cost, and the numbers of attempts and unknown costs.
func sums(rows []fleet.CostRow) (list []sum) {
	for _, r := range rows {
		usd := -1.0
		if r.USD != nil {
			usd = *r.USD
		}
		list = append(list, sum{r.Key, usd, r.Attempts, r.Unknown})
	}
	return list
}

type sum struct {
	Key               string
	USD               float64 // -1 if the cost is unknown
	Attempts, Unknown int
}

func TestCostsAreGroupedByDayAgentModelProjectAndRun(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		at := time.Date(2026, 2, 6, 12, 0, 0, 0, time.UTC)
		one := f.spend("web", plan.Task{Agent: "claude", Model: "opus"}, at, store.Amount{MicroUSD: 100_000, Tokens: 1010, Input: 1000, Output: 10, Cached: 800})
		two := f.spend("web", plan.Task{Agent: "claude"}, at.Add(time.Hour), store.Amount{MicroUSD: 200_000, Tokens: 30})
		three := f.spend("app", plan.Task{Agent: "codex", Model: "gpt"}, at.AddDate(0, 0, 1), store.Amount{Tokens: 500, Input: 400, Output: 100})
		for by, want := range map[fleet.CostGrouping][]sum{
			fleet.CostByDay:     {{"2026-02-07", -1, 1, 1}, {"2026-02-06", 0.3, 2, 0}},
			fleet.CostByAgent:   {{"claude", 0.3, 2, 0}, {"codex", -1, 1, 1}},
			fleet.CostByModel:   {{"", 0.2, 1, 0}, {"opus", 0.1, 1, 0}, {"gpt", -1, 1, 1}},
			fleet.CostByProject: {{"web", 0.3, 2, 0}, {"app", -1, 1, 1}},
			fleet.CostByRun:     {{three, -1, 1, 1}, {two, 0.2, 1, 0}, {one, 0.1, 1, 0}},
		} {
			r := must2(f.Runs.Cost(f.ctx, fleet.CostQuery{By: by}))(f)
			if diff := cmp.Diff(want, sums(r.Rows)); diff != "" {
				t.Errorf("by %s (-want +got):\n%s", by, diff)
			}
			if diff := cmp.Diff([]sum{{"", 0.3, 3, 1}}, sums([]fleet.CostRow{r.Total})); diff != "" {
				t.Errorf("total (-want +got):\n%s", diff)
			}
			tokens := fleet.CostRow{Tokens: r.Total.Tokens, Input: r.Total.Input, Output: r.Total.Output, Cached: r.Total.Cached, Uncounted: r.Total.Uncounted}
			if want := (fleet.CostRow{Tokens: 1540, Input: 1400, Output: 110, Cached: 800, Uncounted: 1}); tokens != want {
				t.Errorf("tokens are %+v, want %+v", tokens, want)
			}
		}
		r := must2(f.as[credential.Viewer].Runs.Cost(f.ctx, fleet.CostQuery{Project: "app", By: fleet.CostByRun}))(f)
		if len(r.Rows) != 1 || r.Rows[0].Key != three || r.Rows[0].Name != "of app" || r.Rows[0].Project != "app" || r.Rows[0].Status != fleet.Complete {
			t.Errorf("of one project: %+v", r.Rows)
		}
	})
}

func TestDaysBeginAtMidnightOfTheTimeZone(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		spend := func(at string) {
			when, err := time.Parse(time.RFC3339, at)
			f.must(err)
			f.spend("web", plan.Task{Agent: "claude"}, when, store.Amount{MicroUSD: 1_000_000})
		}
		// In Berlin, summer time began on 2026-03-29 at 01:00 UTC: that day had 23 hours.
		spend("2026-03-28T22:59:59Z") // 23:59:59 on the 28th
		spend("2026-03-28T23:00:00Z") // 00:00 on the 29th
		spend("2026-03-29T21:59:59Z") // 23:59:59 on the 29th
		spend("2026-03-29T22:00:00Z") // 00:00 on the 30th
		// Summer time ended on 2026-10-25 at 01:00 UTC: that day had 25 hours.
		spend("2026-10-24T22:00:00Z") // 00:00 on the 25th
		spend("2026-10-25T22:59:59Z") // 23:59:59 on the 25th
		spend("2026-10-25T23:00:00Z") // 00:00 on the 26th
		for _, c := range []struct {
			query string
			want  []sum
		}{
			{"tz=Europe/Berlin", []sum{{"2026-10-26", 1, 1, 0}, {"2026-10-25", 2, 2, 0}, {"2026-03-30", 1, 1, 0}, {"2026-03-29", 2, 2, 0}, {"2026-03-28", 1, 1, 0}}},
			{"", []sum{{"2026-10-25", 2, 2, 0}, {"2026-10-24", 1, 1, 0}, {"2026-03-29", 2, 2, 0}, {"2026-03-28", 2, 2, 0}}},
			{"tz=Europe/Berlin&since=2026-03-29&until=2026-03-29", []sum{{"2026-03-29", 2, 2, 0}}},
			{"tz=Europe/Berlin&since=2026-10-25&until=2026-10-25", []sum{{"2026-10-25", 2, 2, 0}}},
			{"tz=America/Los_Angeles&since=2026-10-25", []sum{{"2026-10-25", 2, 2, 0}}},
			{"since=2026-10-25T22:59:59Z&until=2026-10-25T23:00:00Z", []sum{{"2026-10-25", 1, 1, 0}}},
			{"since=2027-01-01", nil},
		} {
			var got struct{ Cost fleet.CostReport }
			f.must(json.Unmarshal([]byte(f.get("/v1/cost?"+c.query).body), &got))
			if diff := cmp.Diff(c.want, sums(got.Cost.Rows)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.query, diff)
			}
			if strings.Contains(c.query, "until=2026-03-29") {
				if diff := cmp.Diff([]sum{{"2026-03-29T00", 1, 1, 0}, {"2026-03-29T23", 1, 1, 0}}, sums(got.Cost.Hours)); diff != "" {
					t.Errorf("%s by hour (-want +got):\n%s", c.query, diff)
				}
			} else if len(got.Cost.Days) > 1 && got.Cost.Hours != nil {
				t.Errorf("%s has hours of several days", c.query)
			}
		}
	})
}

func TestCostsOfRunningRetriedAndHiddenAttempts(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		p := shop()
		p.Budget = plan.Budget{USD: 1}
		p.Tasks = append(p.Tasks, plan.Task{ID: "make", Argv: []string{"make"}, After: []string{"api"}})
		run := f.submit(p).ID
		f.finish(f.claim(), engine.Finish{Ending: fleet.Ending{Class: failure.VerifyFailed}, Progress: fleet.Progress{Spent: store.Amount{MicroUSD: 300_000}}})
		f.pass(time.Hour)
		again := f.claim()
		must2(f.engine.Beat(f.ctx, store.Worker{ID: "w"}, []engine.HeldAttempt{{
			Attempt: again.Attempt.ID, Token: again.Attempt.Token, Now: fleet.Progress{Activity: fleet.Activity{State: "running"}, Spent: store.Amount{MicroUSD: 600_000}},
		}}))(f)
		hidden := plan.Plan{Tasks: []plan.Task{{ID: "t", Prompt: "x"}}}
		must2(f.engine.Submit(f.ctx, engine.Submission{ID: "ch-c", Plan: hidden}))(f)
		f.finish(must2(f.engine.Claim(f.ctx, engine.Claim{Worker: "w"}))(f), engine.Finish{Progress: fleet.Progress{Spent: store.Amount{MicroUSD: 9_000_000}}})

		r := must2(f.Runs.Cost(f.ctx, fleet.CostQuery{By: fleet.CostByRun}))(f)
		if diff := cmp.Diff([]sum{{run, 0.9, 2, 0}}, sums(r.Rows)); diff != "" || r.Rows[0].Running != 1 {
			t.Errorf("%d run (-want +got):\n%s", r.Rows[0].Running, diff)
		}
		want := []fleet.RunBudget{{Run: run, Name: "shop", Project: "web", Status: fleet.Running, Spent: fleet.Cost{USD: 0.9}, Budget: fleet.Cost{USD: 1}}}
		if diff := cmp.Diff(want, r.Budgets); diff != "" {
			t.Errorf("budgets (-want +got):\n%s", diff)
		}
		f.finish(again, engine.Finish{Progress: fleet.Progress{Spent: store.Amount{MicroUSD: 650_000}}})
		for range 2 { // the command uses no model; the other agent does not report its cost
			f.finish(f.claim(), engine.Finish{})
		}
		r = must2(f.Runs.Cost(f.ctx, fleet.CostQuery{By: fleet.CostByAgent}))(f)
		if diff := cmp.Diff([]sum{{"claude", 0.95, 3, 1}}, sums(r.Rows)); diff != "" {
			t.Errorf("at the end (-want +got):\n%s", diff)
		}
		f.pass(48 * time.Hour)
		r = must2(f.Runs.Cost(f.ctx, fleet.CostQuery{By: fleet.CostByAgent, Since: f.clock().Add(-time.Hour)}))(f)
		if len(r.Rows) > 0 || len(r.Budgets) > 0 || r.Total.USD != nil {
			t.Errorf("of the last hour: %+v", r)
		}
	})
}

func TestCostsAsCSVAreSafeInASpreadsheet(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	run := f.spend("web", plan.Task{Agent: "claude"}, f.clock(), store.Amount{MicroUSD: 1_234_567, Tokens: 11, Input: 10, Output: 1, Cached: 4})
	evil := plan.Plan{Name: "=HYPERLINK(\"http://x\",\"a, b\")", Tasks: []plan.Task{{ID: "t", Prompt: "x", Agent: "codex"}}}
	f.pass(time.Minute)
	other := must2(f.Runs.Submit(f.ctx, coordinator.NewRun{Project: "web", Plan: text(evil)}))(f).ID
	f.finish(f.claim(), engine.Finish{})
	answer := f.get("/v1/cost.csv?by=run&tz=Europe/Berlin")
	head, body := answer.header, answer.body
	want := "run,name,project,status,attempts,running,cost_usd,attempts_of_unknown_cost,tokens,input_tokens,output_tokens,cached_tokens\r\n" +
		other + `,"'=HYPERLINK(""http://x"",""a, b"")",web,complete,1,0,unknown,1,0,0,0,0` + "\r\n" +
		run + ",of web,web,complete,1,0,1.234567,0,11,10,1,4\r\n"
	if diff := cmp.Diff(want, body); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if rows, err := csv.NewReader(strings.NewReader(body)).ReadAll(); err != nil || len(rows) != 3 {
		t.Errorf("%d rows, %v", len(rows), err)
	}
	if got := head.Get("Content-Disposition"); got != `attachment; filename="gaffer-cost-by-run.csv"` || head.Get("Content-Type") != "text/csv; charset=utf-8" {
		t.Errorf("%q, %q", got, head.Get("Content-Type"))
	}
}

func TestAWrongQueryForCostsSaysWhatIsWanted(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	for query, words := range map[string]string{
		"by=week": "want one of", "tz=Mars/Olympus": "time zone", "tz=Local": "time zone", "tz=../../etc/passwd": "time zone",
		"since=yesterday": "since", "until=2026-13-01": "until",
	} {
		answer := f.get("/v1/cost?" + query)
		if answer.status != http.StatusBadRequest || !strings.Contains(answer.body, words) {
			t.Errorf("%s: %d %s", query, answer.status, answer.body)
		}
	}
}
