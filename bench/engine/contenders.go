package main

import (
	"context"
	"errors"
	"time"
)

// contender is one of the task queues that are measured.
type contender struct {
	name  string // name for the flag -only
	title string
	// anchor is the name of the contender with which this one is compared. If this contender is not
	// compared with another, anchor is its own name.
	anchor   string
	postgres bool
	// few is true if the contender is also measured with a single client. That is the case for all
	// contenders except River.
	few  bool
	open func(ctx context.Context, p *databases, clients int) (queue, error)
}

// contenders returns all contenders in the order of the printed rows. An anchor comes before the
// contenders that are compared with it.
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

// queue is a queue of tasks in a new database. It is safe for concurrent use.
type queue interface {
	// Submit stores n tasks at once.
	Submit(ctx context.Context, n int) error
	// Drain claims and finishes tasks with the given number of concurrent clients, until no task is
	// left or the duration each has passed.
	Drain(ctx context.Context, clients int, each time.Duration) (result, error)
	Close() error
}

// errEmpty means that no task is left to claim. In the function fill, it means that enough tasks
// were submitted.
var errEmpty = errors.New("no task is left")

// prompt is the text of every task of every contender.
const prompt = "Read the issue, find the function that it is about, write a test that fails, and repair the function."
