package host

import (
	"fmt"
	"os"
	"sync"
)

func (osHost) Self() Process { return self() }

// self is worked out once: a process does not change its identity.
var self = sync.OnceValue(func() Process {
	p := Process{PID: os.Getpid(), Boot: bootID(), Space: pidSpace()}
	p.Host, _ = os.Hostname()
	p.Start, _ = startTime(p.PID)
	return p
})

// Identify returns the identity of the process that has this pid now.
func Identify(pid int) (Process, error) {
	p := self()
	start, err := startTime(pid)
	if err != nil {
		return Process{}, fmt.Errorf("process %d: %w", pid, err)
	}
	p.PID, p.Start = pid, start
	return p, nil
}

// Exists says whether a process has this pid now. It says false only where that is
// certain.
func Exists(pid int) bool {
	_, err := startTime(pid)
	return err == nil || !os.IsNotExist(err)
}

// Alive says Dead only where that is certain: the machine was booted again, or
// nobody in our own pid namespace has this pid and start time.
func (osHost) Alive(p Process) Liveness {
	me := self()
	if p.PID <= 0 || p.Boot == "" || p.Host != me.Host {
		return Unknown
	}
	if p.Boot != me.Boot {
		return Dead
	}
	if p.Space != me.Space {
		return Unknown
	}
	start, err := startTime(p.PID)
	switch {
	case err != nil && os.IsNotExist(err):
		return Dead
	case err != nil:
		return Unknown
	case start != p.Start:
		return Dead
	}
	return Alive
}
