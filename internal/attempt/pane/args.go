// Package pane is a program with which the user watches an agent in a terminal. The program starts
// the supervisor process of one attempt, and shows the agent's activity as readable text. If the
// program is killed, the agent keeps running and only the display is lost.
package pane

import (
	"fmt"
	"strconv"
)

// Command is the name of the hidden gaffer command that runs the pane program.
const Command = "pane"

// Args are the command-line arguments of the pane program.
type Args struct {
	Socket string // path of the Unix socket on which another gaffer process waits for the supervisor
	Task   string // id of the run and the task, as RUN/TASK
	Kind   string // kind of agent, which determines the format of the log
	Policy string // what gaffer does with the agent's questions; the log's format may depend on it
	Log    string
	From   int64 // offset in the log at which this attempt's output begins, in bytes
}

// List returns the arguments as a list of strings, in the form that [ParseArgs] reads.
func (a Args) List() []string {
	return []string{a.Socket, a.Task, a.Kind, a.Policy, a.Log, strconv.FormatInt(a.From, 10)}
}

// ParseArgs reads arguments that [Args.List] has returned.
func ParseArgs(list []string) (Args, error) {
	if len(list) != 6 {
		return Args{}, fmt.Errorf("found %d arguments, want 6", len(list))
	}
	from, err := strconv.ParseInt(list[5], 10, 64)
	return Args{list[0], list[1], list[2], list[3], list[4], from}, err
}
