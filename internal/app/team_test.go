package app_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gaffer/fleet"
	"gaffer/internal/app"
	"gaffer/internal/flow/teamsession"
	"gaffer/internal/testkit/testenv"
	"gaffer/statefile/host"
	"gaffer/team"
)

// crew is a project with a repository and a team whose fake agents follow scripts.
type crew struct {
	testProject
	dir string // folder for files that agents write and the test reads
}

// newCrew creates a team whose agents follow scripts. In a script, {dir} stands for a folder that
// the agents share, and {root} for the project's root.
func newCrew(t *testing.T, scripts string) crew {
	t.Helper()
	c := crew{newRepository(t), t.TempDir()}
	c.git("config", "user.name", "t")
	c.git("config", "user.email", "t@t")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	settings := fmt.Sprintf("agents:\n  scripted: {like: claude, argv: [%q, fake-agent, --protocol, claude, --scripts, %q]}\nteam:\n  roles:\n", self, c.scripts())
	for _, role := range []string{"pm", "developer", "qa_expert", "tech_lead"} {
		settings += fmt.Sprintf("    %s: {agent: scripted, retries: 0}\n", role)
	}
	c.write("gaffer.yaml", settings)
	c.perform(scripts)
	return c
}

func (c crew) scripts() string { return filepath.Join(c.dir, "scripts") }

// perform replaces the scripts of the agents. It adds to each script a line that records the start
// of the agent.
func (c crew) perform(scripts string) {
	c.t.Helper()
	var b strings.Builder
	for line := range strings.Lines(strings.NewReplacer("{dir}", c.dir, "{root}", c.root).Replace(scripts)) {
		b.WriteString(line)
		if strings.HasPrefix(line, "== ") {
			fmt.Fprintf(&b, "tool echo $GAFFER_TASK >> %s/starts\n", c.dir)
		}
	}
	if err := os.WriteFile(c.scripts(), []byte(b.String()), 0o644); err != nil {
		c.t.Fatal(err)
	}
}

func (c crew) open() *app.App {
	a := c.testProject.open()
	c.t.Cleanup(func() {
		if err := a.Close(); err != nil {
			c.t.Error(err)
		}
	})
	return a
}

// begin creates a session and its run. No agent starts yet.
func (c crew) begin(a *app.App, n teamsession.Request) teamsession.Started {
	c.t.Helper()
	if n.Requirements == "" {
		n.Requirements = "Make it"
	}
	if n.Developers == 0 {
		n.Developers = team.MaxDevelopers
	}
	s, err := a.Teams.Start(c.t.Context(), n)
	if err != nil {
		c.t.Fatal(err)
	}
	return s
}

// finish works on a run until it ends, and returns it.
func (c crew) finish(a *app.App, run string) fleet.Run {
	c.t.Helper()
	r, err := a.Runs.Work(c.t.Context(), run)
	if err != nil {
		c.t.Fatal(err)
	}
	return r
}

// resume continues the session that the documents describe until it ends.
func (c crew) resume(a *app.App) fleet.Run {
	c.t.Helper()
	run, err := a.Teams.Resume(c.t.Context(), teamsession.Request{})
	if err != nil {
		c.t.Fatal(err)
	}
	return c.finish(a, run)
}

// session returns the session's state according to the documents.
func (c crew) session() team.Snapshot {
	c.t.Helper()
	snap, err := team.Open(c.coordination(), team.Options{}).Resume(c.t.Context())
	if err != nil {
		c.t.Fatal(err)
	}
	return snap
}

func (c crew) coordination() string { return filepath.Join(c.root, "coordination") }

// starts returns the ids of the tasks whose agents were started, sorted.
func (c crew) starts() []string {
	c.t.Helper()
	text, err := os.ReadFile(filepath.Join(c.dir, "starts"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		c.t.Fatal(err)
	}
	list := strings.Fields(string(text))
	slices.Sort(list)
	return list
}

// startedOnce fails unless each agent of a run was started once and the documents count all of
// these starts.
func (c crew) startedOnce(run fleet.Run) {
	c.t.Helper()
	var want []string
	for _, t := range run.Tasks {
		if !strings.Contains(t.ID, "-merge-") && !strings.HasPrefix(t.ID, "deliver-") {
			want = append(want, t.ID)
		}
	}
	slices.Sort(want)
	if got := c.starts(); !slices.Equal(got, want) {
		c.t.Errorf("started were %v, want %v", got, want)
	}
	if n := c.session().Orchestrator.TotalSpawns; n != len(want) {
		c.t.Errorf("the documents have %d starts, want %d", n, len(want))
	}
}

// valid fails if the documents do not follow the protocol. The documents of a complete session must
// not contain null.
func (c crew) valid() {
	c.t.Helper()
	findings, err := team.Validate(host.OS(), c.coordination())
	if err != nil {
		c.t.Fatal(err)
	}
	for _, f := range findings {
		c.t.Error(f)
	}
	var nulls []string
	if c.session().Orchestrator.Status != team.SessionCompleted {
		nulls = []string{"mode", "start_time", "end_time", "duration_minutes"}
	}
	for name, doc := range c.documents() {
		checkNulls(c.t, name, "", doc, nulls)
	}
}

func checkNulls(t *testing.T, at, name string, v any, allowed []string) {
	t.Helper()
	switch v := v.(type) {
	case nil:
		if !slices.Contains(allowed, name) {
			t.Errorf("%s is null", at)
		}
	case map[string]any:
		for name, member := range v {
			checkNulls(t, at+"."+name, name, member, allowed)
		}
	case []any:
		for i, item := range v {
			checkNulls(t, fmt.Sprintf("%s[%d]", at, i), "", item, allowed)
		}
	}
}

// documents returns the session's six documents, decoded, by name.
func (c crew) documents() map[string]any {
	c.t.Helper()
	docs := map[string]any{}
	for _, d := range team.Documents() {
		data, err := os.ReadFile(filepath.Join(c.coordination(), d.Path()))
		if err != nil {
			c.t.Fatal(err)
		}
		var v any
		if err := json.Unmarshal(data, &v); err != nil {
			c.t.Fatalf("%s: %v\n%s", d, err, data)
		}
		docs[string(d)] = v
	}
	return docs
}

// merged returns the content of a file in the branch into which approved work is merged.
func (c crew) merged(file string) string {
	c.t.Helper()
	return c.git("show", "gaffer/"+c.session().SessionID()+"/team:"+file)
}

// decisions returns the reasons of the decisions with this name in the decision log.
func (c crew) decisions(name string) (reasons []string) {
	c.t.Helper()
	for _, d := range c.session().Orchestrator.DecisionsLog {
		if d.Decision == name {
			reasons = append(reasons, d.Reasoning)
		}
	}
	return reasons
}

// decided waits until the decision log has a decision with this name.
func (c crew) decided(name string) {
	c.t.Helper()
	testenv.Wait(c.t, "a decision "+name, func() error {
		if len(c.decisions(name)) == 0 {
			return fmt.Errorf("no such decision in session %+v", c.session().Orchestrator)
		}
		return nil
	})
}

// told returns the prompt that a task's agent got.
func (c crew) told(a *app.App, run fleet.Run, task string) string {
	c.t.Helper()
	t, err := a.Fleet.FindTask(c.t.Context(), run.ID+"/"+task)
	if err != nil {
		c.t.Fatal(err)
	}
	return t.Prompt
}

// background starts to work on a run. wait returns the run when it has ended.
func (c crew) background(a *app.App, run string) (wait func() fleet.Run) {
	c.t.Helper()
	type result struct {
		run fleet.Run
		err error
	}
	done := make(chan result, 1)
	ctx, stop := context.WithCancel(c.t.Context())
	go func() {
		r, err := a.Runs.Work(ctx, run)
		done <- result{r, err}
	}()
	c.t.Cleanup(stop)
	return func() fleet.Run {
		c.t.Helper()
		r := <-done
		if r.err != nil {
			c.t.Fatal(r.err)
		}
		return r.run
	}
}
