package supervisor

import (
	"errors"
	"net"
	"os"
	"runtime"
	"syscall"
	"time"
)

// byTurns is given instead of a folder to a supervisor that gets its attempts from a
// pool.
const byTurns = "-"

// idleLimit is how long a supervisor waits for its next attempt.
const idleLimit = 10 * time.Second

// takeTurns runs one attempt after the other. It returns when no attempt arrives in
// time, when a signal says so, or when an attempt has left anything behind.
func takeTurns(string) error {
	control, err := controlOf(starterFD)
	if err != nil {
		return err
	}
	s := catchSignals()
	runtime.GOMAXPROCS(1) // threads that wake each other up cost more time than the work itself
	turns := make(chan *turn)
	go receiveTurns(control, turns) // runs until the process exits
	for {
		t := nextTurn(turns, s.ends)
		if t == nil {
			return nil
		}
		if free, err := t.run(s); err != nil || !free {
			return err
		}
	}
}

func receiveTurns(control *net.UnixConn, turns chan<- *turn) {
	defer close(turns)
	for {
		t, err := receiveTurn(control)
		if err != nil {
			return // the other side notices that this process exits
		}
		turns <- t
	}
}

// nextTurn returns nil if this process must exit. An attempt that has just arrived is
// then dropped: its lock is released by the exit, without a signature.
func nextTurn(turns <-chan *turn, ends <-chan os.Signal) *turn {
	idle := time.NewTimer(idleLimit)
	defer idle.Stop()
	for {
		select {
		case t := <-turns:
			if toldToEnd(ends) { // the signal came before the attempt
				return nil
			}
			return t
		case sig := <-ends:
			if sig != syscall.SIGHUP {
				return nil
			}
		case <-idle.C:
			return nil
		}
	}
}

func toldToEnd(ends <-chan os.Signal) bool {
	for {
		select {
		case sig := <-ends:
			if sig != syscall.SIGHUP {
				return true
			}
		default:
			return false
		}
	}
}

// run runs an attempt that was handed over, like supervise for a supervisor that was
// started for one attempt. If free is true, the process has left the folder and
// released the lock.
func (t *turn) run(s signals) (free bool, err error) {
	is, err := t.enter()
	if err != nil {
		return false, err
	}
	a := newAttempt(".", t.lock, is, t.env, s)
	a.again = true
	a.clients.add(t.starter)
	if free, err = a.run(); err != nil || !free {
		return false, err
	}
	return true, t.leave()
}

func (t *turn) enter() (lockRecord, error) {
	if err := wordsTo(t.lock); err != nil {
		return lockRecord{}, err
	}
	if err := os.Chdir(t.dir); err != nil {
		return lockRecord{}, err
	}
	if !isFile(int(t.lock.Fd()), lockFile) {
		return lockRecord{}, errors.New(t.dir + ": the lock that was handed over is another one")
	}
	if err := mustLock(t.lock); err != nil {
		return lockRecord{}, err
	}
	is, err := readLock(t.lock)
	if err == nil && is.used() {
		err = &UsedError{t.dir}
	}
	return is, err
}

// leave leaves the folder and releases the lock. Stderr, which was the lock, goes to
// /dev/null from now on.
func (t *turn) leave() error {
	if err := os.Chdir("/"); err != nil {
		return err
	}
	if err := wordsTo(os.Stdout); err != nil { // stdout is /dev/null
		return err
	}
	return t.lock.Close()
}
