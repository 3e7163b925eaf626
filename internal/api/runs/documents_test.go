package runs_test

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"gaffer/fleet"

	"gaffer/coordinator"
	"gaffer/internal/engine"
	"gaffer/internal/engine/failure"
	"gaffer/internal/engine/store"
	"gaffer/ledger"
	"gaffer/session"
	"gaffer/statefile/jsontree"
)

// worked submits a run. The check of its first task fails once, and then the task is complete.
func (f *fixture) worked() string {
	f.t.Helper()
	run := f.submit(shop()).ID
	first := f.claim()
	f.pass(10 * time.Second)
	f.finish(first, engine.Finish{Ending: fleet.Ending{Class: failure.VerifyFailed, Summary: "no"}})
	second := f.claim()
	f.pass(20 * time.Second)
	f.finish(second, engine.Finish{Ending: fleet.Ending{Summary: "done"}, Progress: fleet.Progress{Spent: store.Amount{MicroUSD: 250_000}}})
	return run
}

func TestTheDocumentOfARunIsASessions(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		run := f.worked()
		for _, want := range []session.State{session.Running, session.Complete} {
			text, err := f.Sessions.Document(f.ctx, run, "status.json")
			f.must(err)
			doc, err := jsontree.Parse(text)
			f.must(err)
			for _, found := range session.Check("status.json", doc.Value()) {
				t.Errorf("%s: %v", want, found)
			}
			s, _ := session.Decode(doc.Value())
			if s.SessionID != run || s.Status != want || len(s.Agents) != 2 || s.Agents[0].Status != session.Complete ||
				*s.Agents[0].DurationSeconds != 30 || s.Agents[0].LogFile != ".founder-mode/status/sessions/"+run+"/api.log" {
				t.Errorf("the session is %+v", s)
			}
			if want == session.Running {
				f.finish(f.claim(), engine.Finish{})
			}
		}
		list := must2(f.Sessions.List(f.ctx, coordinator.RunQuery{Project: "web"}))(f)
		if len(list) != 1 || list[0].ID != run || list[0].Name != "shop" {
			t.Errorf("sessions are %+v", list)
		}
	})
}

func TestTheRecordsOfARunAreALedgers(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		run := f.worked()
		f.claim()
		records := must2(f.Runs.Records(f.ctx, run))(f)
		var statuses []string
		for _, text := range records.Runs {
			var r ledger.Run
			f.must(json.Unmarshal(text, &r))
			statuses = append(statuses, string(r.Status))
		}
		if !slices.Equal(statuses, []string{"failed", "done", "running"}) || len(records.Results) != 2 {
			t.Errorf("runs are %v, results %d", statuses, len(records.Results))
		}
		var r ledger.Result
		f.must(json.Unmarshal(records.Results[0], &r))
		if !r.WillRetry || r.Reason != string(failure.VerifyFailed) || !strings.HasPrefix(r.Bead, "bd-api-") || *r.DurationSeconds != 10 {
			t.Errorf("the first result is %+v", r)
		}
		empty := must2(f.Runs.Records(f.ctx, f.submit(shop()).ID))(f)
		if empty.Runs == nil || len(empty.Runs) > 0 || len(empty.Results) > 0 {
			t.Errorf("of a run that has not begun: %+v", empty)
		}
	})
}

func TestTheReportIsOfAllRunsOrThoseThatAreAskedFor(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		first := f.worked()
		f.finish(f.claim(), engine.Finish{})
		f.pass(48 * time.Hour)
		f.submit(shop())
		f.finish(f.claim(), engine.Finish{Ending: fleet.Ending{Class: failure.Denied}})
		for want, q := range map[int]coordinator.ReportQuery{
			4: {}, 1: {Since: "1d"}, 0: {Project: "other"}, 3: {Run: first},
		} {
			var r ledger.Report
			f.must(json.Unmarshal(must2(f.Runs.Report(f.ctx, q))(f), &r))
			if r.Statistics.TotalRuns != want {
				t.Errorf("%+v: %d runs, want %d", q, r.Statistics.TotalRuns, want)
			}
		}
		var r ledger.Report
		f.must(json.Unmarshal(must2(f.Runs.Report(f.ctx, coordinator.ReportQuery{Agent: []string{"claude"}, Model: []string{"none"}}))(f), &r))
		if r.Statistics.TotalRuns != 0 || len(r.Unmatched) != 1 {
			t.Errorf("the report is %+v", r)
		}
		_, err := f.Runs.Report(f.ctx, coordinator.ReportQuery{Since: "some day"})
		f.refused("since", err, 400, "since")
		_, err = f.Runs.Report(f.ctx, coordinator.ReportQuery{Run: "none"})
		f.refused("a run that does not exist", err, 404, "none")
	})
}

func TestTheReportHasTheLatestAttemptsOnlyIfTheyAreAskedFor(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		f.worked()
		f.pass(48 * time.Hour)
		last := f.claim()
		f.finish(last, engine.Finish{Ending: fleet.Ending{Class: failure.Denied}})
		for want, q := range map[int]coordinator.ReportQuery{0: {}, 1: {Rows: 1}, 3: {Rows: 5000}} {
			var r struct {
				Rows []struct{ Run, Task, Status string } `json:"raw_data"`
			}
			f.must(json.Unmarshal(must2(f.Runs.Report(f.ctx, q))(f), &r))
			if len(r.Rows) != want || want > 0 && (r.Rows[0].Run != last.Attempt.Run || r.Rows[0].Task != last.Attempt.Task || r.Rows[0].Status != "failed") {
				t.Errorf("%+v: %+v", q, r.Rows)
			}
		}
	})
}

func TestHTMLInAPlanComesBackAsJSONOnly(t *testing.T) {
	t.Parallel()
	const evil = `<script>alert(1)</script>&'"<img src=x onerror=alert(1)>`
	f := inMemory(t)
	p := shop()
	p.Name, p.SourceFile = evil, evil
	p.Tasks[0].Name, p.Tasks[0].Prompt, p.Tasks[0].Model, p.Tasks[0].PromptFile, p.Tasks[0].Files = evil, evil, evil, evil, []string{evil}
	p.Tasks[1].ID = strings.ReplaceAll(evil, "/", "")
	run, err := f.Runs.Submit(f.ctx, coordinator.NewRun{Project: evil[:24] + "x", Plan: text(p)})
	f.must(err)
	a, err := f.engine.Claim(f.ctx, engine.Claim{Worker: evil, Labels: []string{"gpu", "project:" + evil[:24] + "x"}})
	f.must(err)
	_, err = f.engine.Ask(f.ctx, engine.Ask{Attempt: a.Attempt.ID, Token: a.Attempt.Token, Text: evil, Options: []string{evil}, Default: evil})
	f.must(err)
	f.finish(a, engine.Finish{Ending: fleet.Ending{Class: failure.Crashed, Summary: evil}, Progress: fleet.Progress{Process: fleet.Process{Thread: evil}}})
	base := "/v1/runs/" + run.ID
	for _, path := range []string{
		"/v1/runs", base, base + "/plan", base + "/tasks/api", base + "/tasks/api/attempts", base + "/tasks/" + url.PathEscape(p.Tasks[1].ID),
		"/v1/runs/find?name=" + url.QueryEscape(evil), "/v1/runs/find?task=" + url.QueryEscape(evil), "/v1/questions", "/v1/questions?run=" + url.QueryEscape(evil),
		"/v1/sessions", "/v1/sessions/" + run.ID + "/status.json", "/v1/records?run=" + run.ID, "/v1/report", "/v1/report?agent=" + url.QueryEscape(evil),
		"/v1/report?since=" + url.QueryEscape(evil), base + "/tasks/api/log?offset=" + url.QueryEscape(evil), "/v1/runs?project=" + url.QueryEscape(evil) + "&limit=x",
	} {
		res := f.get(path)
		if res.header.Get("Content-Type") != "application/json; charset=utf-8" || strings.ContainsAny(res.body, "<>&") || !json.Valid([]byte(res.body)) {
			t.Errorf("%s: %d %v %s", path, res.status, res.header["Content-Type"], res.body)
		}
	}
}
