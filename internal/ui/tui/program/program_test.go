package program

import (
	"context"
	"errors"
	"testing"
	"time"
)

// echo is a model that returns every key as an action and ignores other events.
type echo struct{}

type result struct{}

func (echo) Rows() []string { return nil }

func (echo) Update(event any) (echo, []any) {
	if _, ok := event.(Key); ok {
		return echo{}, []any{event}
	}
	return echo{}, nil
}

func TestAFailureThatWasShownIsNotReportedAgain(t *testing.T) {
	t.Parallel()
	a := adapter[echo]{now: time.Now, pending: &pending{tasks: map[*started]bool{}}, perform: func(any) Task {
		return Task{Name: "cancel", Do: func() (any, error) { return result{}, errors.New("no") }}
	}}
	_, cmd := a.Update(Key{Name: "c"})
	p := Program{pending: a.pending}
	if err := p.Finish(context.Background()); err == nil || err.Error() != "cancel: no" {
		t.Errorf("it was not seen, and is told as %v", err)
	}
	a.Update(cmd())
	if err := p.Finish(context.Background()); err != nil {
		t.Errorf("told again: %v", err)
	}
}
