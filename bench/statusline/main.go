// Command statusline measures what programs cost that start, print and end. They
// take turns, so that each meets the same machine.
//
//	statusline -n 50 NAME COMMAND -- NAME COMMAND …
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"time"
)

// program is something to start, and what it has cost each time.
type program struct {
	name      string
	argv      []string
	cpu, wall []time.Duration
}

func main() {
	n := flag.Int("n", 50, "how often each is started")
	input := flag.String("stdin", "", "the `FILE` that each gets on stdin")
	flag.Parse()
	if err := measure(programs(flag.Args()), *n, *input); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// programs takes the arguments apart at each --.
func programs(args []string) (list []*program) {
	for len(args) > 1 {
		end := slices.Index(args, "--")
		if end < 0 {
			end = len(args)
		}
		list = append(list, &program{name: args[0], argv: args[1:end]})
		args = args[min(end+1, len(args)):]
	}
	return list
}

func measure(list []*program, n int, input string) error {
	stdin, err := os.ReadFile(input)
	if err != nil && input != "" {
		return err
	}
	for range n {
		for _, p := range list {
			if err := p.run(stdin); err != nil {
				return fmt.Errorf("%s: %w", p.name, err)
			}
		}
	}
	fmt.Printf("%-28s %12s %12s %12s %10s\n", "program", "CPU ms", "best CPU", "best wall", "less CPU")
	for _, p := range list {
		fmt.Printf("%-28s %12.2f %12.2f %12.2f %9.1fx\n", p.name, millis(median(p.cpu)), millis(slices.Min(p.cpu)),
			millis(slices.Min(p.wall)), float64(median(list[0].cpu))/float64(median(p.cpu)))
	}
	return nil
}

// run starts the program once. Its CPU time is its own, without ours.
func (p *program) run(stdin []byte) error {
	cmd := exec.Command(p.argv[0], p.argv[1:]...)
	cmd.Stdin = bytes.NewReader(stdin)
	began := time.Now()
	if err := cmd.Run(); err != nil {
		return err
	}
	p.wall = append(p.wall, time.Since(began))
	p.cpu = append(p.cpu, cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())
	return nil
}

func median(list []time.Duration) time.Duration {
	return slices.Sorted(slices.Values(list))[len(list)/2]
}

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
