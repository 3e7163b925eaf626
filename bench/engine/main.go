// Command engine measures how fast gaffer's engine claims and finishes tasks on SQLite and on
// PostgreSQL. It also measures alternatives that a user might choose: a plain SQLite table, a plain
// PostgreSQL table with SKIP LOCKED, and the job queue River. Compare only figures of the same run.
//
// For the contenders that need PostgreSQL, the command starts a server in a temporary folder. The
// server has the default settings of its version, including full durability. But it allows more
// connections, and listens only on a Unix socket.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

type settings struct {
	each    time.Duration
	clients []int
	queued  []int
	only    []string // names of the contenders to measure; empty means all
	dir     string
	// depths holds the numbers of queued tasks for [growth]. If it is not empty, only growth is
	// measured.
	depths  []int
	latency time.Duration // delay added to each round trip to PostgreSQL
	figures string        // file to which [growth] appends its figures
}

func main() {
	log.SetFlags(0)
	var s settings
	var p databases
	flag.DurationVar(&s.each, "each", 2*time.Second, "how long each figure is measured at the most, in two turns")
	flag.Func("clients", "how many clients at once (default 1,16,64)", numbers(&s.clients))
	flag.Func("queued", "how many tasks wait while claims are timed (default 100,10000,100000; 0 leaves it out)", numbers(&s.queued))
	only := flag.String("only", "", "measure only these, of: "+strings.Join(names(), ","))
	flag.BoolVar(&p.gaffer.keys, "keys", false, "give each request to gaffer an idempotency key")
	flag.BoolVar(&p.gaffer.apart, "apart", false, "let gaffer claim and finish in requests of their own, not as its workers do")
	flag.IntVar(&p.gaffer.parallel, "parallel", 0, "how many tasks of a plan gaffer may run at once; 0 is no limit")
	flag.StringVar(&s.dir, "dir", "", "the disk to measure (a temporary folder if empty)")
	flag.Func("depths", "measure only claims and finishes, with these numbers of queued tasks", numbers(&s.depths))
	flag.DurationVar(&s.latency, "latency", 0, "added to each round trip to PostgreSQL")
	flag.StringVar(&s.figures, "figures", "", "a file to which the figures of -depths are added")
	flag.Parse()
	s.clients = orElse(s.clients, 1, 16, 64)
	s.queued = orElse(s.queued, 100, 10_000, 100_000)
	s.only = strings.FieldsFunc(*only, func(r rune) bool { return r == ',' })

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, &p, s)
	stop()
	if err != nil {
		log.Fatal(err)
	}
}

// numbers returns a function that parses a comma-separated list of numbers and stores it in dst,
// without the zeros.
func numbers(dst *[]int) func(string) error {
	return func(list string) error {
		*dst = []int{}
		for text := range strings.SplitSeq(list, ",") {
			n, err := strconv.Atoi(text)
			if err != nil || n < 0 {
				return fmt.Errorf("%q is not a number", text)
			}
			if n > 0 {
				*dst = append(*dst, n)
			}
		}
		return nil
	}
}

func orElse(list []int, otherwise ...int) []int {
	if list == nil {
		return otherwise
	}
	return list
}

func run(ctx context.Context, p *databases, s settings) (err error) {
	for _, name := range s.only {
		if !slices.Contains(names(), name) {
			return fmt.Errorf("there is no %q to measure, only %s", name, strings.Join(names(), ", "))
		}
	}
	if p.dir, err = os.MkdirTemp(s.dir, "gaffer-bench-"); err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(p.dir) }()
	defer func() {
		if stopped := p.stop(); err == nil {
			err = stopped
		}
	}()
	chosen := slices.DeleteFunc(contenders(), func(c contender) bool {
		return len(s.only) > 0 && !slices.Contains(s.only, c.name)
	})
	if slices.ContainsFunc(chosen, func(c contender) bool { return c.postgres }) {
		if err := p.postgres(ctx, s.latency); err != nil {
			return err
		}
	}
	if err := describe(p.dir); err != nil {
		return err
	}
	if len(s.depths) > 0 {
		return growth(ctx, p, s, chosen)
	}
	if err := compare(ctx, p, s, chosen); err != nil {
		return err
	}
	return depths(ctx, p, s, chosen)
}
