package runs_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"gaffer/fleet"
	"gaffer/internal/api/credential"
	"gaffer/internal/engine/store"
	"gaffer/internal/plan"
	"gaffer/internal/plan/secret"
)

const hush = "hush-hush-0123456789"

// withValues returns a plan whose tasks have two environment variables: one with a literal value,
// and one that refers to another variable.
func withValues() plan.Plan {
	p := shop()
	for i := range p.Tasks {
		p.Tasks[i].Env = map[string]secret.Value{"API_KEY": secret.Text(hush), "OTHER": {From: secret.File, Path: "~/.secrets/key"}}
	}
	return p
}

func TestSecurityNoRequestShowsTheValuesOfAPlansVariables(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	run := f.submit(withValues()).ID
	paths := []string{
		"/v1/runs/" + run + "/plan", "/v1/runs/" + run, "/v1/runs", "/v1/runs/" + run + "/tasks/api", "/v1/runs/" + run + "/changes",
		"/v1/runs/" + run + "/attempts", "/v1/sessions/" + run + "/status.json", "/v1/records?run=" + run, "/v1/events", "/v1/tasks", "/v1/dashboard",
	}
	for _, role := range credential.Roles() {
		for _, path := range paths {
			status, body := f.read(role, path)
			if strings.Contains(body, hush) {
				t.Errorf("%s, %s: the answer has the value in it:\n%s", role, path, body)
			}
			if status != http.StatusOK && strings.Contains(path, run+"/") {
				t.Errorf("%s, %s: %d %s", role, path, status, body)
			}
		}
	}

	_, body := f.read(credential.Viewer, "/v1/runs/"+run+"/plan")
	var shown struct {
		Plan struct {
			Tasks []struct{ Env map[string]map[string]any }
		} `json:"plan"`
	}
	f.must(json.Unmarshal([]byte(body), &shown))
	if env := shown.Plan.Tasks[0].Env; len(shown.Plan.Tasks) != 2 || env["API_KEY"]["from"] != "hidden" || env["OTHER"]["path"] != "~/.secrets/key" {
		t.Errorf("a viewer sees %s", body)
	}
}

func TestSecurityOnlyAnOperatorWhoAsksForThemSeesTheValuesOfAPlansVariables(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	path := "/v1/runs/" + f.submit(withValues()).ID + "/plan?env=1"
	for role, want := range map[credential.Role]int{credential.Admin: 200, credential.Operator: 200, credential.Viewer: 403, credential.Worker: 403} {
		status, body := f.read(role, path)
		if status != want || strings.Contains(body, hush) != (want == 200) {
			t.Errorf("%s: %d %s", role, status, body)
		}
	}
}

// A plan that was shown without its secret values must not be submitted again, because it would run
// with other values.
func TestSecurityAPlanWithHiddenValuesIsRefused(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	_, body := f.read(credential.Operator, "/v1/runs/"+f.submit(withValues()).ID+"/plan")
	var shown struct {
		Plan json.RawMessage `json:"plan"`
	}
	f.must(json.Unmarshal([]byte(body), &shown))
	var p plan.Plan
	if err := json.Unmarshal(shown.Plan, &p); err == nil || !strings.Contains(err.Error(), "hidden") {
		t.Errorf("read as a plan: %v", err)
	}
}

func (f *fixture) read(role credential.Role, path string) (int, string) {
	f.t.Helper()
	req, err := http.NewRequestWithContext(f.ctx, http.MethodGet, f.url+path, nil)
	f.must(err)
	req.Header.Set("Authorization", "Bearer "+f.secrets[role])
	res, err := http.DefaultClient.Do(req)
	f.must(err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	f.must(err)
	return res.StatusCode, string(body)
}

func TestSecurityATaskThatNoWorkerMayTakeSaysWhy(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	run := f.submit(shop()).ID
	why := func() string {
		t.Helper()
		task, err := f.Runs.Task(f.ctx, run, "api")
		f.must(err)
		whole, err := f.Runs.Get(f.ctx, run)
		f.must(err)
		if whole.Tasks[0].NoWorker != task.NoWorker || whole.Tasks[1].NoWorker != "" {
			t.Errorf("the run says %q and %q, the task %q", whole.Tasks[0].NoWorker, whole.Tasks[1].NoWorker, task.NoWorker)
		}
		return task.NoWorker
	}
	for _, c := range []struct {
		labels string
		about  fleet.WorkerMeta
		want   string
	}{
		{"project:api,gpu", fleet.WorkerMeta{}, "no worker of project web is online"},
		{"project:web", fleet.WorkerMeta{}, "no worker that is online has the labels gpu"},
		{"project:web,gpu", fleet.WorkerMeta{Pools: []string{"tpu"}}, "the tokens of the workers that are online are limited to other pools"},
		{"project:web,gpu", fleet.WorkerMeta{Agents: []string{"codex"}}, "no worker that is online and has its labels runs agent claude"},
		{"project:web,gpu", fleet.WorkerMeta{Agents: []string{"codex", "claude"}, Pools: []string{"gpu"}}, ""},
		{"project:web,gpu", fleet.WorkerMeta{}, ""},
	} {
		about, err := json.Marshal(c.about)
		f.must(err)
		_, err = f.engine.Beat(f.ctx, store.Worker{ID: "w", Name: "w", Labels: c.labels, Meta: about}, nil)
		f.must(err)
		if got := why(); got != c.want {
			t.Errorf("with %s and %s: %q, want %q", c.labels, about, got, c.want)
		}
	}
	f.now = f.now.Add(time.Hour)
	if got := why(); got != "no worker of project web is online" {
		t.Errorf("when it was not heard of for an hour: %q", got)
	}
}
