// Command idle measures the memory and the processor time of agents that do nothing, and of all
// processes that look after them. Each agent is the program sleep. The command compares agents that
// are started by gaffer, by tmux, by shells below nohup, and directly.
//
// The command finds the processes of a measured program by an environment variable that they all
// inherit. It kills these processes at the end of each measurement.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"gaffer/bench/figure"
	"gaffer/bench/memory"
)

type settings struct {
	gaffer  string
	each    time.Duration
	figures string
}

func main() {
	log.SetFlags(0)
	var s settings
	agents := flag.String("agents", "10,100,300", "how many agents; 500 at most")
	flag.StringVar(&s.gaffer, "gaffer", "gaffer", "the program to measure, a file")
	flag.DurationVar(&s.each, "each", 10*time.Second, "how long processor time is measured")
	flag.StringVar(&s.figures, "figures", "", "a file to which the figures are added")
	flag.Parse()
	var err error
	if s.gaffer, err = filepath.Abs(s.gaffer); err != nil { // gaffer is started in another folder, so its path must be absolute
		log.Fatal(err)
	}
	fmt.Printf("%-34s %8s %10s %12s %12s\n", "program", "agents", "PSS MB", "% of a core", "processes")
	var errs []error
	for text := range strings.SplitSeq(*agents, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > 500 {
			log.Fatalf("-agents %s: want numbers from 1 to 500", *agents)
		}
		for _, c := range s.contenders() {
			if err := s.measure(c, n); err != nil {
				errs = append(errs, fmt.Errorf("%s, %d agents: %w", c.name, n, err))
			}
		}
	}
	if err := errors.Join(errs...); err != nil {
		log.Fatal(err)
	}
}

// contender is a program that runs agents.
type contender struct {
	name  string
	kind  figure.Kind
	start func(dir string, n int) []*exec.Cmd // returns the commands that start n agents
}

// nap is how long an agent sleeps, in seconds. It must be longer than a measurement. At the end of
// the measurement, all agents are killed.
const nap = "1000"

func (s settings) contenders() []contender {
	repeat := func(n int, args ...string) (list []*exec.Cmd) {
		for range n {
			list = append(list, exec.Command(args[0], args[1:]...))
		}
		return list
	}
	return []contender{
		{"gaffer run", figure.Gaffer, func(dir string, n int) []*exec.Cmd {
			return repeat(1, s.gaffer, "--project", dir, "run", filepath.Join(dir, "plan.yaml"), "--parallel", strconv.Itoa(n))
		}},
		{"tmux, a window for each", figure.Other, func(dir string, n int) []*exec.Cmd {
			socket := filepath.Join(dir, "tmux")
			// The command new-session creates the first agent's window; new-window creates those of
			// the other agents.
			args := []string{"tmux", "-f", "/dev/null", "-S", socket, "new-session", "-d", "sleep " + nap}
			for range n - 1 {
				args = append(args, ";", "new-window", "-d", "sleep "+nap)
			}
			return repeat(1, args...)
		}},
		{"nohup sh", figure.Other, func(_ string, n int) []*exec.Cmd { return repeat(n, "nohup", "sh", "-c", "sleep "+nap+"; :") }},
		{"sleep alone", figure.Limit, func(_ string, n int) []*exec.Cmd { return repeat(n, "sleep", nap) }},
	}
}

// variable is the environment variable that all processes of a measurement inherit.
const variable = "GAFFER_BENCH_IDLE"

func (s settings) measure(c contender, n int) (err error) {
	dir, err := os.MkdirTemp("", "gaffer-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := os.WriteFile(filepath.Join(dir, "plan.yaml"), plan(n), 0o644); err != nil {
		return err
	}
	mark := variable + "=" + filepath.Base(dir)
	defer killAll(mark)
	for _, cmd := range c.start(dir, n) {
		cmd.Dir, cmd.Env = dir, append(os.Environ(), mark, "XDG_STATE_HOME="+filepath.Join(dir, "home"), "XDG_RUNTIME_DIR="+dir)
		if err := cmd.Start(); err != nil {
			return err
		}
		go func() { _ = cmd.Wait() }() // reaps the process after it was killed
	}
	if err := awaitAgents(mark, n); err != nil {
		return err
	}
	time.Sleep(s.each / 2) // time for the programs to finish their startup work
	before := processorTime(mark)
	began := time.Now()
	time.Sleep(s.each)
	cores := (processorTime(mark) - before).Seconds() / time.Since(began).Seconds()
	all := marked(mark)
	used, err := memory.PSS(all...)
	if err != nil {
		return err
	}
	if got := countAgents(all); got != n {
		return fmt.Errorf("%d of %d agents are left", got, n)
	}
	fmt.Printf("%-34s %8d %10.1f %12.2f %12d\n", c.name, n, used, cores*100, len(all))
	return figure.Append(s.figures,
		figure.Figure{Measure: "idle.memory", Program: c.name, Kind: c.kind, Size: n, Value: used},
		figure.Figure{Measure: "idle.cpu", Program: c.name, Kind: c.kind, Size: n, Value: cores * 100},
		figure.Figure{Measure: "idle.processes", Program: c.name, Kind: c.kind, Size: n, Value: float64(len(all))})
}

func plan(n int) []byte {
	var b bytes.Buffer
	b.WriteString("name: idle\ntasks:\n")
	for i := range n {
		fmt.Fprintf(&b, "  - {id: t%03d, command: [sleep, %q]}\n", i, nap)
	}
	return b.Bytes()
}

// marked returns the pids of the processes whose environment contains mark, which has the form
// NAME=VALUE. It leaves out processes whose environment it cannot read.
func marked(mark string) (pids []int) {
	all, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, path := range all {
		text, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(append([]byte{0}, text...), []byte("\x00"+mark+"\x00")) {
			continue
		}
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		pids = append(pids, pid)
	}
	return pids
}

func countAgents(pids []int) (n int) {
	for _, pid := range pids {
		if name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid)); err == nil && string(name) == "sleep\n" {
			n++
		}
	}
	return n
}

func awaitAgents(mark string, n int) error {
	const most = 2 * time.Minute
	got := 0
	for began := time.Now(); time.Since(began) < most; time.Sleep(200 * time.Millisecond) {
		if got = countAgents(marked(mark)); got >= n {
			return nil
		}
	}
	return fmt.Errorf("only %d of %d agents began within %s", got, n, most)
}

// processorTime returns the sum of the processor times of all threads that still exist in the
// processes that [marked] returns.
func processorTime(mark string) (sum time.Duration) {
	for _, pid := range marked(mark) {
		threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
		for _, path := range threads {
			text, err := os.ReadFile(path)
			if err != nil {
				continue // the thread has ended
			}
			running, _, _ := strings.Cut(string(text), " ")
			n, _ := strconv.ParseInt(running, 10, 64)
			sum += time.Duration(n)
		}
	}
	return sum
}

// killAll kills the processes that [marked] returns. It repeats this until none is left, at most 50
// times, because a process may start another one before it is killed itself.
func killAll(mark string) {
	for range 50 {
		pids := marked(mark)
		if len(pids) == 0 {
			return
		}
		for _, pid := range pids {
			_ = syscall.Kill(pid, syscall.SIGKILL) // ignore the error: the process may have ended by itself
		}
		time.Sleep(100 * time.Millisecond)
	}
}
