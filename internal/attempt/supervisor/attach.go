package supervisor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"gaffer/internal/pause"
	"gaffer/statefile/host"
)

// State is what [Attach] has found out about an attempt.
type State int

// The possible states.
const (
	Unknown State = iota // the state could not be found out; the error of Attach says why
	Alive                // the attempt runs, and Attach has connected to its supervisor
	Exited               // the attempt has ended, and its exit is recorded
	// Lost means that the agent was never started, or that its supervisor died before it recorded
	// an exit. No process of the attempt is alive.
	Lost
)

func (s State) String() string {
	return [...]string{"unknown", "alive", "exited", "lost"}[s]
}

// Attach finds out the state of an attempt that another process has started. If the attempt is
// alive, Attach connects to its supervisor. Before Attach returns Lost, it ends the remaining
// processes of the attempt. It also makes sure that no supervisor can start the attempt later, even
// if the folder did not exist yet. If the state is Unknown, the Process is nil and the error says
// why.
func Attach(ctx context.Context, dir string, opts Options) (*Process, State, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, Unknown, err
	}
	f := folder(abs)
	found, err := find(ctx, f, opts.Attempt, opts.patience())
	if err != nil {
		return nil, Unknown, &UnknownError{dir, err}
	}
	p := newProcess(f, found.attempt, opts, nil)
	if found.link == nil {
		p.ended(found.exit)
		if found.exit.Lost {
			return p, Lost, nil
		}
		return p, Exited, nil
	}
	p.follow(found.link, found.started)
	return p, Alive, nil
}

// finding is what the function find has found out about an attempt. If link is not nil, it is a
// connection to the attempt's live supervisor. If link is nil, the attempt has ended, and the field
// exit says how.
type finding struct {
	attempt string
	link    *link
	started Started
	exit    Exit
}

const (
	findPause    = time.Millisecond
	maxFindPause = 50 * time.Millisecond
)

// find tries the attempt's lock and the supervisor's socket in turn, until one of them shows the
// state of the attempt. For a moment both may fail: a supervisor that has just started holds the
// lock but has no socket yet, and a supervisor that is about to exit has closed its socket but
// still holds the lock. If find returns an error, the error says why the state is unknown.
func find(ctx context.Context, f folder, attempt string, patience time.Duration) (finding, error) {
	was, err := f.readLockRecord()
	if err != nil {
		return finding{}, err
	}
	if r := f.origin(attempt, was); r.foreign {
		return r.findForeign(was)
	}
	until := time.Now().Add(patience)
	for wait := findPause; ; wait = min(2*wait, maxFindPause) {
		lock, err := f.openLock(0)
		if err != nil {
			return finding{}, err
		}
		if held, err := tryLock(lock); err != nil || held {
			defer lock.Close()
			if err != nil {
				return finding{}, err
			}
			exit, err := f.conclude(attempt, lock)
			return finding{attempt: exit.Attempt, exit: exit}, err
		}
		_ = lock.Close() // ignore the error: nothing was written to the lock
		found, err := connect(ctx, f, until)
		if err == nil {
			return found, nil
		}
		if ctx.Err() != nil {
			return finding{}, ctx.Err()
		}
		if time.Now().After(until) {
			return finding{}, fmt.Errorf("a process holds its lock and does not answer: %w", err)
		}
		pause.For(ctx, wait)
	}
}

// connect connects to the supervisor's socket and waits for the supervisor's first message.
func connect(ctx context.Context, f folder, until time.Time) (finding, error) {
	conn, err := dial(f)
	if err != nil {
		return finding{}, err
	}
	l := newLink(conn)
	m, err := l.first(ctx, until)
	switch {
	case err == nil && m.Started != nil:
		return finding{attempt: m.Started.Attempt, link: l, started: *m.Started}, nil
	case err == nil && m.Exit != nil:
		l.close()
		return finding{attempt: m.Exit.Attempt, exit: *m.Exit}, nil
	case err == nil:
		err = errors.New("its first message is neither a start nor an exit")
	}
	l.close()
	return finding{}, err
}

// first waits for the supervisor's first message until the deadline. A zero deadline means that
// there is no time limit.
func (l *link) first(ctx context.Context, deadline time.Time) (message, error) {
	var m message
	if err := l.conn.SetReadDeadline(deadline); err != nil {
		return m, err
	}
	stop := context.AfterFunc(ctx, func() { _ = l.conn.SetReadDeadline(time.Unix(1, 0)) })
	err := l.receive(&m)
	if !stop() {
		return m, ctx.Err()
	}
	if err != nil {
		return m, err
	}
	return m, l.conn.SetReadDeadline(time.Time{})
}

// origin says where and when an attempt was started. The data is from the folder of the attempt.
type origin struct {
	attempt string
	// foreign says that the attempt was started on another machine. Then this process cannot see
	// its processes, or whether its lock is held.
	foreign bool
	hidden  bool // started in another pid namespace, so its processes are not visible here
	before  bool // started before this boot: all its processes have ended
}

func (f folder) origin(attempt string, a lockRecord) origin {
	r := origin{attempt: attempt}
	spec, err := a.specIn(f)
	if err == nil {
		r.attempt = spec.Attempt
	}
	if by, me := spec.Starter, host.OS().Self(); by.PID != 0 {
		r.foreign = by.Host != me.Host
		r.before = by.Boot != me.Boot
		r.hidden = by.Space != me.Space
	}
	return r
}

// findForeign returns the recorded exit of an attempt that was started on another machine. If no
// exit is recorded, the state is unknown.
func (r origin) findForeign(a lockRecord) (finding, error) {
	if a.exit != nil && a.exit.Attempt == r.attempt {
		return finding{attempt: r.attempt, exit: *a.exit}, nil
	}
	return finding{}, errors.New("it was started on another machine")
}

// conclude returns how an attempt ended. The caller holds the attempt's lock. If the lock contains
// no exit, the attempt is lost: conclude ends its remaining processes and writes an exit into the
// lock, so that no supervisor can start the attempt later. If it cannot prove that all processes
// have ended, it writes no exit and returns an error.
func (f folder) conclude(attempt string, lock *os.File) (Exit, error) {
	a, err := readLock(lock)
	if err != nil {
		return Exit{}, err
	}
	r := f.origin(attempt, a)
	if a.exit != nil && (a.exit.Attempt == r.attempt || r.attempt == "") {
		return *a.exit, nil
	}
	if err := f.endRemains(r, a); err != nil {
		if unproven := (*UnprovenError)(nil); errors.As(err, &unproven) {
			if unproven.Since = a.unprovenSince; unproven.Since.IsZero() {
				unproven.Since = time.Now().UTC().Truncate(time.Second)
				_ = appendRecord(lock, unprovenWord, unprovenRecord{unproven.Since}) // if this fails, the next call of conclude records a later time
			}
		}
		return Exit{}, err
	}
	exit := Exit{Attempt: r.attempt, Code: -1, Lost: true, NeverStarted: !a.hasSupervisor, Failed: a.lostBecause(), Ended: time.Now().UTC()}
	if err := f.recordExit(lock, exit); err != nil {
		return Exit{}, err
	}
	return exit, f.syncNames()
}

// proofWithin is how long to wait for proof that all processes of an attempt have ended. The last
// processes may still be about to exit.
const proofWithin = 3 * time.Second

// endRemains ends the remaining processes of an attempt whose supervisor is dead. It returns nil in
// only three cases: there is proof that no process of the attempt is alive, the user has declared
// that none is alive, or the lock shows that no agent was started.
func (f folder) endRemains(r origin, a lockRecord) error {
	switch {
	case r.before, !a.hasSupervisor && r.attempt == "":
		return nil
	case r.attempt == "":
		return fmt.Errorf("%s does not say what was started, and with it the attempt's id", f.path(lockFile))
	case r.hidden && f.declaredGone():
		return nil
	case r.hidden:
		return errors.New("it was started in another pid namespace")
	}
	left, err := sweepAttempt(r.attempt, a.supervisor)
	if err != nil && a.hasSupervisor {
		return err
	}
	if len(left) > 0 {
		return fmt.Errorf("its processes %v cannot be ended", left)
	}
	if !a.hasSupervisor {
		return nil
	}
	found := f.remains(r, a.supervisor)
	for until := time.Now().Add(proofWithin); found.Proof != Gone && time.Now().Before(until); found = f.remains(r, a.supervisor) {
		pause.For(context.Background(), maxFindPause)
	}
	if err := found.unproven(r.attempt); err != nil {
		return err
	}
	if a.supervisor.Group != nil {
		_ = a.supervisor.Group.remove() // if this fails, SweepGroups removes the control group later
	}
	return nil
}

func (a lockRecord) lostBecause() string {
	switch {
	case a.stderr != "":
		return "the supervisor died: " + a.stderr
	case a.frozen:
		return "the supervisor was killed while the agent was frozen"
	case a.hasSupervisor:
		return "the supervisor was killed"
	}
	return "the supervisor was never started"
}
