// Command documents measures how fast several writers update one shared session document, which is
// a JSON file that describes the agents of a session. It compares gaffer with a Python program that
// follows the same protocol, and with plain durable writes to the same disk. Compare only figures
// that were measured in the same run of this command.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"gaffer/bench/figure"
	"gaffer/session"
)

func main() {
	log.SetFlags(0)
	each := flag.Duration("each", 2*time.Second, "how long each row is measured")
	sizes := flag.String("agents", "5,100,1000", "sizes of the document")
	writers := flag.String("writers", "1,8,32", "how many writers at once")
	dir := flag.String("dir", "", "the disk to measure (a temporary folder if empty)")
	figures := flag.String("figures", "", "a file to which the figures are added")
	by := flag.String("by", "writers", "what the figures are about: writers or agents")
	worker := flag.String("worker", "", "internal: be one writer process of the store in this folder")
	agent := flag.String("agent", "", "internal: the agent that the writer updates")
	flag.Parse()
	if *worker != "" {
		must(json.NewEncoder(os.Stdout).Encode(writeFor(session.New(*worker, session.Options{}), *agent, *each)))
		return
	}
	if *dir == "" {
		made, err := os.MkdirTemp("", "gaffer-bench-")
		must(err)
		defer func() { _ = os.RemoveAll(made) }()
		*dir = made
	}
	fmt.Printf("%-22s %7s %8s %10s %10s %10s %8s\n", "writer", "agents", "writers", "updates/s", "p99", "worst", "× bare")
	for _, agents := range numbers(*sizes) {
		for _, r := range measure(*dir, agents, numbers(*writers), *each) {
			must(figure.Append(*figures, r.figure(*by)))
		}
	}
}

// figure returns the number of updates per second as a [figure.Figure]. Its field Size is the
// number of writers. If the parameter by is "agents", Size is the number of agents in the document
// instead.
func (r measurement) figure(by string) figure.Figure {
	f := figure.Figure{Measure: "documents." + by, Program: r.name, Kind: figure.Gaffer, Size: r.writers, Value: r.perSecond()}
	if by == "agents" {
		f.Size = r.agents
	}
	switch r.name {
	case pythonName:
		f.Kind = figure.Other
	case bareName:
		f.Kind = figure.Limit
	}
	return f
}

// measurement is the result of measuring one kind of writer. The field name is the kind of writer,
// writers is the number of concurrent writers, and agents is the number of agents in the document.
type measurement struct {
	name            string
	agents, writers int
	result
}

const (
	pythonName = "python processes"
	bareName   = "bare durable write"
)

// measure measures each kind of writer on a document with the given number of agents. It does so
// for each number of concurrent writers in counts, and prints a row for each measurement. Plain
// durable writes of the file (see [bareWrites]) are measured only once, with one writer; the
// returned list repeats their result for each number of writers.
func measure(dir string, agents int, counts []int, each time.Duration) (all []measurement) {
	data := document(agents)
	bare := bareWrites(dir, data, each)
	row(bareName, agents, 1, bare, bare)
	for _, writers := range counts {
		all = append(all, measurement{bareName, agents, writers, bare})
		for _, kind := range []struct {
			name string
			run  func(root string, agents []string, each time.Duration) result
		}{
			{"gaffer goroutines", goroutines},
			{"gaffer processes", processes},
			{pythonName, pythons},
		} {
			root := must1(os.MkdirTemp(dir, "store-"))
			folder := filepath.Join(root, "sessions", sessionID)
			must(os.MkdirAll(folder, 0o777))
			must(os.WriteFile(filepath.Join(folder, "status.json"), data, 0o666))
			r := kind.run(root, agentPerWriter(agents, writers), each)
			row(kind.name, agents, writers, r, bare)
			all = append(all, measurement{kind.name, agents, writers, r})
		}
	}
	return all
}

func numbers(list string) (all []int) {
	for _, text := range strings.Split(list, ",") {
		all = append(all, must1(strconv.Atoi(text)))
	}
	return all
}

// agentPerWriter returns the id of an agent for each writer. Two writers get the same agent only if
// there are fewer agents than writers.
func agentPerWriter(agents, writers int) (ids []string) {
	for i := range writers {
		ids = append(ids, agentID(i*max(1, agents/writers)%agents))
	}
	return ids
}

// result holds the measured times of one or several writers.
type result struct {
	Took  time.Duration   `json:"took"`
	Waits []time.Duration `json:"waits"` // how long each update took, from call to return
}

func (r result) perSecond() float64 { return float64(len(r.Waits)) / r.Took.Seconds() }

func row(name string, agents, writers int, r, bare result) {
	slices.Sort(r.Waits)
	p99, worst := time.Duration(0), time.Duration(0)
	if n := len(r.Waits); n > 0 {
		p99, worst = r.Waits[n*99/100], r.Waits[n-1]
	}
	fmt.Printf("%-22s %7d %8d %10.0f %10s %10s %8.2f\n", name, agents, writers, r.perSecond(),
		p99.Round(10*time.Microsecond), worst.Round(10*time.Microsecond), r.perSecond()/bare.perSecond())
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func must1[T any](v T, err error) T {
	must(err)
	return v
}
