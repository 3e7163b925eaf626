package runs_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"gaffer/fleet"
	"gaffer/internal/engine/store"
	"gaffer/internal/plan"
)

func TestAServerReportsWhatHasBecomeOfTheTasksOfAProject(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		at := time.Date(2026, 2, 6, 12, 0, 0, 0, time.UTC)
		f.spend("web", plan.Task{}, at, store.Amount{MicroUSD: 100_000})
		later := f.spend("web", plan.Task{Item: plan.SourceItem{Source: "gh:ada/shop", ID: "7", Title: "Slow"}}, at.Add(time.Hour), store.Amount{MicroUSD: 200_000})
		f.spend("app", plan.Task{}, at.Add(2*time.Hour), store.Amount{MicroUSD: 400_000})
		r := must2(f.Runs.Morning(f.ctx, fleet.MorningQuery{Project: "web", Since: at.Add(time.Minute)}))(f)
		if len(r.Done) != 1 || r.Done[0].Run != later || r.Done[0].Item == nil || r.Done[0].Item.Title != "Slow" || r.Cost.USD == nil || *r.Cost.USD != 0.2 || len(r.Runs) != 1 {
			f.t.Errorf("the report is %+v", r)
		}
		if r := must2(f.Runs.Morning(f.ctx, fleet.MorningQuery{Since: at.Add(time.Minute)}))(f); len(r.Done) != 2 || *r.Cost.USD < 0.59 {
			f.t.Errorf("the report on all projects is %+v", r)
		}
	})
}

func TestAWrongQueryForAMorningReportSaysWhatIsWanted(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	for query, words := range map[string]string{"since=yesterday": "since", "tz=Mars/Olympus": "time zone"} {
		if answer := f.get("/v1/report/morning?" + query); answer.status != http.StatusBadRequest || !strings.Contains(answer.body, words) {
			t.Errorf("%s: %d %s", query, answer.status, answer.body)
		}
	}
	if answer := f.get("/v1/report/morning?tz=Europe/Berlin"); answer.status != http.StatusOK || !strings.Contains(answer.body, `"merged":[]`) {
		t.Errorf("without a time: %d %s", answer.status, answer.body)
	}
}
