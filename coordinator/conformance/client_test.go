package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"gaffer/coordinator"
)

func TestTheClientAsksForEveryRouteAndUnderstandsTheAnswers(t *testing.T) {
	t.Parallel()
	target := newReference(t, "")
	c, err := coordinator.New(target.URL, coordinator.Options{Token: target.Token})
	ctx := t.Context()
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	ok(err)
	ok(c.Health(ctx))
	agent, err := c.Agents.Heartbeat(ctx, coordinator.Heartbeat{Name: "a", ClaudeStatus: coordinator.Idle, Meta: json.RawMessage(`{"slots":2}`)})
	ok(err)
	channel, err := c.Channels.Add(ctx, "a channel ü", "what for")
	ok(err)
	byName, err := c.Channels.ByName(ctx, "missing")
	if e := refusal(t, err); !e.NotFound() {
		t.Errorf("a missing channel is %v and %v", byName, err)
	}
	channels, err := c.Channels.List(ctx)
	ok(err)
	chain, err := c.Chains.Add(ctx, coordinator.NewChain{ChannelID: channel.ID, Name: "row"})
	ok(err)
	chains, err := c.Chains.List(ctx)
	ok(err)
	task, err := c.Tasks.Add(ctx, coordinator.NewTask{ChannelID: channel.ID, ChainID: chain.ID, Sequence: 1, Title: "t", Priority: 3})
	ok(err)
	claimed, err := c.Tasks.Claim(ctx, coordinator.Claim{AgentID: agent.ID, ChannelID: channel.ID, IdempotencyKey: "k"})
	ok(err)
	_, err = c.Tasks.Claim(ctx, coordinator.Claim{AgentID: agent.ID, ChannelID: channel.ID})
	if e := refusal(t, err); e.Code != coordinator.NoTasks || !e.NotFound() {
		t.Errorf("with nothing waiting: %v", err)
	}
	_, err = c.Agents.Heartbeat(ctx, coordinator.Heartbeat{AgentID: agent.ID, Name: "a", ClaudeStatus: coordinator.Running, CurrentTaskID: task.ID})
	ok(err)
	current, err := c.Agents.CurrentTask(ctx, agent.ID)
	ok(err)
	subscribed, err := c.Agents.Subscribe(ctx, agent.ID, []string{"a channel ü"})
	ok(err)
	input, err := c.Tasks.AddInput(ctx, coordinator.NewInput{TaskID: task.ID, AgentID: agent.ID, Kind: "text", Text: "y", SendEnter: true})
	ok(err)
	taken, err := c.Tasks.ClaimInput(ctx, task.ID, agent.ID)
	ok(err)
	_, err = c.Tasks.ClaimInput(ctx, task.ID, agent.ID)
	if e := refusal(t, err); e.Code != coordinator.NoInputs {
		t.Errorf("with no input: %v", err)
	}
	newEvent := coordinator.NewEvent{AgentID: agent.ID, TaskID: task.ID, Type: coordinator.TaskPrompt, Payload: json.RawMessage(`{"kind":"yes_no"}`), IdempotencyKey: "e"}
	event, deduped, err := c.Events.Add(ctx, newEvent)
	ok(err)
	_, again, err := c.Events.Add(ctx, newEvent)
	ok(err)
	_, err = c.Tasks.Complete(ctx, coordinator.Report{TaskID: task.ID, AgentID: "another"})
	if e := refusal(t, err); !e.Conflict() {
		t.Errorf("by another: %v", err)
	}
	done, err := c.Tasks.Complete(ctx, coordinator.Report{TaskID: task.ID, AgentID: agent.ID})
	ok(err)
	failed, err := c.Tasks.Fail(ctx, coordinator.Report{TaskID: task.ID, AgentID: agent.ID})
	ok(err)
	agents, err := c.Agents.List(ctx)
	ok(err)
	one, err := c.Agents.Get(ctx, agent.ID)
	ok(err)
	tasks, err := c.Tasks.List(ctx, coordinator.TaskQuery{})
	ok(err)
	events, err := c.Events.List(ctx, 0)
	ok(err)
	board, err := c.Dashboard(ctx)
	ok(err)
	for what, right := range map[string]bool{
		"channels":        len(channels) == 1 && channels[0] == channel,
		"chains":          len(chains) == 1 && chains[0] == chain,
		"claimed":         claimed.ID == task.ID && claimed.Status == coordinator.InProgress && claimed.Priority == 3 && claimed.ClaimedAt != nil,
		"current":         current.ID == task.ID,
		"subscriptions":   len(subscribed.Subscriptions) == 1,
		"input":           taken.ID == input.ID && taken.Text == "y" && taken.SendEnter,
		"event":           !deduped && event.Type == coordinator.TaskPrompt && again,
		"done":            done.Status == coordinator.Done && done.DoneAt != nil && failed.Status == coordinator.Done,
		"agents":          len(agents) == 1 && agents[0].WorkerStatus == coordinator.Online && agents[0].ClaudeStatus == coordinator.Running,
		"agent":           one.ID == agent.ID && string(one.Meta) == `{"slots":2}`,
		"tasks":           len(tasks) == 1 && tasks[0].ID == task.ID,
		"events":          len(events) == 1 && events[0].ID == event.ID,
		"dashboard":       len(board.Agents) == 1 && len(board.Channels) == 1 && len(board.Chains) == 1 && len(board.Tasks) == 1 && len(board.Events) == 1,
		"created at":      !task.CreatedAt.IsZero() && !one.LastSeen.IsZero(),
		"assigned":        done.AssignedAgentID == agent.ID,
		"channel's words": channel.Name == "a channel ü" && channel.Description == "what for",
	} {
		if !right {
			t.Errorf("%s: not as it should be", what)
		}
	}
}

func TestTheClientAsksForWhatTheNewerClientsAskFor(t *testing.T) {
	t.Parallel()
	target := newReference(t, "")
	c, err := coordinator.New(target.URL, coordinator.Options{Token: target.Token})
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	meta := json.RawMessage(`{"state":"setup_waiting","subscriptions":["docs"]}`)
	agent, err := c.Agents.Heartbeat(ctx, coordinator.Heartbeat{Name: "a", ClaudeStatus: coordinator.Idle, Meta: meta})
	ok(err)
	waits, err := c.Notifications.List(ctx)
	ok(err)
	ok(c.Notifications.Dismiss(ctx, agent.ID, coordinator.SetupWaiting))
	channel, err := c.Channels.Add(ctx, "docs", "")
	ok(err)
	session, err := c.Agents.RequestSession(ctx, coordinator.NewSession{ChannelName: "docs"})
	ok(err)
	given, err := c.Tasks.Assign(ctx, coordinator.Assignment{TaskID: session.ID, AgentID: agent.ID})
	ok(err)
	back, err := c.Tasks.SetStatus(ctx, session.ID, coordinator.Queued)
	ok(err)
	chain, err := c.Chains.Add(ctx, coordinator.NewChain{Name: "row", ChannelID: channel.ID})
	ok(err)
	changed, err := c.Chains.Change(ctx, chain.ID, coordinator.ChainChange{Name: "line"})
	ok(err)
	owned, err := c.Chains.Assign(ctx, chain.ID, agent.ID)
	ok(err)
	ok(c.Chains.Detach(ctx, chain.ID, agent.ID))
	free, err := c.Chains.Get(ctx, chain.ID)
	ok(err)
	ok(c.Chains.Delete(ctx, chain.ID))
	if _, err := c.Chains.Get(ctx, chain.ID); !refusal(t, err).NotFound() {
		t.Errorf("deleted: %v", err)
	}
	for what, right := range map[string]bool{
		"notification": len(waits) == 1 && waits[0].AgentID == agent.ID && waits[0].Channel == "docs",
		"session":      session.Type == coordinator.SessionRequest && session.SessionToken != "",
		"assigned":     given.Status == coordinator.InProgress && given.AssignedAgentID == agent.ID,
		"given back":   back.Status == coordinator.Queued,
		"chain":        changed.Name == "line" && owned.OwnerAgentID == agent.ID && free.OwnerAgentID == "",
	} {
		if !right {
			t.Errorf("%s: not as it should be", what)
		}
	}
}

func TestTheClientFollowsTheStream(t *testing.T) {
	t.Parallel()
	target := newReference(t, "")
	c, err := coordinator.New(target.URL, coordinator.Options{Token: target.Token})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"one", "two", "three"} {
		if _, err := c.Channels.Add(t.Context(), name, ""); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	enough := errors.New("enough")
	var names []string
	err = c.Stream(ctx, coordinator.StreamQuery{After: "0"}, func(change coordinator.Change) error {
		var channel coordinator.Channel
		if err := json.Unmarshal(change.Change, &channel); err != nil || change.Type != "channels" || change.ID == "" || change.Gap {
			t.Errorf("change is %+v: %v", change, err)
		}
		if names = append(names, channel.Name); len(names) == 3 {
			return enough
		}
		return nil
	})
	if !errors.Is(err, enough) || len(names) != 3 || names[0] != "one" || names[2] != "three" {
		t.Errorf("the stream sent %q and ended with %v", names, err)
	}
}

func refusal(t *testing.T, err error) *coordinator.Error {
	t.Helper()
	e, ok := errors.AsType[*coordinator.Error](err)
	if !ok {
		t.Fatalf("got %v, want a refusal", err)
	}
	return e
}
