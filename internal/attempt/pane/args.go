// Package pane is the program in a terminal that people attach to: it hosts the
// supervisor of one attempt and shows what the agent does, in words. It decides
// nothing. Killed, it takes nothing with it but the picture.
package pane

import (
	"fmt"
	"strconv"
)

// Command is the hidden command that runs it.
const Command = "pane"

// Args are its arguments.
type Args struct {
	Socket string // where the supervisor is waited for
	Task   string // as RUN/TASK
	Kind   string // of agent, whose protocol the log is in
	Policy string // on its questions, which the protocol may depend on
	Log    string
	From   int64 // where this attempt's part of the log begins
}

// List returns the arguments as a command line has them.
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
