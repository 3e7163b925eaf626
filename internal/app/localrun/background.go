package localrun

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"gaffer/internal/attempt/runlock"
	"gaffer/internal/attempt/supervisor"
	"gaffer/internal/byhand/caller"
	"gaffer/internal/engine/runquery"
	"gaffer/internal/engine/store"
)

// BackgroundProcess is a gaffer process that works on a run in the background.
type BackgroundProcess struct {
	Run  string `json:"run"`
	Team string `json:"team,omitempty"` // id of the team session that the run belongs to; empty if none
	PID  int    `json:"pid"`
	Log  string `json:"log"`
}

// BackgroundOptions are the settings and dependencies of a Background.
type BackgroundOptions struct {
	Store    store.Store
	Query    *runquery.Querier
	Locks    runlock.Locks
	State    string   // path of gaffer's state folder on this machine
	Project  string   // root folder of the project, for runs whose database row names no project
	Shared   bool     // whether other machines may use the same database
	Settings []string // settings from this command's flags, each as NAME=TEXT
	Getenv   func(string) string
	// Agent names the agent that started this process, for example "agent claude". It is empty if a
	// user started this process.
	Agent string
}

// Background starts processes that work on runs in the background.
type Background struct {
	opts     BackgroundOptions
	starting sync.Mutex // held by EnsureProcess, so that concurrent calls start only one process
}

// NewBackground returns a Background with these options.
func NewBackground(opts BackgroundOptions) *Background { return &Background{opts: opts} }

// startWithin is how long Start waits until the new process has locked the run.
const startWithin = 20 * time.Second

// Start starts 'gaffer resume' in a new process session (setsid), in the run's project and with the
// settings from this command's flags. It returns when that process has locked the run, or when the
// run has ended. It returns an error if the process ends first or needs longer than startWithin.
// The new process continues when this one ends.
func (b *Background) Start(ctx context.Context, run string) (BackgroundProcess, error) {
	if err := CheckDetach(b.opts.Getenv); err != nil {
		return BackgroundProcess{}, err
	}
	r, err := b.opts.Query.Run(ctx, run)
	if err != nil {
		return BackgroundProcess{}, err
	}
	d := BackgroundProcess{Run: run, Team: r.Team, Log: filepath.Join(b.opts.State, "runs", run+".log")}
	self, err := os.Executable()
	if err != nil {
		return d, err
	}
	if err := os.MkdirAll(filepath.Dir(d.Log), 0o700); err != nil {
		return d, err
	}
	log, err := os.OpenFile(d.Log, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return d, err
	}
	defer log.Close()
	before, err := log.Stat()
	if err != nil {
		return d, err
	}
	root := cmp.Or(r.Project, b.opts.Project)
	if _, err := os.Stat(root); err != nil {
		return d, fmt.Errorf("the project's folder: %w", err)
	}
	args := []string{"resume", run, "--project", root, "--local"}
	for _, setting := range b.opts.Settings {
		args = append(args, "--set", setting)
	}
	cmd := exec.Command(self, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = root, log, log
	if name, ok := strings.CutPrefix(b.opts.Agent, "agent "); ok {
		cmd.Env = append(os.Environ(), caller.AgentVar+"="+name)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return d, fmt.Errorf("start gaffer in the background: %w", err)
	}
	d.PID = cmd.Process.Pid
	over := make(chan struct{})
	go func() {
		_ = cmd.Wait() // prevents a zombie; ignore the error: the store has the run's result
		close(over)
	}()
	deadline := time.NewTimer(startWithin)
	defer deadline.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for ended := false; ; {
		r, err := b.opts.Query.Run(ctx, run)
		switch {
		case err != nil:
			return d, err
		case r.Status.Final() || r.Owner.Alive && r.Owner.PID == d.PID:
			return d, nil
		case ended && r.Owner.Alive:
			return d, &runlock.OwnedError{Run: run, PID: r.Owner.PID}
		case ended:
			return d, fmt.Errorf("run %s: the gaffer in the background ended at once: %s; see %s", run, lastError(log, before.Size()), d.Log)
		}
		select {
		case <-tick.C:
		case <-over:
			ended, over = true, nil // the process has ended: check the run a last time
		case <-deadline.C:
			return d, fmt.Errorf("run %s: the gaffer in the background (pid %d) does not begin; see %s", run, d.PID, d.Log)
		case <-ctx.Done():
			return d, ctx.Err()
		}
	}
}

// lastError returns the first error message that gaffer wrote to the log file after the byte
// offset. If gaffer wrote no error message, it returns the last line that is not empty. It reads
// only the end of a long log.
func lastError(log *os.File, offset int64) string {
	const most = 4096
	if at, err := log.Stat(); err == nil {
		offset = max(offset, at.Size()-most)
	}
	text := make([]byte, most)
	n, _ := log.ReadAt(text, offset) // ignore the error: search only the bytes that were read
	last := "it said nothing"
	for line := range strings.Lines(string(text[:n])) {
		line = strings.TrimSpace(line)
		if said, ok := strings.CutPrefix(line, "gaffer: "); ok {
			return said
		}
		last = cmp.Or(line, last)
	}
	return last
}

// NoProcessError reports that no process works on a run, and that none was started.
type NoProcessError struct {
	Run     string
	Project string
	Why     error
}

func (e *NoProcessError) Error() string {
	return fmt.Sprintf("no gaffer works on run %s, and none was started: %v; 'gaffer resume %s' in %s continues it", e.Run, e.Why, e.Run, e.Project)
}

func (e *NoProcessError) Unwrap() error { return e.Why }

// EnsureProcess starts a background gaffer process for a run. It does nothing if a process already
// works on the run, or if a server's workers execute the run. If no gaffer process on this machine
// has ever worked on the run, the run may be another machine's. In that case EnsureProcess does
// nothing on a shared database, and returns a [*NoProcessError] on any other database. It also
// returns a [*NoProcessError] if it cannot start the process.
//
// Store the change that needs work, such as a retry, before you call EnsureProcess. The reason is
// that a process may be about to end its work on the run. After such a process has unlocked the
// run, [Runs.Work] looks for new changes. So either that process sees the change, or EnsureProcess
// sees that no process has locked the run, and starts one.
func (b *Background) EnsureProcess(ctx context.Context, id string) error {
	b.starting.Lock()
	defer b.starting.Unlock()
	var run store.Run
	err := b.opts.Store.Read(ctx, func(r store.Reader) (err error) {
		run, err = r.Run(id)
		return runquery.NotFoundAs(err, "run", id)
	})
	if err != nil {
		return err
	}
	switch here := b.opts.Locks.WorkedOn(run); {
	case run.OnlyWorker != run.ID, b.opts.Locks.Owner(id).Alive, !here && b.opts.Shared:
		return nil
	case !here:
		// The run may be another machine's. Do not execute its plan on this machine just because
		// the run is in the database.
		return &NoProcessError{id, run.Project, errors.New("no gaffer of this machine has begun it")}
	}
	_, err = b.Start(ctx, id)
	if _, owned := errors.AsType[*runlock.OwnedError](err); owned || err == nil {
		return nil
	}
	return &NoProcessError{id, run.Project, err}
}

// InTaskError reports that an agent tried to start a background gaffer from within its task.
type InTaskError struct{ Attempt string }

func (e *InTaskError) Error() string {
	return "no gaffer can be started in the background inside a task: it would be ended with the task, as all that a task starts is"
}

// Conflict returns true, so that commands exit with code 4 and the server answers with status 409.
func (e *InTaskError) Conflict() bool { return true }

// Hint returns advice for the user.
func (e *InTaskError) Hint() string {
	return "run it without --detach; 'gaffer run --server' lets a server's workers run a plan"
}

// CheckDetach returns an [*InTaskError] if a task of gaffer started this process. It also checks
// the parent processes, because a task can clear its environment.
func CheckDetach(getenv func(string) string) error {
	if id := getenv(supervisor.Mark); id != "" {
		return &InTaskError{id}
	}
	for _, agent := range caller.Ancestors(os.Getpid()) {
		if agent.Attempt != "" {
			return &InTaskError{agent.Attempt}
		}
	}
	return nil
}
