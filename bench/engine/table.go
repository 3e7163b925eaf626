package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"time"
)

// describe prints the properties of the machine that influence the measured values.
func describe(dir string) error {
	load, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return err
	}
	synced, err := measureSyncs(dir)
	if err != nil {
		return err
	}
	fmt.Printf("%d cores, load %s, a synced append takes %s, %s\n\n", runtime.NumCPU(),
		strings.Join(strings.Fields(string(load))[:2], " "), round(synced.quantile(.5)), versions())
	return nil
}

// measureSyncs measures how long it takes to append to a file in dir and sync it.
func measureSyncs(dir string) (result, error) {
	f, err := os.Create(filepath.Join(dir, "sync"))
	if err != nil {
		return result{}, err
	}
	r, err := repeat(context.Background(), 1, 100*time.Millisecond, func(context.Context) error {
		if _, err := f.Write(make([]byte, 4096)); err != nil {
			return err
		}
		return f.Sync()
	})
	return r, errors.Join(err, f.Close(), os.Remove(f.Name()))
}

func versions() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown versions"
	}
	var all []string
	for _, m := range info.Deps {
		switch m.Path {
		case "github.com/riverqueue/river", "github.com/jackc/pgx/v5", "modernc.org/sqlite":
			all = append(all, m.Path+" "+m.Version)
		}
	}
	return strings.Join(all, ", ")
}

// compare measures each contender with each number of clients, and prints a row for each
// measurement.
func compare(ctx context.Context, p *databases, s settings, chosen []contender) error {
	fmt.Printf("%-22s %7s %15s %15s %9s %15s\n", "", "clients", "submit tasks/s", "claim+finish/s", "p99", "ratio")
	for _, clients := range s.clients {
		best, err := bestFigures(ctx, p, s, chosen, clients)
		if err != nil {
			return err
		}
		for _, c := range chosen {
			b, ok := best[c.name]
			if !ok {
				continue
			}
			fmt.Printf("%-22s %7d %15.0f %15.0f %9s %15s\n", c.title, clients,
				b.in.perSecond(), b.out.perSecond(), p99(b.out), ratioText(best, c))
		}
		fmt.Println()
	}
	return nil
}

// contenderFigures holds the results of one contender: the field in has the result for submitting
// tasks, and out the result for claiming and finishing them.
type contenderFigures struct{ in, out result }

// bestFigures measures all contenders one after the other, several times. It returns the best
// figures of each, because other work of the machine can only make figures worse.
func bestFigures(ctx context.Context, p *databases, s settings, chosen []contender, clients int) (map[string]contenderFigures, error) {
	const rounds = 2
	best := map[string]contenderFigures{}
	for range rounds {
		for _, c := range chosen {
			if clients == 1 && !c.few {
				continue
			}
			f, err := measure(ctx, p, c, clients, s.each/rounds)
			if err != nil {
				return nil, fmt.Errorf("%s, %d clients: %w", c.title, clients, err)
			}
			b, ok := best[c.name]
			if !ok || f.in.perSecond() > b.in.perSecond() {
				b.in = f.in
			}
			if !ok || f.out.perSecond() > b.out.perSecond() {
				b.out = f.out
			}
			best[c.name] = b
		}
	}
	return best, nil
}

func measure(ctx context.Context, p *databases, c contender, clients int, each time.Duration) (f contenderFigures, err error) {
	q, err := c.open(ctx, p, clients)
	if err != nil {
		return f, err
	}
	if f.in, err = fill(ctx, q, clients, each); err == nil {
		f.out, err = q.Drain(ctx, clients, each)
	}
	return f, errors.Join(err, q.Close())
}

// ratioText returns the ratio of a contender's rate to the rate of its anchor. The result is a text
// such as "0.84 × bare", or "-" if the anchor was not measured.
func ratioText(best map[string]contenderFigures, c contender) string {
	anchor, ok := best[c.anchor]
	if !ok {
		return "-"
	}
	return fmt.Sprintf("%.2f × %s", best[c.name].out.perSecond()/anchor.out.perSecond(), c.anchor)
}

func p99(r result) string {
	if r.waits == nil {
		return "-"
	}
	return round(r.quantile(.99)).String()
}

// round rounds d to 1 µs if d is below 1 ms, otherwise to 10 µs.
func round(d time.Duration) time.Duration {
	if d < time.Millisecond {
		return d.Round(time.Microsecond)
	}
	return d.Round(10 * time.Microsecond)
}
