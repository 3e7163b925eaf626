// Command start measures the elapsed time and the processor time of short-lived programs. In each
// round it runs every program once, in random order, so that no program always profits from the
// caches that another one has filled. If the last argument of a program is <FILE, the program gets
// the contents of FILE on stdin.
//
//	start -n 50 NAME COMMAND -- NAME COMMAND …
package main

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"gaffer/bench/figure"
)

// program is a program to measure, with the processor time and the elapsed time of each of its
// runs.
type program struct {
	name      string
	argv      []string
	stdin     []byte
	cpu, wall []time.Duration
}

func main() {
	n := flag.Int("n", 50, "how often each is started")
	figures := flag.String("figures", "", "a file to which the figures are added")
	flag.Parse()
	list, err := programs(flag.Args())
	if err == nil {
		err = measure(list, *n)
	}
	for _, p := range list {
		if err == nil {
			err = figure.Append(*figures, p.figure("start.wall", p.wall), p.figure("start.cpu", p.cpu))
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// programs splits args at each -- into the programs to measure.
func programs(args []string) (list []*program, err error) {
	for len(args) > 1 {
		end := slices.Index(args, "--")
		if end < 0 {
			end = len(args)
		}
		p := &program{name: args[0], argv: args[1:end]}
		if file, ok := strings.CutPrefix(p.argv[len(p.argv)-1], "<"); ok {
			p.argv = p.argv[:len(p.argv)-1]
			if p.stdin, err = os.ReadFile(file); err != nil {
				return nil, err
			}
		}
		list = append(list, p)
		args = args[min(end+1, len(args)):]
	}
	return list, nil
}

func measure(list []*program, n int) error {
	for range n {
		for _, i := range rand.Perm(len(list)) {
			if err := list[i].run(); err != nil {
				return fmt.Errorf("%s: %w", list[i].name, err)
			}
		}
	}
	fmt.Printf("%-34s %10s %10s %10s %10s %10s\n", "program", "CPU ms", "best CPU", "wall ms", "best wall", "less CPU")
	for _, p := range list {
		fmt.Printf("%-34s %10.2f %10.2f %10.2f %10.2f %9.1fx\n", p.name, millis(median(p.cpu)), millis(slices.Min(p.cpu)),
			millis(median(p.wall)), millis(slices.Min(p.wall)), float64(median(list[0].cpu))/float64(median(p.cpu)))
	}
	return nil
}

// run runs the program once. The processor time includes that of child processes for which the
// program has waited.
func (p *program) run() error {
	cmd := exec.Command(p.argv[0], p.argv[1:]...)
	cmd.Stdin = bytes.NewReader(p.stdin)
	began := time.Now()
	if err := cmd.Run(); err != nil {
		return err
	}
	p.wall = append(p.wall, time.Since(began))
	p.cpu = append(p.cpu, cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())
	return nil
}

// figure returns the median of the given times as a figure. The figure of the program /bin/true is
// marked as a limit: that program does nothing, so no program can need less time.
func (p *program) figure(measure string, list []time.Duration) figure.Figure {
	f := figure.Figure{Measure: measure, Program: p.name, Kind: figure.Other, Value: millis(median(list))}
	switch {
	case strings.HasPrefix(p.name, "gaffer"):
		f.Kind = figure.Gaffer
	case p.name == "true":
		f.Kind = figure.Limit
	}
	return f
}

func median(list []time.Duration) time.Duration {
	return slices.Sorted(slices.Values(list))[len(list)/2]
}

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
