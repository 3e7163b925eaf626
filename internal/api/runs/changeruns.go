package runs

import (
	"cmp"
	"context"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"gaffer/fleet"
	"gaffer/internal/api/credential"
	"gaffer/internal/api/protocol"
	"gaffer/internal/engine"
	"gaffer/internal/engine/runquery"
	"gaffer/internal/engine/store"
	"gaffer/internal/plan"
)

// mayChange returns an error unless the client's role may change runs.
func mayChange(by credential.Identity) error {
	if by.Role == credential.Admin || by.Role == credential.Operator {
		return nil
	}
	return protocol.Denied("a token of role %s may not do this: use one of role operator or admin", by.Role)
}

const (
	maxReason = 16 << 10
	maxAnswer = 64 << 10
)

func checkText(field, text string, most int) error {
	switch {
	case len(text) > most:
		return protocol.Invalid("%s: has %d bytes, and may have %d", field, len(text), most)
	case !utf8.ValidString(text) || strings.IndexByte(text, 0) >= 0:
		return protocol.Invalid("%s: is not text", field)
	}
	return nil
}

// runChanger answers the requests that create and change runs.
type runChanger struct {
	runs          *visibleRuns
	query         *runquery.Querier
	engine        *engine.Engine
	now           func() time.Time
	random        io.Reader
	addMergeTasks func(p plan.Plan, run string) (plan.Plan, error) // see [Options.AddMergeTasks]; may be nil
	ensureProcess ensureProcess
}

// mayChange returns an error if the client's role may not change runs, if the run does not exist,
// or if the run is hidden from clients.
func (d *runChanger) mayChange(ctx context.Context, by credential.Identity, run string) error {
	if err := mayChange(by); err != nil {
		return err
	}
	return d.runs.check(ctx, run)
}

// Cancel implements [server.Runs].
func (d *runChanger) Cancel(ctx context.Context, by credential.Identity, run, task, why string) error {
	if err := cmp.Or(d.mayChange(ctx, by, run), checkText("why", why, maxReason)); err != nil {
		return err
	}
	if err := d.engine.Cancel(ctx, engine.Target{Run: run, Task: task}, clientName(by), why); err != nil {
		return err
	}
	return d.ensureProcess.after(ctx, run, "it is cancelled, but ")
}

// Retry implements [server.Runs].
func (d *runChanger) Retry(ctx context.Context, by credential.Identity, run, task string, budget fleet.Cost) error {
	if err := cmp.Or(d.mayChange(ctx, by, run), checkBudget(budget)); err != nil {
		return err
	}
	if task == "" {
		return protocol.Invalid("task: is missing")
	}
	if err := d.engine.RetryWith(ctx, engine.Retrying{
		TaskKey: store.TaskKey{Run: run, Task: task}, Who: clientName(by), Why: "a person asked for it", Budget: engine.BudgetOf(budget),
	}); err != nil {
		return err
	}
	return d.ensureProcess.after(ctx, run, "it is queued again, but ")
}

// Resume implements [server.Runs].
func (d *runChanger) Resume(ctx context.Context, by credential.Identity, run string, budget fleet.Cost) error {
	if err := cmp.Or(mayChange(by), checkBudget(budget)); err != nil {
		return err
	}
	if budget != (fleet.Cost{}) {
		if err := d.mayChange(ctx, by, run); err != nil {
			return err
		}
		if err := d.engine.RaiseBudget(ctx, engine.Raise{Run: run, Who: clientName(by), Why: "a person raised the budget", Budget: engine.BudgetOf(budget)}); err != nil {
			return err
		}
		return d.ensureProcess.after(ctx, run, "its budget is raised, but ")
	}
	row, err := d.runs.get(ctx, run)
	if err != nil {
		return err
	}
	if row.Status.Final() {
		return protocol.Conflict("conflict", "run %s: is %s; retry a task of it", run, row.Status)
	}
	return d.ensureProcess.after(ctx, run, "")
}

// checkBudget returns an error if a budget is negative, not a number, or implausibly large.
func checkBudget(b fleet.Cost) error {
	if !(b.USD >= 0 && b.USD <= 1e9) || b.Tokens < 0 || b.Tokens > 1e15 {
		return protocol.Invalid("budget: want an amount that is not negative")
	}
	return nil
}
