package machines

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// trouble is a fault that lasts for some time.
type trouble struct {
	what       string
	with       *service // the program that has the fault; nil means a worker in the middle of a long task
	begin, end func(*service)
	away       time.Duration // how long the fault lasts; if with is nil, until another attempt of the task has started
}

// make injects a fault and ends it again. It reports whether another attempt has replaced a running
// one in the meantime.
func (f *fleet) make(run string, t trouble) (gaveWay bool) {
	f.t.Helper()
	s, held := t.with, agent{}
	if s == nil {
		if s, held = f.victim(run); s == nil {
			f.t.Logf("too late: no worker %s in the middle of a long task", t.what)
			return false
		}
	}
	f.t.Logf("%s, %2d tasks have ended: %s %s", time.Now().Format(time.TimeOnly), f.ended(), s.Name, t.what)
	t.begin(s)
	if t.with == nil {
		gaveWay = f.superseded(held)
	} else {
		time.Sleep(t.away)
	}
	t.end(s)
	return gaveWay
}

// victim waits for a worker that has just started a task that takes longer than a lease, so that a
// fault of the worker also affects its agent. It returns nil if there is none.
func (f *fleet) victim(run string) (found *service, held agent) {
	f.t.Helper()
	wanted := filepath.Join(f.marks, "wanted")
	if err := os.WriteFile(wanted, nil, 0o644); err != nil {
		f.t.Fatal(err)
	}
	defer func() { _ = os.Remove(wanted) }() // if this fails, f.t.TempDir removes it
	for end := time.Now().Add(time.Minute); found == nil; time.Sleep(5 * step) {
		if time.Now().After(end) {
			return nil, agent{}
		}
		if found, held = f.midway(run); found == nil {
			f.allow(f.upto + 1) // the next long task has not started yet
		}
	}
	if err := os.WriteFile(filepath.Join(f.marks, held.task+".held"), nil, 0o644); err != nil {
		f.t.Fatal(err)
	}
	return found, held
}

func (f *fleet) midway(run string) (*service, agent) {
	for _, a := range agents(run) {
		n, _ := strconv.Atoi(strings.TrimPrefix(a.task, "t"))
		at := slices.IndexFunc(f.workers, func(s *service) bool { return s.Home == a.home })
		if n%longEvery == 1 && at >= 0 && a.number == "1" && bytes.Count(f.left(a.task), []byte("step ")) <= 5 {
			return f.workers[at], a
		}
	}
	return nil, agent{}
}

// left returns the marks that the attempts of a task have written so far.
func (f *fleet) left(task string) []byte {
	data, err := os.ReadFile(filepath.Join(f.marks, task))
	if err != nil {
		return nil
	}
	return data
}

// superseded waits until another attempt at the task of the agent a has been running for some time.
// It returns false if that takes too long.
func (f *fleet) superseded(a agent) bool {
	f.t.Helper()
	const patience = time.Minute
	for begun := time.Now(); time.Since(begun) < patience; time.Sleep(step) {
		if bytes.Count(f.left(a.task), []byte("begin ")) > 1 {
			time.Sleep(5 * step)
			return true
		}
		// Tasks that are not allowed yet may take all places of the run: let one of them end.
		if time.Since(begun) > 2*lease {
			f.allow(f.upto + 1)
			time.Sleep(time.Second)
		}
	}
	f.t.Logf("no other worker has started task %s", a.task)
	return false
}

// restart returns a fault that kills a program and starts it again after a time. The program's
// child processes continue.
func (f *fleet) restart(with *service, away time.Duration) trouble {
	return trouble{"is killed", with, func(s *service) { s.process.Kill() }, func(s *service) {
		s.start()
		if slices.Contains(f.coordinators, s) {
			f.ready(s) // wait before the next fault: a coordinator ends if it cannot reach the database at its start
		}
	}, away}
}

// hang returns a fault that stops a program. Its connections stay open, but get no answers.
func hang(with *service, away time.Duration) trouble {
	return trouble{"hangs", with, func(s *service) { s.process.Signal(syscall.SIGSTOP) }, func(s *service) { s.process.Signal(syscall.SIGCONT) }, away}
}

// cut returns a fault that disconnects a machine.
func cut(with *service, how Cut, away time.Duration) trouble {
	return trouble{fmt.Sprintf("is %s", how), with, func(s *service) { s.Cut(how) }, func(s *service) { s.Reconnect() }, away}
}

// stop returns a fault that stops the database.
func (f *fleet) stop(how syscall.Signal, away time.Duration) trouble {
	db := &service{Machine: f.db.machine}
	return trouble{fmt.Sprintf("is stopped with signal %v", how), db, func(*service) { f.db.Stop(how) }, func(*service) { f.db.Start() }, away}
}
