package main

import (
	"context"
	"errors"
	"time"
)

// contender is a way to hand out tasks.
type contender struct {
	name     string // as -only has it
	title    string
	anchor   string // the name of the contender that it is compared with
	postgres bool
	few      bool // also worth measuring with one client: River fetches for many at once
	open     func(ctx context.Context, p *place, clients int) (queue, error)
}

// contenders lists all. An anchor comes before those that are compared with it.
func contenders() []contender {
	return []contender{
		{name: "bare", title: "bare SQLite", anchor: "bare", few: true, open: openBare},
		{name: "sqlite", title: "gaffer on SQLite", anchor: "bare", few: true, open: openSQLite},
		{name: "river", title: "River", anchor: "river", postgres: true, open: openRiver},
		{name: "skip-locked", title: "plain SKIP LOCKED", anchor: "river", postgres: true, few: true, open: openSkipLocked},
		{name: "postgres", title: "gaffer on PostgreSQL", anchor: "river", postgres: true, few: true, open: openPostgres},
	}
}

func names() (all []string) {
	for _, c := range contenders() {
		all = append(all, c.name)
	}
	return all
}

// queue is tasks that wait in a fresh database. It is safe for concurrent use.
type queue interface {
	// Submit stores n tasks at once.
	Submit(ctx context.Context, n int) error
	// Drain claims tasks and finishes them, by so many clients at once, until
	// none is left or the time is up.
	Drain(ctx context.Context, clients int, each time.Duration) (result, error)
	Close() error
}

// errEmpty is a claim for which there is no task.
var errEmpty = errors.New("no task is left")

// prompt is what each task says, with every contender.
const prompt = "Read the issue, find the function that it is about, write a test that fails, and repair the function."
