package protocol_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gaffer/coordinator"
	"gaffer/internal/api/credential"
	"gaffer/internal/engine"
	"gaffer/internal/plan"
)

func (f *fixture) shows(id string, w coordinator.WorkerStatus, claude, task string) {
	f.t.Helper()
	a, err := f.Agent(f.ctx, id)
	f.must(err)
	if a.WorkerStatus != w || a.ClaudeStatus != claude || a.Status != claude || a.CurrentTaskID != task {
		f.t.Errorf("at %s agent %s is %s, %s (%s), on %q; want %s, %s, on %q", f.clock().Format(time.TimeOnly), id, a.WorkerStatus, a.ClaudeStatus, a.Status, a.CurrentTaskID, w, claude, task)
	}
	all, err := f.Agents(f.ctx)
	f.must(err)
	board, err := f.Dashboard(f.ctx)
	f.must(err)
	if diff := cmp.Diff([]coordinator.Agent{a}, all); diff != "" {
		f.t.Errorf("the list has another (-one +list):\n%s", diff)
	}
	if diff := cmp.Diff(all, board.Agents); diff != "" {
		f.t.Errorf("the dashboard has others (-list +dashboard):\n%s", diff)
	}
}

// Each of the next four tests is a scenario of the protocol: an agent sends a heartbeat every 15 s,
// and is offline 30 s after the last one.
func TestScenario1AWorkerWithoutATaskIsOnlineAndIdle(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		for second := range 60 {
			if second%15 == 0 {
				f.beat(coordinator.Heartbeat{AgentID: "dev", ClaudeStatus: coordinator.Idle})
			}
			f.shows("dev", coordinator.Online, coordinator.Idle, "")
			f.pass(time.Second)
		}
	})
}

func TestScenario2AWorkerWithATaskIsOnlineAndRunningWhenItReportsThat(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		c := f.channel("build")
		f.task(c, "one")
		f.agent("dev")
		f.pass(5 * time.Second)
		task := f.claim("dev", "build")
		for range 5 { // the agent stays idle until it reports another state
			f.shows("dev", coordinator.Online, coordinator.Idle, "")
			f.pass(time.Second)
		}
		for second := range 60 {
			if second%15 == 0 {
				f.beat(coordinator.Heartbeat{AgentID: "dev", ClaudeStatus: coordinator.Running, CurrentTaskID: task.ID})
			}
			f.sweep()
			f.shows("dev", coordinator.Online, coordinator.Running, task.ID)
			f.pass(time.Second)
		}
		done, err := f.Complete(f.ctx, worker, coordinator.Report{TaskID: task.ID, AgentID: "dev"})
		f.must(err)
		if done.Status != coordinator.Done {
			t.Errorf("the task is %s", done.Status)
		}
		f.shows("dev", coordinator.Online, coordinator.Running, task.ID) // the end of a task does not change the agent's state
	})
}

func TestScenario3AWorkerThatCrashedIsOfflineWithItsLastKnownState(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		f.beat(coordinator.Heartbeat{AgentID: "dev", ClaudeStatus: coordinator.Running, CurrentTaskID: "ch-x.y"})
		last := f.clock()
		for second := range 61 {
			want := coordinator.Online
			if second >= 30 {
				want = coordinator.Offline
			}
			f.shows("dev", want, coordinator.Running, "ch-x.y")
			f.pass(time.Second)
		}
		a, err := f.Agent(f.ctx, "dev")
		f.must(err)
		if !a.LastSeen.Equal(last) || !a.ClaudeSince.Equal(last) {
			t.Errorf("last seen %s and said %s, want %s", a.LastSeen, a.ClaudeSince, last)
		}
		f.beat(coordinator.Heartbeat{AgentID: "dev"})
		f.shows("dev", coordinator.Online, coordinator.Running, "")
	})
}

func TestScenario4AnAgentThatAsksIsWaitingAndContinuesAfterTheAnswer(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		c := f.channel("build")
		f.task(c, "one")
		f.agent("dev")
		task := f.claim("dev", "build")
		say := func(status string) {
			f.beat(coordinator.Heartbeat{AgentID: "dev", ClaudeStatus: status, CurrentTaskID: task.ID})
			for range 14 {
				f.pass(time.Second)
				f.shows("dev", coordinator.Online, status, task.ID)
			}
		}
		say(coordinator.Running)
		_, _, err := f.AddEvent(f.ctx, worker, coordinator.NewEvent{AgentID: "dev", TaskID: task.ID, Type: coordinator.TaskPrompt, Payload: json.RawMessage(`{"kind":"yes_no"}`)})
		f.must(err)
		say(coordinator.Waiting)
		_, err = f.AddInput(f.ctx, operator, coordinator.NewInput{TaskID: task.ID, Text: "y", SendEnter: true})
		f.must(err)
		f.shows("dev", coordinator.Online, coordinator.Waiting, task.ID) // an answer does not change the agent's state
		input, err := f.ClaimInput(f.ctx, worker, task.ID, "dev")
		f.must(err)
		if input.Text != "y" || !input.SendEnter || input.Kind != "text" || input.ClaimedAt == nil {
			t.Errorf("the input is %+v", input)
		}
		say(coordinator.Running)
	})
}

func TestClaimingAndEndingATaskLeavesTheAgentAsItWas(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		c := f.channel("build")
		for _, title := range []string{"one", "two"} {
			f.task(c, title)
		}
		before := f.beat(coordinator.Heartbeat{AgentID: "dev", Name: "Dev", ClaudeStatus: "waiting", Meta: json.RawMessage(`{"a":1}`)})
		same := func() {
			t.Helper()
			after, err := f.Agent(f.ctx, "dev")
			f.must(err)
			if diff := cmp.Diff(before, after); diff != "" {
				t.Errorf("the agent has changed:\n%s", diff)
			}
		}
		f.pass(time.Second)
		one := f.claim("dev", "build")
		same()
		_, err := f.Complete(f.ctx, worker, coordinator.Report{TaskID: one.ID, AgentID: "dev"})
		f.must(err)
		same()
		two := f.claim("dev", "build")
		_, err = f.Fail(f.ctx, worker, coordinator.Report{TaskID: two.ID, AgentID: "dev", Reason: "no"})
		f.must(err)
		same()
	})
}

func TestAnOldClientsStatusIsTaken(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	f.beat(coordinator.Heartbeat{AgentID: "dev", Status: "running"})
	f.shows("dev", coordinator.Online, "running", "")
	f.beat(coordinator.Heartbeat{AgentID: "dev", Status: "idle", ClaudeStatus: "waiting"})
	f.shows("dev", coordinator.Online, "waiting", "")
}

func TestAHeartbeatWithoutAnIDGetsOne(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		one, two := f.beat(coordinator.Heartbeat{Name: "dev"}), f.beat(coordinator.Heartbeat{Name: "dev"})
		if one.ID == "" || one.ID == two.ID {
			t.Errorf("the ids are %q and %q", one.ID, two.ID)
		}
		if again := f.beat(coordinator.Heartbeat{AgentID: one.ID}); again.Name != "dev" || !again.CreatedAt.Equal(one.CreatedAt) {
			t.Errorf("heard of again it is %+v", again)
		}
	})
}

func TestAWorkersTokenMayActOnlyForItsOwnAgents(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		c := f.channel("build")
		made := f.task(c, "one")
		f.task(c, "two")
		f.agent("mine")
		_, err := f.Heartbeat(f.ctx, stranger, coordinator.Heartbeat{AgentID: "theirs"})
		f.must(err)
		task := f.claim("mine", "build")
		report := coordinator.Report{TaskID: task.ID, AgentID: "mine"}
		for name, request := range map[string]func(by credential.Identity) error{
			"heartbeat": func(by credential.Identity) error {
				_, err := f.Heartbeat(f.ctx, by, coordinator.Heartbeat{AgentID: "mine", ClaudeStatus: "idle"})
				return err
			},
			"subscribe": func(by credential.Identity) error {
				_, err := f.Subscribe(f.ctx, by, "mine", []string{"x"})
				return err
			},
			"claim": func(by credential.Identity) error {
				_, err := f.Claim(f.ctx, by, coordinator.Claim{AgentID: "mine", Channel: "build"})
				return err
			},
			"complete": func(by credential.Identity) error { _, err := f.Complete(f.ctx, by, report); return err },
			"fail":     func(by credential.Identity) error { _, err := f.Fail(f.ctx, by, report); return err },
			"input": func(by credential.Identity) error {
				_, err := f.AddInput(f.ctx, by, coordinator.NewInput{TaskID: task.ID, Text: "y"})
				return err
			},
			"claim input": func(by credential.Identity) error { _, err := f.ClaimInput(f.ctx, by, task.ID, "mine"); return err },
			"event": func(by credential.Identity) error {
				_, _, err := f.AddEvent(f.ctx, by, coordinator.NewEvent{AgentID: "mine", Type: "x"})
				return err
			},
			"event of a task": func(by credential.Identity) error {
				_, _, err := f.AddEvent(f.ctx, by, coordinator.NewEvent{TaskID: task.ID, Type: "x"})
				return err
			},
		} {
			for _, by := range []credential.Identity{stranger, viewer, {Role: credential.Worker}, {}} {
				f.refused(request(by), "denied", "forbidden")
			}
			if t.Failed() {
				t.Fatal(name)
			}
		}
		// Another worker token cannot complete the task either, even with its own agent's id.
		_, err = f.Complete(f.ctx, stranger, coordinator.Report{TaskID: task.ID, AgentID: "theirs"})
		f.refused(err, "conflict", "not_owner")
		_, err = f.ClaimInput(f.ctx, stranger, task.ID, "theirs")
		f.refused(err, "conflict", "not_owner")
		_, _, err = f.AddEvent(f.ctx, stranger, coordinator.NewEvent{AgentID: "theirs", TaskID: task.ID, Type: "x"})
		f.refused(err, "denied", "forbidden")
		_, err = f.AddInput(f.ctx, stranger, coordinator.NewInput{TaskID: made.ID, Text: "y"})
		f.refused(err, "denied", "forbidden")
		if now, err := f.Task(f.ctx, task.ID); err != nil || now.Status != coordinator.InProgress || now.AssignedAgentID != "mine" {
			t.Errorf("the task is %+v, %v", now, err)
		}
		for _, by := range []credential.Identity{admin, operator} {
			if _, err := f.Complete(f.ctx, by, report); err != nil {
				t.Errorf("%s: %v", by.Role, err)
			}
		}
	})
}

func TestAnAgentKeepsItsIDWithANewTokenOfTheSameNameAndRole(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		f.task(f.channel("build"), "one")
		f.agent("mine")
		task := f.claim("mine", "build")
		rotated := credential.Identity{ID: "t-new", Root: "t-new", Name: worker.Name, Role: worker.Role}
		_, err := f.Heartbeat(f.ctx, rotated, coordinator.Heartbeat{AgentID: "mine", ClaudeStatus: "running"})
		f.must(err)
		_, err = f.Complete(f.ctx, rotated, coordinator.Report{TaskID: task.ID, AgentID: "mine"})
		f.must(err)

		// A worker token with another name may not act for the agent "mine".
		_, err = f.Heartbeat(f.ctx, stranger, coordinator.Heartbeat{AgentID: "mine"})
		f.refused(err, "denied", "forbidden")

		// An agent that an operator registered belongs to no worker token, not even to one with the
		// operator's name.
		_, err = f.Heartbeat(f.ctx, operator, coordinator.Heartbeat{AgentID: "theirs"})
		f.must(err)
		named := credential.Identity{ID: "t-other", Root: "t-other", Name: operator.Name, Role: credential.Worker}
		_, err = f.Heartbeat(f.ctx, named, coordinator.Heartbeat{AgentID: "theirs"})
		f.refused(err, "denied", "forbidden")
	})
}

func TestOnlyOperatorsAndAdminsAddChannelsChainsAndTasks(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	c := f.channel("build")
	for _, by := range []credential.Identity{worker, viewer, {}} {
		_, err := f.AddChannel(f.ctx, by, coordinator.Channel{Name: "x"})
		f.refused(err, "denied", "forbidden")
		_, err = f.AddChain(f.ctx, by, coordinator.Chain{Name: "x"})
		f.refused(err, "denied", "forbidden")
		_, err = f.AddTask(f.ctx, by, coordinator.NewTask{ChannelID: c.ID, Title: "x"})
		f.refused(err, "denied", "forbidden")
	}
	_, err := f.AddChannel(f.ctx, admin, coordinator.Channel{Name: "x"})
	f.must(err)
}

func TestAWorkerOfTheEngineIsNoAgentAndNoTokenGetsHoldOfIt(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	f.beatEngine("machine")
	if list, err := f.Agents(f.ctx); err != nil || len(list) > 0 {
		t.Errorf("agents are %v, %v", list, err)
	}
	_, err := f.Agent(f.ctx, "machine")
	f.refused(err, "not found", "agent_not_found")
	_, err = f.Heartbeat(f.ctx, worker, coordinator.Heartbeat{AgentID: "machine"})
	f.refused(err, "denied", "forbidden")
}

// The first heartbeat creates the worker's row. Before that, another client must not register the
// worker's id, which is the public id of the run.
func TestNoClientMayUseTheIDOfARunsWorkerBeforeItsFirstHeartbeat(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		run, err := f.engine.Submit(f.ctx, engine.Submission{Plan: plan.Plan{Name: "n", Tasks: []plan.Task{{ID: "a"}}}})
		f.must(err)
		for _, by := range []credential.Identity{worker, operator, admin} {
			_, err := f.Heartbeat(f.ctx, by, coordinator.Heartbeat{AgentID: run})
			f.refused(err, "denied", "forbidden")
		}
		f.beatEngine(run)
		_, err = f.Heartbeat(f.ctx, worker, coordinator.Heartbeat{AgentID: run})
		f.refused(err, "denied", "forbidden")
	})
}

func TestSubscriptionsAreKept(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		f.agent("dev")
		a, err := f.Subscribe(f.ctx, worker, "dev", []string{"build", "test"})
		f.must(err)
		again := f.beat(coordinator.Heartbeat{AgentID: "dev", ClaudeStatus: "idle"})
		if strings.Join(again.Subscriptions, " ") != "build test" || strings.Join(a.Subscriptions, " ") != "build test" {
			t.Errorf("subscriptions are %v", again.Subscriptions)
		}
		if told := f.beat(coordinator.Heartbeat{AgentID: "dev", Meta: json.RawMessage(`{"host":"x"}`)}); string(told.Meta) != `{"host":"x","subscriptions":["build","test"]}` {
			t.Errorf("old clients read %s", told.Meta)
		}
		_, err = f.Subscribe(f.ctx, worker, "nobody", nil)
		f.refused(err, "not found", "agent_not_found")
	})
}

func TestWhatIsNotThereIsNotFound(t *testing.T) {
	t.Parallel()
	onEach(t, func(f *fixture) {
		f.agent("dev")
		_, err := f.Agent(f.ctx, "nobody")
		f.refused(err, "not found", "agent_not_found")
		for _, id := range []string{"", "nothing", "ch-x.y", "ch-../../etc.passwd", "r.t", "a b", "\x00", strings.Repeat("x", 1000)} {
			_, err = f.Task(f.ctx, id)
			f.refused(err, "not found", "task_not_found")
		}
		_, err = f.CurrentTask(f.ctx, "dev")
		f.refused(err, "not found", "no_current_task")
		_, err = f.CurrentTask(f.ctx, "nobody")
		f.refused(err, "not found", "agent_not_found")
		_, err = f.Channel(f.ctx, "none")
		f.refused(err, "not found", "channel_not_found")
		_, err = f.Claim(f.ctx, worker, coordinator.Claim{AgentID: "dev", Channel: "none"})
		f.refused(err, "not found", "channel_not_found")
		_, err = f.Claim(f.ctx, worker, coordinator.Claim{AgentID: "dev", ChannelID: "none"})
		f.refused(err, "not found", "channel_not_found")
		_, err = f.Claim(f.ctx, worker, coordinator.Claim{AgentID: "nobody", Channel: "none"})
		f.refused(err, "not found", "agent_not_found")
		_, err = f.AddTask(f.ctx, operator, coordinator.NewTask{ChannelID: "none", Title: "x"})
		f.refused(err, "not found", "channel_not_found")
		_, err = f.AddTask(f.ctx, operator, coordinator.NewTask{ChainID: "none", Title: "x"})
		f.refused(err, "not found", "chain_not_found")
		_, err = f.AddChain(f.ctx, operator, coordinator.Chain{ChannelID: "none", Name: "x"})
		f.refused(err, "not found", "channel_not_found")
		_, err = f.AddInput(f.ctx, operator, coordinator.NewInput{TaskID: "ch-x.y", Text: "x"})
		f.refused(err, "not found", "task_not_found")
		_, _, err = f.AddEvent(f.ctx, operator, coordinator.NewEvent{TaskID: "ch-x.y", Type: "x"})
		f.refused(err, "not found", "task_not_found")
	})
}

func TestTextsThatADatabaseCannotStoreAreRefused(t *testing.T) {
	t.Parallel()
	f := inMemory(t)
	c := f.channel("build")
	long := strings.Repeat("x", 1<<20)
	for _, bad := range []string{"a\x00b", "a\xffb", long} {
		for name, request := range map[string]func() error{
			"agent id": func() error { _, err := f.Heartbeat(f.ctx, worker, coordinator.Heartbeat{AgentID: bad}); return err },
			"name":     func() error { _, err := f.Heartbeat(f.ctx, worker, coordinator.Heartbeat{Name: bad}); return err },
			"status":   func() error { _, err := f.Heartbeat(f.ctx, worker, coordinator.Heartbeat{Status: bad}); return err },
			"meta": func() error {
				_, err := f.Heartbeat(f.ctx, worker, coordinator.Heartbeat{Meta: json.RawMessage(bad)})
				return err
			},
			"task": func() error {
				_, err := f.Heartbeat(f.ctx, worker, coordinator.Heartbeat{CurrentTaskID: bad})
				return err
			},
			"channel": func() error { _, err := f.AddChannel(f.ctx, operator, coordinator.Channel{Name: bad}); return err },
			"chain":   func() error { _, err := f.AddChain(f.ctx, operator, coordinator.Chain{Name: bad}); return err },
			"title": func() error {
				_, err := f.AddTask(f.ctx, operator, coordinator.NewTask{ChannelID: c.ID, Title: bad})
				return err
			},
			"description": func() error {
				_, err := f.AddTask(f.ctx, operator, coordinator.NewTask{ChannelID: c.ID, Title: "x", Description: bad})
				return err
			},
			"claim key": func() error {
				_, err := f.Claim(f.ctx, worker, coordinator.Claim{AgentID: "a", Channel: "build", IdempotencyKey: bad})
				return err
			},
			"reason": func() error {
				_, err := f.Fail(f.ctx, worker, coordinator.Report{TaskID: "ch-x.y", AgentID: "a", Reason: bad})
				return err
			},
			"input": func() error {
				_, err := f.AddInput(f.ctx, operator, coordinator.NewInput{TaskID: "ch-x.y", Text: bad})
				return err
			},
			"event": func() error {
				_, _, err := f.AddEvent(f.ctx, operator, coordinator.NewEvent{Type: bad})
				return err
			},
			"payload": func() error {
				_, _, err := f.AddEvent(f.ctx, operator, coordinator.NewEvent{Type: "x", Payload: json.RawMessage(`"` + bad + `"`)})
				return err
			},
			"subscription": func() error { _, err := f.Subscribe(f.ctx, worker, "a", []string{bad}); return err },
		} {
			if f.refused(request(), "invalid", "invalid_request"); t.Failed() {
				t.Fatalf("%s %.10q", name, bad)
			}
		}
	}
	for _, id := range []string{"a b", "a/b", `a\b`, "..", "a\nb", "\u2028"} {
		_, err := f.Heartbeat(f.ctx, worker, coordinator.Heartbeat{AgentID: id})
		f.refused(err, "invalid", "invalid_request")
	}
	for _, n := range []coordinator.NewTask{
		{ChannelID: c.ID},
		{ChannelID: c.ID, Title: " "},
		{Title: "x"},
		{ChannelID: c.ID, Title: "x", Priority: 1 << 40},
		{ChannelID: c.ID, Title: "x", Sequence: -1},
		{ChannelID: c.ID, Title: "a\nb"},
	} {
		_, err := f.AddTask(f.ctx, operator, n)
		f.refused(err, "invalid", "invalid_request")
	}
	for _, n := range []coordinator.NewInput{{TaskID: "ch-x.y"}, {TaskID: "ch-x.y", Text: "y", Kind: "voice"}, {Text: "y"}} {
		_, err := f.AddInput(f.ctx, operator, n)
		f.refused(err, "invalid", "invalid_request")
	}
	_, _, err := f.AddEvent(f.ctx, worker, coordinator.NewEvent{Type: "x"})
	f.refused(err, "invalid", "invalid_request")
	_, err = f.Claim(f.ctx, worker, coordinator.Claim{AgentID: "a"})
	f.refused(err, "invalid", "invalid_request")
	html := f.beat(coordinator.Heartbeat{AgentID: "h", Name: "<b>&amp;</b>", Meta: json.RawMessage(`{"x":"<script>"}`)})
	if html.Name != "<b>&amp;</b>" || !strings.Contains(string(html.Meta), "<script>") {
		t.Errorf("kept as %q, %s", html.Name, html.Meta)
	}
}
