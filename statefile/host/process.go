package host

import (
	"fmt"
	"os"
	"sync"
)

func (osHost) Self() Process { return self() }

// self returns the identity of this process. It is computed only once, because it does not change.
var self = sync.OnceValue(func() Process {
	p := Process{PID: os.Getpid(), Boot: bootID(), Space: pidSpace()}
	p.Host, _ = os.Hostname()
	p.Start, _ = startTime(p.PID)
	return p
})

// Identify returns the identity of the process that currently has this pid. The error wraps
// os.ErrNotExist if there is no such process.
func Identify(pid int) (Process, error) {
	p := self()
	start, err := startTime(pid)
	if err != nil {
		return Process{}, fmt.Errorf("process %d: %w", pid, err)
	}
	p.PID, p.Start = pid, start
	return p, nil
}

// Exists reports whether a process currently has this pid. On Linux, a zombie does not count.
// Exists also returns true if it cannot find out.
func Exists(pid int) bool {
	_, err := startTime(pid)
	return err == nil || !os.IsNotExist(err)
}

// Alive returns Dead only if the process is certainly dead: the machine was rebooted, or no process
// in our pid namespace has this pid and start time.
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
