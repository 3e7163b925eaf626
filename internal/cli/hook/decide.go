package hook

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"gaffer/fleet"
	"gaffer/internal/byhand/agentproc"
	"gaffer/internal/byhand/hookevents"
	"gaffer/internal/cli/openfleet"
	"gaffer/internal/engine/permission"
	"gaffer/statefile/host"
)

// Answers to an agent's request for permission.
const (
	allow = "Allow"
	deny  = "Deny"
)

// decide answers the question that the agent would otherwise ask at its own prompt. It does nothing
// if the agent asks nothing, if gaffer itself runs the agent, if the setting hooks.answer_within is
// 0, or if the question can be answered only at the agent's own prompt.
//
// If a rule of the user answers the question, decide prints that answer. Otherwise it asks the
// user, and waits for the answer for at most the time in hooks.answer_within. If the user does not
// answer in this time, decide prints nothing, and the agent asks at its own prompt.
func (c *call) decide(ctx context.Context) error {
	if !c.asks() || c.Session.Attempt != "" {
		return nil
	}
	if _, err := locate(c.Env, c.Raw); err != nil {
		return err
	}
	config, err := c.Config()
	if err != nil {
		return err
	}
	within := config.Duration("hooks.answer_within")
	if within <= 0 {
		return nil
	}
	q, ok := c.question(within)
	if !ok {
		return nil
	}
	return c.ask(ctx, q)
}

func (c *call) asks() bool {
	for _, d := range c.Actions {
		if d.Kind == hookevents.AskUser {
			return true
		}
	}
	return false
}

// question returns the question to ask the user: a request for permission, or a multiple-choice
// question of Claude Code. It returns false if the user can answer only at the agent's own prompt.
// That is so, for example, if the agent asks several questions at once, or accepts several options
// as an answer.
func (c *call) question(within time.Duration) (fleet.Ask, bool) {
	q := fleet.Ask{From: c.Session.Worker(), Within: within, Text: c.Session.WaitsFor(), Options: []string{allow, deny}}
	q.Ref = fmt.Sprintf("%s %s %d", c.Session.Session, c.Event.Input, c.Session.At.UnixNano())
	if c.Event.Tool != questionTool {
		return q, true
	}
	if c.Program != agentproc.Claude || len(c.Event.Questions) != 1 {
		return q, false
	}
	one := c.Event.Questions[0]
	q.Text, q.Options = one.Text, one.Options
	return q, one.Text != "" && len(one.Options) > 0 && !one.Many
}

// questionTool is the tool that Claude Code uses to ask the user.
const questionTool = "AskUserQuestion"

// Timeouts of a hook that asks the user. An agent program kills such a hook when it has run 10
// seconds longer than the user's time to answer (see package agentsettings). So the sum of these
// timeouts and of Budget, the time for the hook's other work, must be less than 10 seconds.
const (
	openWithin     = 5 * time.Second // timeout for opening the fleet, reading the rules and storing the question
	withdrawWithin = 2 * time.Second // timeout for removing the question's id from the agent's session document, and closing the question
)

// ask prints the answer that the user's rules give. If no rule gives one, ask stores the question
// for the user, and waits for at most q.Within until the question is answered or no longer needed.
// It prints the answer, if there is one. Before it returns, it closes an unanswered question.
func (c *call) ask(ctx context.Context, q fleet.Ask) error {
	quick, cancel := context.WithTimeout(ctx, openWithin)
	defer cancel()
	f, err := openfleet.OpenFleet(quick, c.Env, func(string) {})
	if err != nil {
		return err
	}
	// Ignore the error of Close: no data is lost, because all changes are already stored.
	defer func() { _ = f.Close() }()
	if d := c.byRules(quick, f); d.Outcome != permission.Asked {
		return c.print(fleet.Answered{Closed: true, Denied: d.Outcome == permission.Denied, Answer: ruleAnswer(d), By: d.By(permission.AskUser)})
	}
	id, err := f.Ask(quick, q)
	if err != nil {
		return err
	}
	c.link(quick, "", id)
	waiting, cancel := context.WithTimeout(ctx, q.Within)
	defer cancel()
	answer, why, err := c.await(waiting, f, id)
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), withdrawWithin)
	defer cancel()
	c.link(last, id, "")
	if why == "" && err == nil {
		return c.print(answer)
	}
	if !answer.Closed {
		err = errors.Join(err, f.Withdraw(last, id, cmp.Or(why, "the hook failed")))
	}
	return err
}

// link replaces the question id oldID by newID in the document about the agent's session, which all
// hooks of the agent share. To add an id, oldID is ""; to remove one, newID is "". The id is stored
// because Codex may kill a hook that waits for an answer: the agent's next hook then finds the id
// in the document, and closes the question.
func (c *call) link(ctx context.Context, oldID, newID string) {
	_, err := c.Folder.Update(ctx, c.Program, c.Session.Session, func(s hookevents.Session) hookevents.Session { return s.Link(oldID, newID) })
	reportError(c.Env, c.Program, err)
}

// withdraw closes the question with this id if it is still open. It is the question of an earlier
// hook that was killed while it waited for the answer.
func (c *call) withdraw(ctx context.Context, id string) error {
	if _, err := locate(c.Env, c.Raw); err != nil {
		return err
	}
	f, err := openfleet.OpenFleet(ctx, c.Env, func(string) {})
	if err != nil {
		return err
	}
	// Ignore the error of Close: no data is lost, because all changes are already stored.
	defer func() { _ = f.Close() }()
	if a, err := f.Question(ctx, id); err != nil || a.Closed {
		return err
	}
	return f.Withdraw(ctx, id, "the agent waits no more")
}

const lookEvery = 250 * time.Millisecond

// await polls the question with this id until it is answered or closed, ctx ends, or no answer is
// needed any more. If there is no answer, either reason or err says why.
func (c *call) await(ctx context.Context, f openfleet.Fleet, id string) (a fleet.Answered, reason string, err error) {
	for {
		a, err := f.Question(ctx, id)
		switch {
		case ctx.Err() == context.DeadlineExceeded:
			return a, "no answer in time", nil
		case ctx.Err() != nil:
			return a, "the agent waits no more", nil
		case err != nil:
			return a, "", err
		case a.Closed && a.By == "":
			return a, "it was closed", nil
		case a.Closed:
			return a, "", nil
		}
		if why := c.notNeededReason(); why != "" {
			return a, why, nil
		}
		select {
		case <-ctx.Done():
		case <-time.After(lookEvery):
		}
	}
}

// notNeededReason returns why the agent no longer needs an answer from the hook. It returns "" if
// the agent still needs one.
func (c *call) notNeededReason() string {
	if host.OS().Alive(c.Session.Process) == host.Dead {
		return "the agent has ended"
	}
	if now := c.Folder.Load(c.Program, c.Session.Session); now.At.After(c.Session.At) && now.Status != hookevents.Waiting {
		return "it was answered at the agent's own prompt"
	}
	return ""
}

// print writes the answer to stdout as the JSON decision that the agent program reads.
func (c *call) print(a fleet.Answered) error {
	decision := map[string]any{"behavior": "allow"}
	switch {
	case a.Denied || c.Event.Tool != questionTool && !strings.EqualFold(strings.TrimSpace(a.Answer), allow):
		decision = map[string]any{"behavior": "deny", "message": denialMessage(a)}
	case c.Event.Tool == questionTool:
		input := map[string]any{}
		if err := json.Unmarshal(c.Raw.Get("tool_input").Raw(), &input); err != nil {
			return err
		}
		input["answers"] = map[string]string{c.Event.Questions[0].Text: a.Answer}
		decision["updatedInput"] = input
	}
	data, err := json.Marshal(map[string]any{"hookSpecificOutput": map[string]any{
		"hookEventName": "PermissionRequest", "decision": decision,
	}})
	if err != nil {
		return err
	}
	return c.Printf("%s\n", data)
}

// denialMessage returns the message that tells the agent that its request was denied, and why.
func denialMessage(a fleet.Answered) string {
	if text := strings.TrimSpace(a.Answer); text != "" && !strings.EqualFold(text, deny) {
		return text
	}
	return cmp.Or(a.By, "the user") + " has denied it"
}
