package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"gaffer/internal/engine/store"
	"gaffer/internal/plan"
)

// ItemReportKind is the Kind of the [store.Item] rows that hold an [ItemReport]. If the report was
// sent, the Parent of the row is the id of its run. If it was not sent yet, the Parent is empty, so
// that one query finds the unsent reports of all runs.
const ItemReportKind = "item-report"

// ItemReport says what gaffer must tell a source of tasks, such as an issue tracker, about the end
// of a task. The transaction that ends the task stores the report, so none is forgotten. A process
// claims the report before it tells the source, and records the result afterwards. If the process
// dies in between, the next process that claims the report finds Tries above 1. It must then check
// whether the source has received the report already.
type ItemReport struct {
	store.TaskKey
	Item plan.SourceItem `json:"item"`
	// Number is 1 for the first end of the task. It increases if the task ends again after the
	// source may have received the previous report.
	Number  int          `json:"number"`
	Status  store.Status `json:"status"`
	Attempt string       `json:"attempt,omitempty"` // id of the task's last attempt; empty if it had none
	Outcome string       `json:"outcome,omitempty"` // why the task has ended, if it is not complete
	Ended   time.Time    `json:"ended"`

	Tries  int             `json:"tries,omitempty"`  // how often a process has claimed the report
	Sender json.RawMessage `json:"sender,omitempty"` // the process that sends the report; empty if none does
	Since  time.Time       `json:"since,omitzero"`   // when Sender has claimed the report
	Next   time.Time       `json:"next,omitzero"`    // earliest time of the next try, after a failed try
	Error  string          `json:"error,omitempty"`  // why the last try failed
	Sent   time.Time       `json:"sent,omitzero"`    // when the report was sent; zero if it was not sent yet
}

func itemReportKey(key store.TaskKey) store.ItemKey {
	return store.ItemKey{Kind: ItemReportKind, ID: TaskItemID(key)}
}

// recordEnd stores a report about the end of a task. It does nothing if the task was made from no
// item of a source, such as an issue, or if the plan wants no report for the item. It also does
// nothing for a candidate, which is one of several tasks that do the same work.
func (i *items) recordEnd(t store.Task, why string) error {
	spec, err := itemSpec(t)
	if err != nil || spec.Item.Report.IsZero() || spec.Candidate != "" {
		return err
	}
	r, err := i.report(t.TaskKey)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	// If the last attempt and the status are those of the stored report, this end of the task is
	// already recorded. This happens, for example, if the task was queued again for a user's
	// message, and the user withdrew the message before a new attempt started.
	if r.Number > 0 && t.LastAttempt != "" && r.Attempt == t.LastAttempt && r.Status == t.Status {
		return nil
	}
	number := r.Number
	// If this is the first report, or the source may have received the previous one, use a new
	// number. If not, replace the previous report, which no process has tried to send.
	if r.Tries > 0 || number == 0 {
		number++
	}
	outcome := t.Outcome
	if outcome == "" && t.Status != store.Complete {
		outcome = why
	}
	return i.putReport(ItemReport{TaskKey: t.TaskKey, Item: spec.Item, Number: number, Status: t.Status, Attempt: t.LastAttempt, Outcome: outcome, Ended: i.now})
}

func (i *items) report(key store.TaskKey) (r ItemReport, err error) {
	item, err := i.Item(itemReportKey(key))
	if err != nil {
		return r, err
	}
	return decodeItemReport(item)
}

func decodeItemReport(item store.Item) (r ItemReport, err error) {
	if err := json.Unmarshal(item.Data, &r); err != nil {
		return r, fmt.Errorf("report %s: %w", item.ID, err)
	}
	return r, nil
}

func (i *items) putReport(r ItemReport) error {
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	row := store.Item{ItemKey: itemReportKey(r.TaskKey), Data: data, Made: r.Ended}
	if !r.Sent.IsZero() {
		row.Parent = r.Run
	}
	i.PutItem(row)
	return nil
}

// ItemReports returns the reports about ended tasks that were not sent to their source (such as an
// issue tracker) yet: those of a run, or of all runs if run is empty.
func (e *Engine) ItemReports(ctx context.Context, run string) (list []ItemReport, err error) {
	err = e.store.Read(ctx, func(r store.Reader) error {
		list = nil
		rows, err := r.Items(ItemReportKind, "", math.MinInt64, math.MaxInt32)
		for _, row := range rows {
			one, err := decodeItemReport(row)
			if err != nil {
				return err
			}
			if run == "" || one.Run == run {
				list = append(list, one)
			}
		}
		return err
	})
	return list, err
}

// ClaimItemReport claims the report about the end of a task for a process, which the parameter
// sender describes. This process must then send the report to the task's source, such as an issue
// tracker, and call FinishItemReport. The function gone must report whether the process of an
// earlier claim has ended. If now is true, the pause after a failed try is ignored. ok is false if
// there is nothing to send at the moment: there is no report, it was sent, another process is
// sending it, its next try is not due, or its task was queued again. If the task was deleted,
// ClaimItemReport deletes the report.
func (e *Engine) ClaimItemReport(ctx context.Context, key store.TaskKey, sender json.RawMessage, now bool, gone func(sender json.RawMessage, since time.Time) bool) (r ItemReport, ok bool, err error) {
	err = e.write(ctx, "", func(tx *transaction) error {
		ok = false
		if r, err = tx.items.report(key); errors.Is(err, store.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		t, err := tx.Task(key)
		switch {
		case errors.Is(err, store.ErrNotFound): // the run was deleted, so there is nothing left to report
			tx.DropItem(itemReportKey(key))
			return nil
		case err != nil:
			return err
		case !r.Sent.IsZero() || !t.Status.Final() || !now && r.Next.After(tx.now), len(r.Sender) > 0 && !gone(r.Sender, r.Since):
			return nil
		}
		r.Tries, r.Sender, r.Since, ok = r.Tries+1, sender, tx.now, true
		return tx.items.putReport(r)
	})
	return r, ok && err == nil, err
}

// reportPause is the pause after the first failed try to send a report. The pause doubles with each
// further try, up to maxReportPause.
const (
	reportPause    = 30 * time.Second
	maxReportPause = time.Hour
)

// FinishItemReport records the result of a try to send a report. If problem is empty, the source
// has received the report. If not, problem says why the try has failed. FinishItemReport does
// nothing if, since the claim, the task has ended again or another process has claimed the report.
func (e *Engine) FinishItemReport(ctx context.Context, claimed ItemReport, problem string) error {
	return e.write(ctx, "", func(tx *transaction) error {
		r, err := tx.items.report(claimed.TaskKey)
		if errors.Is(err, store.ErrNotFound) || err == nil && (r.Number != claimed.Number || r.Tries != claimed.Tries) {
			return nil
		}
		if err != nil {
			return err
		}
		r.Sender, r.Since, r.Error = nil, time.Time{}, problem
		if problem == "" {
			r.Sent, r.Next = tx.now, time.Time{}
		} else {
			r.Next = tx.now.Add(min(reportPause<<min(r.Tries-1, 10), maxReportPause))
		}
		return tx.items.putReport(r)
	})
}
