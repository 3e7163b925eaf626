// Package exit says how gaffer ends: which code an error gives the shell, and
// how the error is shown to a person or to a program.
//
// Packages below the command line know nothing of exit codes. Their errors say
// what kind they are with small methods that this package looks for anywhere
// in the chain:
//
//	NotFound() bool   the thing asked for is not there
//	Conflict() bool   someone else holds it, or the transition is refused
//	Invalid() bool    a document departs from its protocol
//	Usage() bool      the command line or the configuration is wrong
//	Hint() string     what to do next
package exit

import (
	"fmt"
	"strings"
)

// Code is the number that the shell sees. The numbers are a promise to
// scripts: a code may be added, and none ever changes its meaning.
type Code int

// The codes.
const (
	CodeDone        Code = 0
	CodeFailed      Code = 1
	CodeUsage       Code = 2
	CodeNotFound    Code = 3
	CodeConflict    Code = 4
	CodeInvalid     Code = 5
	CodeInterrupted Code = 130
)

// codes is the one place where the codes are described: the help topic, the
// JSON form of an error and the tests read it.
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

// String is the code's name as it stands in the JSON form of an error.
func (c Code) String() string {
	for _, row := range codes {
		if row.code == c {
			return row.name
		}
	}
	return fmt.Sprintf("exit_%d", int(c))
}

// Table lists every code with its name and meaning, one on each line.
func Table() string {
	var b strings.Builder
	for _, row := range codes {
		fmt.Fprintf(&b, "  %3d  %-11s  %s\n", int(row.code), row.name, row.meaning)
	}
	return b.String()
}
