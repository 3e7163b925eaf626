package recorder

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
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

// entry is the beginning or the end of an attempt, to be written to the ledger.
// It has all that its event says, and of an end also what is needed to write a
// beginning that is gone.
type entry struct {
	seq     int64
	task    string
	number  int
	retries int
	started time.Time
	result  *ledger.Result // of an end
	whole   *ledger.Result // of a beginning whose end is to be written with it
	written bool           // together with others, and its end with it
}

// entryOf returns the entry that an event makes, if it makes one. In a run that
// stops nothing is tried again.
func entryOf(n news, stopping bool) (entry, bool) {
	if n.task == nil || n.tried == nil {
		return entry{}, false
	}
	e := entry{seq: n.Seq, task: n.Task, number: n.tried.Number, retries: n.task.Retries, started: n.tried.Started}
	if n.tried.Status.Final() {
		e.result = resultOf(*n.tried)
		e.result.WillRetry = n.task.Status == store.Queued && !stopping
	}
	return e, true
}

// resultOf says how an attempt ended. Why it failed is one of the failure
// classes, so that reports can count them; what the agent said last is the
// summary, and of one that is done also the reason.
func resultOf(a store.Attempt) *ledger.Result {
	r := &ledger.Result{
		Attempt: a.Number, FinishedAt: timestamp.Format(a.Ended), ExitCode: exitOf(a), Verification: verificationOf(a.Checks),
	}
	if a.Summary != "" {
		r.OutputSummary = text(ledger.Summary(a.Summary))
	}
	switch {
	case a.Status == store.Complete:
		r.Status, r.Reason = ledger.Done, cmp.Or(ledger.Summary(a.Summary), string(ledger.Done))
	case a.Status == store.Cancelled:
		r.Status, r.Reason = ledger.Failed, string(failure.Cancelled)
	case failure.Class(a.Class) == failure.TimedOut:
		r.Status, r.Reason = ledger.TimedOut, a.Class
	default:
		r.Status, r.Reason = ledger.Failed, cmp.Or(a.Class, string(failure.Crashed))
	}
	return r
}

// verificationOf says what the verify commands said together. Which of them is a
// linter and which a test is not known.
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

// runOf is the record of an attempt that begins. The schema has no limit of no
// retries, so that is written as 1.
func (e entry) runOf(as bead, project string, spec plan.Task, before *store.Attempt) ledger.Run {
	d := ledger.Dispatch{
		Bead: as.name, Agent: engine.AgentOf(spec), Model: cmp.Or(spec.Model, "default"), Repo: project,
		Prompt:  cmp.Or(engine.Prompt(spec, before), strings.Join(spec.Argv, " ")),
		Attempt: as.earlier + e.number, MaxRetries: max(e.retries, 1),
	}
	if bead := spec.Dispatch; bead != nil {
		d.Repo, d.Template, d.Session = bead.Repo, bead.Template, bead.Session
	}
	return ledger.NewRun(d, e.started)
}

// bead is what the ledger calls a task.
type bead struct {
	name    string
	earlier int // attempts that it has from before the task
}

// beadOf is the bead of a task: the one that was dispatched, or one of its own.
func beadOf(run, task string, d *plan.Dispatch) bead {
	if d != nil {
		return bead{d.Bead, d.Earlier}
	}
	return bead{name: ownBead(task, run)}
}

// Bead is the name of a task in the ledger, and how many attempts that has from
// before the task.
func Bead(t store.Task, spec plan.Task) (name string, earlier int) {
	b := beadOf(t.Run, t.Task, spec.Dispatch)
	return b.name, b.earlier
}

// ownBead is the ledger's name of a task that is no bead by itself: its id between the protocol's bd- and the
// end of the run's id, since a ledger outlives runs and their tasks are often
// called the same. An id that cannot be part of a bead is cut and told apart by
// its hash.
func ownBead(task, run string) string {
	end := "-" + strings.ToValidUTF8(run[max(0, len(run)-8):], "")
	if name := "bd-" + task + end; ledger.CheckBead(name) == nil {
		return name
	}
	end = fmt.Sprintf("-%x", sha256.Sum256([]byte(task)))[:9] + end
	start := "bd-" + strings.ReplaceAll(task, ".attempt-", "-attempt-")
	for len(start)+len(end) > longestBead {
		_, size := utf8.DecodeLastRuneInString(start)
		start = start[:len(start)-size]
	}
	return start + end
}

// longestBead is as many bytes as a bead may have.
const longestBead = 200
