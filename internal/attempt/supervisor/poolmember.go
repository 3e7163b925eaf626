package supervisor

import (
	"errors"
	"net"
	"os"
	"runtime"
	"syscall"
	"time"
)

// fromPool is the argument of a supervisor that gets its attempts from a pool. It takes the place
// of the attempt's folder.
const fromPool = "-"

// idleLimit is how long an idle supervisor waits for its next attempt before it exits.
// Only tests change it.
var idleLimit = 10 * time.Second

// superviseFromPool is the main loop of a pool's supervisor. It runs one attempt after the other.
// It returns when the pool closes the connection, when no attempt arrives within idleLimit, or when
// a signal tells this process to exit. It also returns if this process cannot run another attempt,
// for example because processes of the last attempt are still alive.
func superviseFromPool(string) error {
	control, err := controlOf(starterFD)
	if err != nil {
		return err
	}
	s := catchSignals()
	// Run Go code on one thread at a time: a supervisor has so little work that waking other
	// threads would take longer than the work itself.
	runtime.GOMAXPROCS(1)
	turns := make(chan *receivedAttempt)
	go receiveAttempts(control, turns) // returns when the pool closes the connection
	for {
		t := nextAttempt(turns, s.ends)
		if t == nil {
			return nil
		}
		if free, err := t.run(s); err != nil || !free {
			return err
		}
	}
}

func receiveAttempts(control *net.UnixConn, turns chan<- *receivedAttempt) {
	defer close(turns)
	for {
		t, err := receiveAttempt(control)
		if err != nil {
			return // no more attempts: nextAttempt returns nil, and this process exits
		}
		turns <- t
	}
}

// nextAttempt waits for the next attempt. It returns nil if this process must exit. If an attempt
// arrives just before the exit, nextAttempt drops the attempt. The pool then hands it to another
// supervisor, because the lock file shows that no supervisor has begun the attempt.
func nextAttempt(turns <-chan *receivedAttempt, ends <-chan os.Signal) *receivedAttempt {
	idle := time.NewTimer(idleLimit)
	defer idle.Stop()
	for {
		select {
		case t := <-turns:
			if endSignalled(ends) { // the signal came before the attempt: drop the attempt
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

// endSignalled reports whether a pending signal tells this process to exit. It discards pending
// SIGHUPs, which are ignored.
func endSignalled(ends <-chan os.Signal) bool {
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

// run runs an attempt that the pool has handed over. If the result free is true and err is nil,
// this process has left the attempt's folder, has released the attempt's lock, and can run another
// attempt.
func (t *receivedAttempt) run(s signals) (free bool, err error) {
	is, err := t.enter()
	if err != nil {
		return false, err
	}
	a := newAttempt(assignment{folder: ".", lock: t.lock, record: is, env: t.env, signals: s, reusable: true})
	a.clients.add(t.starter)
	if free, err = a.run(); err != nil || !free {
		return false, err
	}
	return true, t.leave()
}

func (t *receivedAttempt) enter() (lockRecord, error) {
	if err := redirectStderr(t.lock); err != nil {
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

// leave makes this process leave the attempt's folder and release the lock. It also redirects
// stderr from the lock file to /dev/null.
func (t *receivedAttempt) leave() error {
	if err := os.Chdir("/"); err != nil {
		return err
	}
	if err := redirectStderr(os.Stdout); err != nil { // stdout is /dev/null
		return err
	}
	return t.lock.Close()
}
