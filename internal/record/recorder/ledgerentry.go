package recorder

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"gaffer/fleet"
	"gaffer/internal/engine"
	"gaffer/internal/engine/failure"
	"gaffer/internal/engine/store"
	"gaffer/internal/plan"
	"gaffer/ledger"
	"gaffer/statefile/timestamp"
)

// entry is a record to write to the ledger, a folder with the records of attempts. It describes the
// start or the end of an attempt. The entry for an end also has the data of the start, because the
// start may not have been written.
type entry struct {
	seq     int64
	task    string
	number  int
	retries int
	started time.Time
	// fallback is the agent that replaces the task's own agent in this attempt. It is empty if the
	// agent is not replaced.
	fallback string
	result   *ledger.Result // how the attempt ended; nil for a start
	// end is set only in the entry for a start, and only if the attempt's end is written together
	// with its start. It says how the attempt ended.
	end     *ledger.Result
	written bool // the start was already written in a batch, together with the attempt's end
}

// entryOf returns the ledger entry for an event, or false if the event needs none. The parameter
// stopping says whether the run is stopping. If so, no attempt is retried.
func entryOf(n eventContent, stopping bool) (entry, bool) {
	if n.task == nil || n.attempt == nil {
		return entry{}, false
	}
	e := entry{seq: n.Seq, task: n.Task, number: n.attempt.Number, retries: n.task.Retries, started: n.attempt.Started, fallback: n.attempt.Fallback}
	if n.attempt.Status.Final() {
		e.result = resultOf(*n.attempt)
		e.result.WillRetry = n.task.Status == store.Queued && n.attempt.Status != store.Complete && !stopping
	}
	return e, true
}

// resultOf returns the ledger's record of how an attempt ended. The field OutputSummary is the
// agent's last message, or what went wrong. If the attempt succeeded, the field Reason is the same
// text, or "done" if there is no such text. Otherwise Reason is the failure class, so that reports
// can count the failures of each class.
func resultOf(a store.Attempt) *ledger.Result {
	r := &ledger.Result{
		Attempt: a.Number, FinishedAt: timestamp.Format(a.Ended), ExitCode: exitOf(a), Verification: verificationOf(a.Checks),
	}
	if a.Summary != "" {
		r.OutputSummary = pointerTo(ledger.Summary(a.Summary))
	}
	switch {
	case a.Status == store.Complete:
		r.Status, r.Reason = ledger.Done, cmp.Or(ledger.Summary(a.Summary), string(ledger.Done))
	case a.Status == store.Cancelled:
		r.Status, r.Reason = ledger.Failed, string(failure.Cancelled)
	case a.Class == failure.TimedOut:
		r.Status, r.Reason = ledger.TimedOut, string(a.Class)
	default:
		r.Status, r.Reason = ledger.Failed, string(cmp.Or(a.Class, failure.Crashed))
	}
	return r
}

// verificationOf combines the results of the commands that checked an attempt's work. It returns
// nil if there are no results. It sets only the field Overall, because it cannot tell which
// commands are linters and which are tests.
func verificationOf(checks json.RawMessage) *ledger.Verification {
	var list []fleet.Check
	if json.Unmarshal(checks, &list) != nil || len(list) == 0 {
		return nil
	}
	for _, c := range list {
		if !c.OK {
			return &ledger.Verification{Overall: "fail"}
		}
	}
	return &ledger.Verification{Overall: "pass"}
}

// runOf returns the run record of an attempt, which says what was started. The parameter previous
// is the task's previous attempt, or nil. The parameter messages has the texts of the users'
// messages in the attempt's first prompt. The record's MaxRetries is at least 1, because the
// ledger's schema does not allow 0.
func (e entry) runOf(b bead, project string, spec plan.Task, previous *store.Attempt, messages []string) ledger.Run {
	agent, model := engine.AgentOfAttempt(spec, e.fallback)
	d := ledger.Dispatch{
		Bead: b.name, Agent: agent, Model: cmp.Or(model, "default"), Repo: project,
		Prompt:  engine.WithMessages(cmp.Or(engine.Prompt(spec, previous), strings.Join(spec.Argv, " ")), messages),
		Attempt: b.earlier + e.number, MaxRetries: max(e.retries, 1),
	}
	if bead := spec.Dispatch; bead != nil {
		d.Repo, d.Template, d.Session = bead.Repo, bead.Template, bead.Session
	}
	return ledger.NewRun(d, e.started)
}

// messagesOf returns the texts of the users' messages in an attempt's first prompt. It leaves out
// messages that the agent received later, because the prompt in a run record never changes.
func messagesOf(from store.Reader, a store.Attempt) (texts []string, err error) {
	for _, id := range a.PromptMessages {
		item, err := from.Item(store.ItemKey{Kind: engine.MessageKind, ID: id})
		if errors.Is(err, store.ErrNotFound) {
			// Skip the message. Package prune has deleted it, because it was old.
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("message %s: %w", id, err)
		}
		var m fleet.Message
		if err := json.Unmarshal(item.Data, &m); err != nil {
			return nil, fmt.Errorf("message %s: %w", id, err)
		}
		texts = append(texts, m.Text)
	}
	return texts, nil
}

// bead identifies a task in the ledger. A bead is a work item under which the ledger records
// attempts, also those of other runs.
type bead struct {
	name    string
	earlier int // number of earlier attempts at the bead, in other runs or by other tools
}

// beadOf returns the bead of a task. If the task was created for an existing bead, the parameter d
// names this bead. Otherwise d is nil, and beadOf returns a bead with a generated name.
func beadOf(run, task string, d *plan.Dispatch) bead {
	if d != nil {
		return bead{d.Bead, d.Earlier}
	}
	return bead{name: generatedBead(task, run)}
}

// BeadName returns the name of a task's bead, the work item under which the ledger records the
// attempts. earlier is the number of attempts at the bead before the task began.
func BeadName(t store.Task, spec plan.Task) (name string, earlier int) {
	b := beadOf(t.Run, t.Task, spec.Dispatch)
	return b.name, b.earlier
}

// generatedBead returns the bead name of a task that was not created for an existing bead. The name
// consists of "bd-", the task's id, and the last part of the run's id. The last part tells apart
// tasks of different runs, which often have the same ids. If the task's id is too long or otherwise
// cannot be part of a bead name, generatedBead changes this id and adds a hash of it.
func generatedBead(task, run string) string {
	end := "-" + strings.ToValidUTF8(run[max(0, len(run)-8):], "")
	if name := "bd-" + task + end; ledger.CheckBead(name) == nil {
		return name
	}
	end = fmt.Sprintf("-%x", sha256.Sum256([]byte(task)))[:9] + end
	start := "bd-" + strings.ReplaceAll(task, ".attempt-", "-attempt-")
	for len(start)+len(end) > maxBead {
		_, size := utf8.DecodeLastRuneInString(start)
		start = start[:len(start)-size]
	}
	return start + end
}

// maxBead is the maximum length of a bead name in bytes.
const maxBead = 200
