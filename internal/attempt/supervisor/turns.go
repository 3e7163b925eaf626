package supervisor

import (
	"errors"
	"net"
	"os"
	"runtime"
	"syscall"
	"time"
)

// byTurns stands in the place of the folder for a supervisor that is given its
// attempts by a pool.
const byTurns = "-"

// idleLimit is how long a supervisor waits for an attempt.
const idleLimit = 10 * time.Second

// takeTurns looks after one attempt after the other, until it gets none, is told
// to end, or one has ended in a way that leaves anything behind.
func takeTurns(string) error {
	control, err := controlOf(starterFD)
	if err != nil {
		return err
	}
	s := catchSignals()
	runtime.GOMAXPROCS(1) // threads that wake each other up take longer than what they do
	turns := make(chan *turn)
	go receiveTurns(control, turns) // it ends with the process
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
			return // whoever is still there finds that we are gone
		}
		turns <- t
	}
}

// nextTurn returns nil if this process is to end. Then it ends with the lock of
// an attempt that has just come, too, and without having signed it.
func nextTurn(turns <-chan *turn, ends <-chan os.Signal) *turn {
	idle := time.NewTimer(idleLimit)
	defer idle.Stop()
	for {
		select {
		case t := <-turns:
			if toldToEnd(ends) { // before it came
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

// run is to an attempt that was handed over what supervise is to one that a
// process was started for. If the supervisor is free it is out of the folder
// when it returns, and the lock is.
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

func (t *turn) enter() (account, error) {
	if err := wordsTo(t.lock); err != nil {
		return account{}, err
	}
	if err := os.Chdir(t.dir); err != nil {
		return account{}, err
	}
	if !isFile(int(t.lock.Fd()), lockFile) {
		return account{}, errors.New(t.dir + ": the lock that was handed over is another one")
	}
	if err := mustLock(t.lock); err != nil {
		return account{}, err
	}
	is, err := readLock(t.lock)
	if err == nil && is.used() {
		err = &UsedError{t.dir}
	}
	return is, err
}

// leave frees the lock, which our last words went to.
func (t *turn) leave() error {
	if err := os.Chdir("/"); err != nil {
		return err
	}
	if err := wordsTo(os.Stdout); err != nil { // that is nowhere
		return err
	}
	return t.lock.Close()
}
