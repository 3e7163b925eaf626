package runs

import (
	"context"

	"gaffer/fleet"
	"gaffer/internal/api/credential"
	"gaffer/internal/api/protocol"
	"gaffer/internal/engine"
	"gaffer/internal/engine/store"
)

// reviewService answers the requests about reviews of changes and about messages to agents.
type reviewService struct {
	runs          *visibleRuns
	engine        *engine.Engine
	ensureProcess ensureProcess
}

// mayChange returns an error if the client may not change runs, or if the run does not exist or is
// hidden from clients.
func (d *reviewService) mayChange(ctx context.Context, by credential.Identity, run string) error {
	if err := mayChange(by); err != nil {
		return err
	}
	return d.runs.check(ctx, run)
}

// Review implements [server.Runs].
func (d *reviewService) Review(ctx context.Context, run, task string) (fleet.Review, error) {
	if err := d.runs.check(ctx, run); err != nil {
		return fleet.Review{}, err
	}
	return d.engine.Review(ctx, store.TaskKey{Run: run, Task: task})
}

// ChangeReview implements [server.Runs].
func (d *reviewService) ChangeReview(ctx context.Context, by credential.Identity, run, task string, a fleet.ReviewAction) (fleet.Review, error) {
	if err := d.mayChange(ctx, by, run); err != nil {
		return fleet.Review{}, err
	}
	v, err := d.engine.ActOnReview(ctx, store.TaskKey{Run: run, Task: task}, clientName(by), a)
	if err == nil && a.Action == fleet.ActSendBack {
		err = d.ensureProcess.after(ctx, run, "the review is sent back, but ")
	}
	return v, err
}

// Messages implements [server.Runs].
func (d *reviewService) Messages(ctx context.Context, run, task string) ([]fleet.Message, error) {
	if err := d.runs.check(ctx, run); err != nil {
		return nil, err
	}
	return d.engine.Messages(ctx, store.TaskKey{Run: run, Task: task})
}

// Send implements [server.Runs].
func (d *reviewService) Send(ctx context.Context, by credential.Identity, m fleet.Message) (fleet.Message, error) {
	if err := d.mayChange(ctx, by, m.Run); err != nil {
		return m, err
	}
	m.By = clientName(by)
	sent, err := d.engine.Send(ctx, m)
	if err == nil {
		err = d.ensureProcess.after(ctx, m.Run, "the message is sent, but ")
	}
	return sent, err
}

// WithdrawMessage implements [server.Runs].
func (d *reviewService) WithdrawMessage(ctx context.Context, by credential.Identity, run, task, id string) error {
	all, err := d.Messages(ctx, run, task)
	if err != nil {
		return err
	}
	if err := mayChange(by); err != nil {
		return err
	}
	for _, m := range all {
		if m.ID == id {
			return d.engine.WithdrawMessage(ctx, id, clientName(by))
		}
	}
	return protocol.NotFound(store.ErrNotFound, "message", id)
}

// Interrupt implements [server.Runs].
func (d *reviewService) Interrupt(ctx context.Context, by credential.Identity, run, task string) error {
	if err := d.mayChange(ctx, by, run); err != nil {
		return err
	}
	if err := d.engine.Interrupt(ctx, store.TaskKey{Run: run, Task: task}, clientName(by)); err != nil {
		return err
	}
	return d.ensureProcess.after(ctx, run, "it is interrupted, but ")
}
