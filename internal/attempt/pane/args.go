// Package pane is the program in a terminal in which users watch an agent. It starts the supervisor
// of one attempt and shows the agent's activity as readable text. It makes no decisions. If it is
// killed, the agent keeps running and only the display is lost.
package pane

import (
	"fmt"
	"strconv"
)

// Command is the name of gaffer's hidden command that runs this program.
const Command = "pane"

// Args are the arguments of the program.
type Args struct {
	Socket string // socket on which gaffer waits for the supervisor
	Task   string // id of the run and the task, as RUN/TASK
	Kind   string // kind of agent, which determines the format of the log
	Policy string // policy for the agent's questions; the log's format may depend on it
	Log    string
	From   int64 // offset in the log at which this attempt's output begins
}

// List returns a as command-line arguments.
func (a Args) List() []string {
	return []string{a.Socket, a.Task, a.Kind, a.Policy, a.Log, strconv.FormatInt(a.From, 10)}
}

// ParseArgs is the inverse of List.
func ParseArgs(list []string) (Args, error) {
	if len(list) != 6 {
		return Args{}, fmt.Errorf("found %d arguments, want 6", len(list))
	}
	from, err := strconv.ParseInt(list[5], 10, 64)
	return Args{list[0], list[1], list[2], list[3], list[4], from}, err
}
