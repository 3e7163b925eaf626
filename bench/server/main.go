//go:build linux

// Command server measures gaffer's coordinator, which is an HTTP server, on this machine:
// heartbeats, claims with a short and a long queue of tasks, the dashboard, the event stream with
// many readers, and memory. It starts the coordinator as another process, with a database on disk,
// and generates the load.
//
// The server and the load generator share the machine, so the load generator uses as little
// processor time as possible. One thread waits for all connections with epoll. Requests that
// do not change are prepared beforehand. The load generator reads only the status, the
// length and at most two members of an answer.
//
// A client sends its next request when it has received the answer to the previous one. The time of
// a request is measured from before it is written until its answer was read. With the flag -scale,
// requests other than long polls are sent at fixed times instead, and the time of a request is
// measured from the moment at which it was due. In both cases, the time includes delays of the load
// generator itself.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"gaffer/bench/delay"
	"gaffer/internal/engine/store/postgres/pgtest"
)

type settings struct {
	program     string
	db          string
	postgres    string // URL of the PostgreSQL server or its proxy; empty for SQLite
	postgresPID int
	latency     time.Duration
	dir         string
	each        time.Duration
	clients     int
	// short and long are the lengths of the two queues with which claims are measured.
	short, long int
	connections int // maximum number of open client connections of the measured server; 0 means the server's default
	readers     int
	events      int // events sent per second while the event stream is measured
	workers     int
	only        string
	// depths holds the numbers of queued tasks for [bench.growth]. If it is not empty, only growth
	// is measured.
	depths []int
	// scale holds the numbers of workers for [measureScale]. If it is not empty, nothing else is
	// measured.
	scale   []int
	figures string // file to which the figures of the flags -depths and -scale are appended
	measure string // what the figures of the flag -depths measure, such as coordinator.sqlite
}

func main() {
	log.SetFlags(0)
	var s settings
	flag.StringVar(&s.program, "gaffer", "gaffer", "the program to measure, a file")
	flag.StringVar(&s.db, "db", "sqlite", "its database: sqlite, or postgres, of which a server is started")
	flag.DurationVar(&s.latency, "latency", time.Millisecond, "added to each round trip to PostgreSQL")
	flag.StringVar(&s.dir, "dir", "", "the disk to measure (a temporary folder if empty)")
	flag.DurationVar(&s.each, "each", 5*time.Second, "how long each figure is measured")
	flag.IntVar(&s.clients, "clients", 32, "connections that ask at once")
	flag.IntVar(&s.short, "short", 100, "tasks in the short queue")
	flag.IntVar(&s.long, "long", 100_000, "tasks in the long queue; 0 leaves it out")
	flag.IntVar(&s.readers, "readers", 1_000, "readers of the stream; 0 leaves it out")
	flag.IntVar(&s.events, "events", 100, "events in a second for them")
	flag.IntVar(&s.workers, "workers", 10_000, "workers that send a heartbeat every 15 s; 0 leaves it out")
	flag.StringVar(&s.only, "only", "", "measure only beats, workers, tasks or stream")
	flag.Func("depths", "measure only claims and finishes, with these numbers of queued tasks", numbers(&s.depths))
	flag.Func("scale", "measure only what these numbers of workers with an agent cost", numbers(&s.scale))
	flag.StringVar(&s.figures, "figures", "", "a file to which the figures of -depths and -scale are added")
	flag.StringVar(&s.measure, "measure", "coordinator.sqlite", "the measure of the figures of -depths")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, s)
	stop()
	if err != nil {
		log.Fatal(err)
	}
}

// numbers returns a function that parses a comma-separated list of numbers above 0 and stores it in
// dst.
func numbers(dst *[]int) func(string) error {
	return func(list string) error {
		for text := range strings.SplitSeq(list, ",") {
			n, err := strconv.Atoi(text)
			if err != nil || n < 1 {
				return fmt.Errorf("%q is not a number above 0", text)
			}
			*dst = append(*dst, n)
		}
		return nil
	}
}

func run(ctx context.Context, s settings) (err error) {
	dir, err := os.MkdirTemp(s.dir, "gaffer-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	switch s.db {
	case "sqlite":
	case "postgres":
		pg, err := pgtest.Start()
		if err != nil {
			return fmt.Errorf("start PostgreSQL: %w", err)
		}
		defer func() { _ = pg.Stop() }() // ignore the error: PostgreSQL ends with this process even if Stop fails
		s.postgresPID = pg.PID()
		s.postgres = pg.URL
		if s.latency > 0 {
			if s.postgres, err = delay.Start(ctx, pg.URL, s.latency); err != nil {
				return err
			}
		}
	default:
		return fmt.Errorf("-db %q: want sqlite or postgres", s.db)
	}
	if len(s.scale) > 0 {
		return measureScale(ctx, s, dir)
	}
	b, err := newBench(ctx, s, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	if err := describe(s, dir); err != nil {
		return err
	}
	return measure(b)
}

// bench is one measured server, with the connections to it.
type bench struct {
	settings
	ctx    context.Context
	dir    string
	server *process
	crew   *connections
	keys   int // number of idempotency keys used so far
}

func newBench(ctx context.Context, s settings, dir string) (b *bench, err error) {
	b = &bench{settings: s, ctx: ctx, dir: dir}
	if b.server, err = startServer(ctx, s, dir); err != nil {
		return nil, err
	}
	if b.crew, err = b.newCrew(); err != nil {
		return nil, errors.Join(err, b.server.stop())
	}
	return b, nil
}

// startSecond starts another server, with the same settings and a separate database.
func (b *bench) startSecond() (*bench, error) {
	dir, err := os.MkdirTemp(b.dir, "another-")
	if err != nil {
		return nil, err
	}
	return newBench(b.ctx, b.settings, dir)
}

func (b *bench) close() error { return errors.Join(b.crew.close(), b.server.stop()) }

func (b *bench) wants(part string) bool { return b.only == "" || b.only == part }

func measure(b *bench) error {
	heading()
	if len(b.depths) > 0 {
		return b.growth()
	}
	if b.wants("beats") {
		if err := b.beats(); err != nil {
			return fmt.Errorf("heartbeats: %w", err)
		}
	}
	if b.wants("workers") && b.workers > 0 {
		if err := b.manyWorkers(); err != nil {
			return fmt.Errorf("workers: %w", err)
		}
	}
	if b.wants("tasks") {
		if err := b.tasks(); err != nil {
			return fmt.Errorf("tasks: %w", err)
		}
	}
	if b.wants("stream") && b.readers > 0 {
		if err := b.stream(); err != nil {
			return fmt.Errorf("stream: %w", err)
		}
	}
	return b.server.memory("at the end")
}
