package runs_test

import (
	"strings"
	"testing"
	"time"

	"gaffer/coordinator"
	"gaffer/internal/api/credential"
	"gaffer/internal/engine"
)

func TestAQuestionWithoutATaskIsAskedOnceAnsweredOnceAndStreamed(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		agent := f.as[credential.Worker]
		ask := coordinator.NewQuestion{From: "claude-7", Ref: "r1", Text: "may I push?", Options: []string{"Allow", "Deny"}, Seconds: 60}
		id := must2(agent.Questions.Ask(f.ctx, ask))(f)
		if again := must2(agent.Questions.Ask(f.ctx, ask))(f); again != id {
			t.Errorf("asked again it is %s, not %s", again, id)
		}
		open := must2(f.Questions.List(f.ctx, ""))(f)
		if len(open) != 1 || open[0].ID != id || open[0].Run != "" || open[0].Task != "claude-7" || len(open[0].Options) != 2 {
			t.Errorf("open are %+v", open)
		}
		f.refused("by an agent", agent.Questions.Answer(f.ctx, id, "Allow", false), 403, "")
		f.must(f.Questions.Answer(f.ctx, id, "Allow", false))
		q := must2(agent.Questions.Get(f.ctx, id))(f)
		if !q.Closed || q.Answer != "Allow" || q.Denied || q.By != "the operator" {
			t.Errorf("it has become %+v", q)
		}
		f.must(agent.Questions.Withdraw(f.ctx, id, "too late")) // the question is already closed, so this changes nothing
		if again := must2(agent.Questions.Get(f.ctx, id))(f); again.Answer != "Allow" {
			t.Errorf("it has become %+v", again)
		}
		told := f.told("")
		if len(told) != 2 || told[0].Type != "questions" || !strings.Contains(string(told[1].Change), `"answer":"Allow"`) {
			t.Errorf("the stream told %+v", told)
		}
	})
}

func TestAQuestionOfNoTaskIsWithdrawnOrRefusedByTime(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		agent := f.as[credential.Worker]
		ask := coordinator.NewQuestion{From: "claude-7", Text: "may I?", Seconds: 60}
		first, second := must2(agent.Questions.Ask(f.ctx, ask))(f), must2(agent.Questions.Ask(f.ctx, ask))(f)
		f.must(agent.Questions.Withdraw(f.ctx, first, "the prompt is shown instead"))
		f.refused("withdrawn", f.Questions.Answer(f.ctx, first, "yes", false), 409, "no agent waits")
		f.pass(time.Minute + time.Second)
		_, err := f.engine.Sweep(f.ctx, time.Time{})
		f.must(err)
		if q := must2(agent.Questions.Get(f.ctx, second))(f); !q.Closed || !q.Denied {
			t.Errorf("it has become %+v", q)
		}
	})
}

func TestAnInvalidQuestionIsRefused(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	agent := f.as[credential.Worker]
	whole := coordinator.NewQuestion{From: "claude-7", Text: "may I?", Seconds: 60}
	for name, spoil := range map[string]func(q *coordinator.NewQuestion){
		"the name of the asking agent is missing": func(q *coordinator.NewQuestion) { q.From = "" },
		"there is no question":                    func(q *coordinator.NewQuestion) { q.Text = "" },
		"more than nothing":                       func(q *coordinator.NewQuestion) { q.Seconds = 0 },
		"seconds: may be 86400":                   func(q *coordinator.NewQuestion) { q.Seconds = 1e300 },
		"text: is not text":                       func(q *coordinator.NewQuestion) { q.Text = "a\x00" },
		"options: are 51":                         func(q *coordinator.NewQuestion) { q.Options = make([]string, 51) },
		"want at most 200 printable":              func(q *coordinator.NewQuestion) { q.From = strings.Repeat("x", 201) },
		"options: has 20000 bytes,":               func(q *coordinator.NewQuestion) { q.Options = []string{strings.Repeat("x", 20_000)} },
	} {
		q := whole
		spoil(&q)
		_, err := agent.Questions.Ask(f.ctx, q)
		f.refused(name, err, 400, name)
	}
	_, err := f.as[credential.Viewer].Questions.Ask(f.ctx, whole)
	f.refused("by a viewer", err, 403, "")
	run := f.submit(shop())
	a := f.claim()
	id, err := f.engine.Ask(f.ctx, engine.Ask{Attempt: a.Attempt.ID, Token: a.Attempt.Token, Text: "may I?"})
	f.must(err)
	f.refused("a task's", agent.Questions.Withdraw(f.ctx, id, ""), 403, "another program has asked it")
	f.refused("a task's, by who may answer it", f.Questions.Withdraw(f.ctx, id, ""), 409, "belongs to task api")
	if open := must2(f.Questions.List(f.ctx, run.ID))(f); len(open) != 1 {
		t.Errorf("open are %+v", open)
	}
}
