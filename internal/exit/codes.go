// Package exit maps errors to exit codes, and formats errors for users and for programs.
//
// Only the commands and gaffer's MCP server use this package. Errors of other packages report their
// kind with small methods. This package looks for these methods in the whole chain of wrapped
// errors:
//
//	NotFound() bool   something does not exist
//	Conflict() bool   another process holds a lock, or the current state does not allow the change
//	Busy() bool       the database cannot be used now; the exit code is the same as for Conflict
//	Invalid() bool    a document violates its protocol
//	Usage() bool      the command line or the configuration is wrong
//	Hint() string     what the user can do next
package exit

import (
	"fmt"
	"strings"
)

// Code is an exit code. Scripts rely on the numbers: a code may be added, but the meaning of an
// existing code never changes.
type Code int

// The exit codes. The variable codes describes each of them.
const (
	CodeDone        Code = 0
	CodeFailed      Code = 1
	CodeUsage       Code = 2
	CodeNotFound    Code = 3
	CodeConflict    Code = 4
	CodeInvalid     Code = 5
	CodeInterrupted Code = 130
)

// codes describes all exit codes. The help topic about exit codes and the JSON form of an error are
// made from it.
var codes = []struct {
	code    Code
	name    string
	meaning string
}{
	{CodeDone, "done", "the command did what was asked"},
	{CodeFailed, "failed", "it could not be done; the message says what failed"},
	{CodeUsage, "usage", "the command line or the configuration is wrong"},
	{CodeNotFound, "not_found", "a file, session, agent, item or key does not exist"},
	{CodeConflict, "conflict", "the lock is held, or the transition is refused"},
	{CodeInvalid, "invalid", "a document departs from its protocol"},
	{CodeInterrupted, "interrupted", "ended by SIGINT or SIGTERM"},
}

// String returns the name of the code, which the JSON form of an error contains.
func (c Code) String() string {
	for _, row := range codes {
		if row.code == c {
			return row.name
		}
	}
	return fmt.Sprintf("exit_%d", int(c))
}

// Table returns a text with every code, its name and its meaning, one code per line.
func Table() string {
	var b strings.Builder
	for _, row := range codes {
		fmt.Fprintf(&b, "  %3d  %-11s  %s\n", int(row.code), row.name, row.meaning)
	}
	return b.String()
}
