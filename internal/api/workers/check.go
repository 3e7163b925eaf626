package workers

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"gaffer/coordinator"
	"gaffer/fleet"
	"gaffer/internal/api/protocol"
	"gaffer/internal/engine"
	"gaffer/internal/engine/store"
)

// The limits of what a worker's requests may contain.
const (
	maxLabel  = 200
	maxLabels = 64
	maxSlots  = 1000
	maxHeld   = 1000
	maxAsking = 100
	// maxDelivered is the maximum number of delivered messages that one request may list.
	maxDelivered = 10_000
	maxShort     = 200     // maximum length of a short field, such as a host name, in bytes
	maxDoing     = 1000    // maximum length of the text that says what an agent does, in bytes
	maxPath      = 4 << 10 // maximum length of a path, in bytes
	maxOption    = 1000    // maximum length of an option of a question, in bytes
	maxOptions   = 50
	maxPrograms  = 100
)

// firstError returns the first error that is not nil.
func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func checkBeat(b coordinator.WorkBeat) error {
	w := b.Worker
	err := firstError(
		protocol.CheckID("worker.id", w.ID),
		protocol.CheckID("worker.name", w.Name),
		checkLabels(w.Labels),
		checkAgents(w.Agents),
		checkWorkerLabels(w.Labels, w.Name),
		protocol.CheckNumber("worker.slots", w.Slots, 0, maxSlots),
		protocol.CheckLine("worker.version", w.Version, maxShort),
		protocol.CheckLine("worker.host", w.Host, maxShort),
		protocol.CheckNumber("held", len(b.Held), 0, maxHeld),
		protocol.CheckNumber("worker.programs", len(w.Programs), 0, maxPrograms),
	)
	for _, p := range w.Programs {
		err = firstError(err, protocol.CheckLine("worker.programs.name", p.Name, maxShort), protocol.CheckLine("worker.programs.version", p.Version, maxShort), protocol.CheckText("worker.programs.problem", p.Problem, maxPath))
		if err == nil && !printable(p.Name+p.Version) {
			err = protocol.Invalid("worker.programs: %.40q has what cannot be printed", p.Name)
		}
	}
	for _, h := range b.Held {
		err = firstError(err, checkHeld(h))
	}
	return err
}

func checkHeld(h coordinator.HeldWork) error {
	err := firstError(protocol.CheckID("attempt", h.Attempt), protocol.CheckNumber("asking", len(h.Asking), 0, maxAsking), checkProgress("now", h.Now.Progress))
	for _, id := range h.Asking {
		err = firstError(err, protocol.CheckID("asking", id))
	}
	err = firstError(err, protocol.CheckNumber("dropped", len(h.Dropped), 0, maxAsking))
	for _, ref := range h.Dropped {
		err = firstError(err, protocol.CheckText("dropped", ref, maxPath))
	}
	return firstError(err, checkDelivered(h.Delivered))
}

func checkDelivered(messages []string) error {
	err := protocol.CheckNumber("delivered", len(messages), 0, maxDelivered)
	for _, id := range messages {
		err = firstError(err, protocol.CheckID("delivered", id))
		if err == nil && !printable(id) {
			err = protocol.Invalid("delivered: %.40q has what cannot be printed", id)
		}
	}
	return err
}

func checkProgress(of string, p fleet.Progress) error {
	return firstError(
		protocol.CheckLine(of+".state", p.State, maxShort), protocol.CheckText(of+".doing", p.Doing, maxDoing),
		protocol.CheckLine(of+".source", p.Source, maxShort), protocol.CheckLine(of+".thread", p.Thread, maxShort),
		protocol.CheckText(of+".log", p.Log, maxPath), protocol.CheckText(of+".compacted", p.Compacted, maxDoing),
		protocol.CheckLine(of+".sandbox", p.Sandbox, maxShort),
	)
}

// checkLabels returns an error if there are too many labels or one of them is invalid. A label must
// not contain a comma, because the store keeps labels as one comma-separated text.
func checkLabels(labels []string) error {
	err := protocol.CheckNumber("labels", len(labels), 0, maxLabels)
	for _, label := range labels {
		err = firstError(err, protocol.CheckLine("labels", label, maxLabel))
		if err == nil && (strings.TrimSpace(label) == "" || strings.Contains(label, ",") || !printable(label)) {
			err = protocol.Invalid("labels: %.40q is empty, or has a comma or what cannot be printed", label)
		}
	}
	return err
}

// maxAgents is the maximum number of agents that a worker may list as those that it can run.
const maxAgents = 100

func checkAgents(agents []string) error {
	err := protocol.CheckNumber("agents", len(agents), 0, maxAgents)
	for _, name := range agents {
		err = firstError(err, protocol.CheckID("agents", name))
		if err == nil && !printable(name) {
			err = protocol.Invalid("agents: %.40q has what cannot be printed", name)
		}
	}
	return err
}

func printable(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) })
}

// checkWorkerLabels returns an error if the worker called name has the label of another worker.
// Each worker may have a label of its own that contains the worker's name, and tasks that require
// this label run only on that worker.
func checkWorkerLabels(labels []string, name string) error {
	for _, label := range labels {
		place, ok := strings.CutPrefix(label, engine.WorkerLabel(""))
		if ok && place != name {
			return protocol.Invalid("labels: %.60q selects another worker than %s", label, name)
		}
	}
	return nil
}

func splitLabels(row string) []string {
	if row == "" {
		return nil
	}
	return strings.Split(row, ",")
}

func checkClaim(c coordinator.WorkClaim, keyed bool) error {
	err := firstError(protocol.CheckID("worker", c.Worker), checkLabels(c.Labels), checkAgents(c.Agents), checkAccounts(c.Accounts), protocol.CheckLine("key", c.Key, maxShort))
	if err == nil && keyed && c.Key == "" {
		err = protocol.Invalid("key: is missing")
	}
	return err
}

// maxAccounts is the maximum number of accounts of agent programs that a worker may list when it
// claims a task.
const maxAccounts = 256

func checkAccounts(list []coordinator.WorkAccount) error {
	err := protocol.CheckNumber("accounts", len(list), 0, maxAccounts)
	for _, a := range list {
		err = firstError(err, protocol.CheckID("accounts.agent", a.Agent), protocol.CheckID("accounts.name", a.Name))
		if err == nil && !printable(a.Agent+a.Name) {
			err = protocol.Invalid("accounts: %.40q or %.40q has what cannot be printed", a.Agent, a.Name)
		}
	}
	return err
}

func checkTurn(t coordinator.WorkTurn) error {
	f := t.Finish
	err := firstError(
		protocol.CheckID("finish.attempt", f.Attempt), protocol.CheckLine("finish.class", string(f.Class), maxShort),
		protocol.CheckText("finish.summary", f.Summary, coordinator.MaxWorkText), protocol.CheckText("finish.answer", f.Answer, coordinator.MaxWorkAnswer),
		protocol.CheckNumber("finish.checks", len(f.Checks), 0, coordinator.MaxWorkChecks),
		protocol.CheckNumber("finish.diff", len(f.Diff), 0, coordinator.MaxWorkDiff), checkProgress("finish", f.Progress),
	)
	err = firstError(err, protocol.CheckNumber("finish.denied", len(f.Denied), 0, coordinator.MaxWorkDenied))
	for _, what := range f.Denied {
		err = firstError(err, protocol.CheckText("finish.denied", what, maxDoing))
	}
	err = firstError(err, checkDelivered(f.Delivered))
	if t.Claim != nil {
		err = firstError(err, checkClaim(*t.Claim, false))
	}
	return err
}

// checkQuestion returns an error if a question is invalid. The field Ref must not be empty: the id
// of the question is derived from the attempt and from Ref, the agent's own id of the question.
func checkQuestion(q coordinator.WorkQuestion) error {
	err := firstError(
		protocol.CheckID("attempt", q.Attempt), protocol.CheckText("ref", q.Ref, maxPath),
		protocol.CheckText("text", q.Text, coordinator.MaxWorkText), protocol.CheckText("default", q.Default, maxOption),
		protocol.CheckNumber("options", len(q.Options), 0, maxOptions),
		protocol.CheckText("tool", q.Tool, maxOption), protocol.CheckText("dir", q.Dir, maxPath),
		protocol.CheckNumber("input", len(q.Input), 0, coordinator.MaxWorkText), protocol.CheckNumber("suggestions", len(q.Suggestions), 0, maxOptions),
	)
	for _, s := range q.Suggestions {
		err = firstError(err, protocol.CheckText("suggestions", s, coordinator.MaxWorkText))
	}
	for _, o := range q.Options {
		err = firstError(err, protocol.CheckText("options", o, maxOption))
	}
	if err == nil && q.Ref == "" {
		err = protocol.Invalid("ref: is missing")
	}
	return err
}

func checkRelease(r coordinator.WorkRelease) error {
	err := firstError(protocol.CheckID("worker", r.Worker), protocol.CheckNumber("attempts", len(r.Attempts), 0, maxHeld))
	for _, h := range r.Attempts {
		err = firstError(err, checkHeld(h))
	}
	return err
}

func nameKey(name string) store.ItemKey { return store.ItemKey{Kind: "worker-name", ID: name} }

// setName gives a worker its name, or returns an error if the name is taken. Users may submit a run
// for a worker by name, so two online workers must not have the same name. The id of a run is not
// allowed as a name either, because for a local run gaffer creates a worker that has the run's id.
func setName(s *engine.Tx, w store.Worker, name string) error {
	item, err := s.Item(nameKey(name))
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	var has string
	if err == nil {
		if err := json.Unmarshal(item.Data, &has); err != nil {
			return fmt.Errorf("stored name %s: %w", name, err)
		}
	}
	if has == w.ID {
		return nil
	}
	if err := checkNameFree(s, has, name); err != nil {
		return err
	}
	data, err := json.Marshal(w.ID)
	if err != nil {
		return err
	}
	s.PutItem(store.Item{ItemKey: nameKey(name), Data: data, Made: s.Now()})
	return nil
}

// checkNameFree returns an error if name is the id of a run or the name of another online worker.
// The parameter lastHolder is the id of the worker that got the name last. It is empty if no worker
// has had the name.
func checkNameFree(s *engine.Tx, lastHolder, name string) error {
	if _, err := s.Run(name); !errors.Is(err, store.ErrNotFound) {
		return firstError(err, protocol.Invalid("worker.name: %s is a run", name))
	}
	if lastHolder == "" {
		return nil
	}
	other, err := s.Worker(lastHolder)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err == nil && other.Name == name && s.Now().Sub(other.Seen) < coordinator.OfflineAfter {
		return protocol.Conflict("name_taken", "another worker is called %s and sent a heartbeat %s ago: choose another name", name, s.Now().Sub(other.Seen).Round(1e9))
	}
	return err
}
