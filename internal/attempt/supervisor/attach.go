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

// State is the state of an attempt that [Attach] has found.
type State int

// The possible states.
const (
	Unknown State = iota // we cannot tell; the error says why
	Alive                // it runs, and we are connected to its supervisor
	Exited               // it has ended, and its exit is recorded
	Lost                 // it never ran, or its supervisor was killed; no process of it is alive
)

func (s State) String() string {
	return [...]string{"unknown", "alive", "exited", "lost"}[s]
}

// Attach finds out the state of an attempt that another process has started, and takes
// the attempt over if it is alive. Before it returns Lost, it has ended the remaining
// processes and made sure that no supervisor will ever start the attempt. That also
// works if the folder did not exist yet.
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

// finding is the result of looking for an attempt: either a connection to its live
// supervisor, or its exit.
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

// find tries the lock and the socket in turns. A supervisor that has just started
// holds the lock but has no socket yet; one that is about to exit soon releases both.
// The error says why the state is unknown.
func find(ctx context.Context, f folder, attempt string, patience time.Duration) (finding, error) {
	was, err := f.readLockRecord()
	if err != nil {
		return finding{}, err
	}
	if r := f.examine(attempt, was); r.foreign {
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
		_ = lock.Close() // the supervisor holds it
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

// connect connects to the supervisor's socket and waits for its first message.
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
		err = errors.New("it speaks another language")
	}
	l.close()
	return finding{}, err
}

// first receives the first message before the deadline. Zero means no deadline.
func (l *link) first(ctx context.Context, until time.Time) (message, error) {
	var m message
	if err := l.conn.SetReadDeadline(until); err != nil {
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

// remains describes where and when an attempt was started, as its folder says.
type remains struct {
	attempt string
	foreign bool // on another machine: we can see neither its lock nor its processes
	hidden  bool // in another pid namespace: we cannot see its processes
	before  bool // before this boot: no process has survived
}

func (f folder) examine(attempt string, a lockRecord) remains {
	r := remains{attempt: attempt}
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

// findForeign returns the recorded exit of an attempt on another machine. Without one
// the state is unknown.
func (r remains) findForeign(a lockRecord) (finding, error) {
	if a.exit != nil && a.exit.Attempt == r.attempt {
		return finding{attempt: r.attempt, exit: *a.exit}, nil
	}
	return finding{}, errors.New("it was started on another machine")
}

// conclude returns how an attempt ended. The caller holds its lock. An attempt without
// an exit record is lost: conclude ends its remaining processes and records the exit,
// so that no supervisor can start it later.
func (f folder) conclude(attempt string, lock *os.File) (Exit, error) {
	a, err := readLock(lock)
	if err != nil {
		return Exit{}, err
	}
	r := f.examine(attempt, a)
	if a.exit != nil && (a.exit.Attempt == r.attempt || r.attempt == "") {
		return *a.exit, nil
	}
	if err := f.endRemains(r, a); err != nil {
		if unproven := (*UnprovenError)(nil); errors.As(err, &unproven) {
			if unproven.Since = a.doubted; unproven.Since.IsZero() {
				unproven.Since = time.Now().UTC().Truncate(time.Second)
				_ = note(lock, doubtWord, doubt{unproven.Since}) // if this fails, the next process to look records a later time
			}
		}
		return Exit{}, err
	}
	exit := Exit{Attempt: r.attempt, Code: -1, Lost: true, Never: !a.signed, Failed: a.lostBecause(), Ended: time.Now().UTC()}
	if err := f.end(lock, exit); err != nil {
		return Exit{}, err
	}
	return exit, f.syncNames()
}

// proofWithin is how long to wait for proof that an attempt is gone: its last
// processes may be about to end.
const proofWithin = 3 * time.Second

// endRemains ends the remaining processes of an attempt whose supervisor is dead. If
// it returns nil, it is proved that none is alive.
func (f folder) endRemains(r remains, a lockRecord) error {
	switch {
	case r.before, !a.signed && r.attempt == "":
		return nil
	case r.attempt == "":
		return fmt.Errorf("%s does not say what was started, and with it the attempt's id", f.path(lockFile))
	case r.hidden:
		return errors.New("it was started in another pid namespace")
	}
	left, err := sweepAttempt(r.attempt, a.by)
	if err != nil && a.signed {
		return err
	}
	if len(left) > 0 {
		return fmt.Errorf("its processes %v cannot be ended", left)
	}
	if !a.signed {
		return nil
	}
	found := f.remains(r, a.by)
	for until := time.Now().Add(proofWithin); found.Proof != Gone && time.Now().Before(until); found = f.remains(r, a.by) {
		pause.For(context.Background(), maxFindPause)
	}
	if err := found.unproven(r.attempt); err != nil {
		return err
	}
	if a.by.Group != nil {
		_ = a.by.Group.remove() // it is empty; SweepGroups removes it later if this fails
	}
	return nil
}

func (a lockRecord) lostBecause() string {
	switch {
	case a.words != "":
		return "the supervisor died: " + a.words
	case a.frozen:
		return "the supervisor was killed while the agent was frozen"
	case a.signed:
		return "the supervisor was killed"
	}
	return "the supervisor was never started"
}
