// Package early answers the hooks of agents before the rest of gaffer begins.
//
// An agent waits for its hook, at each thing it does. What most of them need is
// read and noted in a fraction of a millisecond, but a program with a database, a
// web server and a terminal in it takes longer to begin than that takes: each of
// its packages sets itself up first. Go begins packages in the order of their
// names, each after those that it imports, and the language promises that order.
// So a package that imports little begins early, and may end the program before
// the others have begun.
//
// Therefore nothing that is behind this package may import what begins late:
// TestWhatIsBehindAHookIsLight says what that is.
package early

import (
	"context"
	"fmt"
	"os"
	"time"

	"gaffer/internal/agentproc"
	"gaffer/internal/heard"
	"gaffer/internal/light"
)

// Budget is how long an agent waits for a hook at most, but where a person is
// asked. What is not done by then is not done: on a machine with too much to do,
// twenty hooks at once that write to one document took more than a second. It is
// less than what the agents themselves give a hook, which end one that takes longer
// and say that it has failed.
const Budget = 2 * time.Second

// Taken is a call of a hook of which something is still to be done.
type Taken struct {
	Call  *heard.Call
	Err   error // what went wrong so far
	Began time.Time
}

var taken *Taken

// Hook returns the call that this program was started for, nil if it was started
// for anything else.
func Hook() *Taken { return taken }

func init() {
	if len(os.Args) > 1 && os.Args[1] == "hook" && IsPlain(os.Args[2:]) {
		take(os.Args[2], os.Args[3:])
	}
}

// IsPlain tells whether the words after 'gaffer hook' are a program and perhaps
// its event. Help and mistakes are not for here.
func IsPlain(words []string) bool {
	n := len(words)
	return (n == 1 || n == 2 && light.HasPrefix(words[1], "{")) && agentproc.IsProgram(words[0])
}

// take ends the program unless something is still to be done. It ends it too when
// the time is over, wherever that finds it: every document is left whole.
func take(program string, words []string) {
	makeRoom()
	began := time.Now()
	over := time.AfterFunc(Budget, func() {
		fmt.Fprintf(os.Stderr, "gaffer: hook %s: not done within %s\n", program, Budget)
		os.Exit(0)
	})
	call, done, err := safely(program, words)
	if done {
		os.Exit(0)
	}
	if !over.Stop() {
		select {} // the program ends
	}
	taken = &Taken{call, err, began}
}

// makeRoom has the stack be as large as it will have to be. It begins small, and each
// time it is full all that is on it is moved to one of twice the size, which takes
// longer the more there is: up to a tenth of a hook.
//
//go:noinline
func makeRoom() byte {
	var room [16 << 10]byte
	return room[len(os.Args)%len(room)]
}

// safely takes the call and tells whether that was all. The agent must not notice
// a panic.
func safely(program string, words []string) (call *heard.Call, done bool, err error) {
	call = &heard.Call{Program: program}
	defer func() {
		if r := recover(); r != nil {
			done, err = false, fmt.Errorf("panic: %v", r)
		}
	}()
	from := heard.Surroundings{In: os.Stdin, Getenv: os.Getenv, Now: time.Now}
	call, err = heard.Take(context.Background(), from, program, words)
	return call, err == nil && len(call.Remaining(os.Environ())) == 0, err
}
