package app

import (
	"context"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"gaffer/coordinator"
	"gaffer/fleet"
	"gaffer/internal/api/runs"
	"gaffer/internal/attempt/agent"
	"gaffer/internal/attempt/supervisor"
	"gaffer/internal/attempt/worker"
	"gaffer/internal/attempt/workspace"
	"gaffer/internal/config"
	"gaffer/internal/connect/workerclient"
	"gaffer/internal/engine"
	"gaffer/internal/engine/store"
	"gaffer/internal/flow/teamrun"
	"gaffer/internal/pause"
	"gaffer/internal/plan"
	"gaffer/internal/project"
	"gaffer/statefile"
)

// ServerWorkerOptions configures a ServerWorker.
type ServerWorkerOptions struct {
	Project project.Project
	Config  *config.Config
	Now     func() time.Time
	Getenv  func(string) string
	Report  func(workerclient.Event) // called with each event; never nil

	// Connect returns a client of the server. Each client has its own connections.
	Connect func(coordinator.Options) (*coordinator.Client, error)
	Name    string
	Slots   int
	Labels  []string
	Allow   []string // names of the agents whose tasks the worker claims; empty means all agents
	Version string
	Once    bool // stop the worker when it runs no task and can claim none

	Supervisor supervisor.Options
}

// ServerWorker is a worker of a server, on this machine and in one project. It claims tasks, runs
// them and reports the results. If it stops while agents are running, they continue, and the next
// worker with the same name takes them over.
type ServerWorker struct {
	opts    ServerWorkerOptions
	dir     string
	state   string
	client  *coordinator.Client // nil before the first connection
	engine  *workerclient.Engine
	worker  *worker.Worker
	release func()

	programs atomic.Pointer[[]fleet.AgentProgram] // result of the latest search for agent programs; never nil

	releasing chan struct{} // closed by Release: the worker must return its tasks to the queue
	released  sync.Once
	draining  chan struct{} // closed by Drain: the worker must claim no more tasks
	drained   sync.Once
}

// OpenServerWorker makes this process the worker named opts.Name. It returns a [*NameTakenError] if
// another process is already the worker with this name.
func OpenServerWorker(ctx context.Context, opts ServerWorkerOptions) (*ServerWorker, error) {
	if err := statefile.CheckName("name of the worker", opts.Name); err != nil {
		return nil, err
	}
	state, err := stateFolder(opts.Getenv)
	if err != nil {
		return nil, err
	}
	s := &ServerWorker{opts: opts, state: state, dir: filepath.Join(state, "workers", opts.Name), releasing: make(chan struct{}), draining: make(chan struct{})}
	s.programs.Store(&[]fleet.AgentProgram{})
	if s.release, err = s.lockName(ctx); err != nil {
		return nil, err
	}
	if err := s.createWorker(); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// Close releases the worker's name, so that another process can use it.
func (s *ServerWorker) Close() { s.release() }

// createWorker sets s.engine and s.worker. s.engine is a client of the server. s.worker uses it to
// claim tasks and to report results.
func (s *ServerWorker) createWorker() (err error) {
	id, err := s.identity()
	if err != nil {
		return err
	}
	host, _ := os.Hostname() // only for display, so ignore an error
	name := s.opts.Name
	labels := append([]string{runs.ProjectLabel(s.opts.Config.ProjectName()), engine.WorkerLabel(name)}, s.opts.Labels...)
	allow, noCommands := s.opts.Allow, error(nil)
	if len(allow) > 0 {
		if !slices.Contains(allow, plan.CommandAgent) {
			noCommands = fmt.Errorf("this worker runs no commands of a plan: it was started for %s", strings.Join(allow, ", "))
		}
		// Gaffer itself adds tasks with these agents to plans, for example to merge branches, so
		// every worker must be able to claim them.
		allow = append(slices.Clone(allow), workspace.MergeAgent, plan.PickAgent, teamrun.MergeAgent)
	}
	s.engine, err = workerclient.New(workerclient.Options{
		Connect: s.connect, Now: s.opts.Now, Rand: mathrand.Float64, Report: s.report,
		Worker: coordinator.WorkerInfo{ID: id, Name: name, Labels: labels, Agents: allow, Slots: s.opts.Slots, Version: s.opts.Version, Host: host},
		Logs:   s.folder("unsent"), LogOf: s.Log, Programs: func() []fleet.AgentProgram { return *s.programs.Load() },
	})
	if err != nil {
		return err
	}
	boxes, err := newSandboxes(Options{Project: s.opts.Project, Config: s.opts.Config, Getenv: s.opts.Getenv})
	if err != nil {
		return err
	}
	notice := func(text string) { s.report(workerclient.Event{Kind: "notice", Text: text}) }
	s.worker = worker.New(worker.Options{
		Sandbox: boxes.specAtLeast, Machine: boxes.machine,
		ID: id, Labels: labels, Allow: allow, Accounts: usableAccounts(s.opts.Config, s.opts.Project.Root, notice), NoCommands: noCommands, Slots: s.opts.Slots, Engine: s.engine, Attempts: s.folder("attempts"), Root: s.opts.Project.Root, Workspace: s, Now: s.opts.Now,
		Agents: func(name string) (agent.Agent, error) {
			return newAgent(s.opts.Getenv, s.opts.Project.Root, s.opts.Config, name)
		},
		Notice:     notice,
		Supervisor: s.opts.Supervisor, NewKey: newID,
	})
	return nil
}

// connect returns a client of the server with its own connections. If the server has several
// addresses, all clients use the same one.
func (s *ServerWorker) connect(timeout time.Duration) (_ *coordinator.Client, err error) {
	if s.client == nil {
		if s.client, err = s.opts.Connect(coordinator.Options{Tries: 1}); err != nil {
			return nil, err
		}
	}
	return s.client.Separate(timeout), nil
}

func (s *ServerWorker) folder(name string) string { return filepath.Join(s.dir, name) }

func (s *ServerWorker) report(e workerclient.Event) {
	e.Time = s.opts.Now()
	s.opts.Report(e)
}

// leaveWithin is how long a stopping worker may take to inform the server and to send the logs that
// are not sent yet.
const leaveWithin = 10 * time.Second

// Run claims and runs tasks. After Drain or Release, it returns when the worker has no more tasks.
// With the option Once, it also returns when the worker runs no task and can claim none. If ctx
// ends, it returns at once, and the worker's agents continue.
func (s *ServerWorker) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	var all sync.WaitGroup
	defer all.Wait()
	defer cancel(nil)
	all.Go(func() { s.watch(ctx, cancel) })
	if answered, err := s.adopt(ctx); err != nil || !answered {
		return causeOf(ctx, err)
	}
	listening, stop := context.WithCancel(ctx)
	defer stop()
	all.Go(func() { s.engine.Listen(listening, s.worker.Wake, s.worker.CheckOrders) })
	all.Go(func() { s.deleteReportedPeriodically(listening) })
	all.Go(func() { s.registerByHand(listening) })
	all.Go(func() { s.findPrograms(listening) })
	if err := s.worker.Run(ctx); err != nil {
		return causeOf(ctx, err)
	}
	s.leave(ctx)
	return nil
}

// programsInterval is the time between two searches of a worker for installed agent programs.
const programsInterval = 10 * time.Minute

// findPrograms looks for installed agent programs every programsInterval, until ctx ends.
// Heartbeats report the result to the server, so that users can choose among the agents that
// workers have.
func (s *ServerWorker) findPrograms(ctx context.Context) {
	for {
		list := agentPrograms(ctx, s.opts.Project.Root, s.opts.Config)
		if ctx.Err() != nil {
			return
		}
		s.programs.Store(&list)
		if !pause.For(ctx, programsInterval) {
			return
		}
	}
}

// causeOf returns the cause of ctx's end, or err if ctx has not ended.
func causeOf(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && ctx.Err() != nil {
		return cause
	}
	return err
}

// watch handles three conditions until ctx ends:
//
//   - If the server permanently rejects the worker's requests, watch calls cancel with the error
//     and returns.
//   - After a call of Release, watch returns the worker's tasks to the queue.
//   - With the option Once, watch makes the worker claim no more tasks when the worker runs no task
//     and can claim none.
func (s *ServerWorker) watch(ctx context.Context, cancel context.CancelCauseFunc) {
	letGo := s.releasing
	for {
		select {
		case <-letGo:
			letGo = nil
			_ = s.worker.Release(ctx) // ignore the error: Release fails only because ctx has ended
		case err := <-s.engine.Failed():
			cancel(err)
			return
		case <-s.engine.Idle():
			if s.opts.Once {
				s.worker.Drain()
			}
		case <-ctx.Done():
			return
		}
	}
}

// adopt asks the server which attempts an earlier worker with this name left running, and continues
// them. It returns true when it has done so. If Drain is called before the server has answered,
// adopt stops waiting for the answer, adopts nothing and returns false.
func (s *ServerWorker) adopt(ctx context.Context) (bool, error) {
	asking, stop := context.WithCancel(ctx)
	var all sync.WaitGroup
	defer all.Wait()
	defer stop()
	all.Go(func() {
		select {
		case <-s.draining:
			stop()
		case <-asking.Done():
		}
	})
	held, err := s.engine.Held(asking)
	if err != nil {
		if asking.Err() != nil && ctx.Err() == nil {
			return false, nil
		}
		return false, err
	}
	return true, s.worker.Adopt(ctx, held)
}

// leave tells the server that the worker stops, and sends the unsent logs.
func (s *ServerWorker) leave(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, leaveWithin)
	defer cancel()
	s.engine.ReportStopping(ctx)
	s.engine.Flush(ctx)
	s.deleteReported()
}

// Drain makes the worker claim no more tasks. Run returns when the worker's current tasks have
// ended.
func (s *ServerWorker) Drain() {
	s.drained.Do(func() { close(s.draining) })
	s.worker.Drain()
}

// Release ends the worker's attempts and returns their tasks to the queue, so that any worker can
// start them again. Then Run returns. Release itself does not wait.
func (s *ServerWorker) Release() { s.released.Do(func() { close(s.releasing) }) }

// HeldTasks lists the tasks that the worker has claimed, each as RUN/TASK.
func (s *ServerWorker) HeldTasks() (list []string) {
	for _, key := range s.engine.HeldTasks() {
		list = append(list, key.Run+"/"+key.Task)
	}
	slices.Sort(list)
	return list
}

// deleteEvery is the time between two calls of deleteReported.
const deleteEvery = 10 * time.Minute

// deleteReportedPeriodically calls deleteReported every deleteEvery until ctx ends.
func (s *ServerWorker) deleteReportedPeriodically(ctx context.Context) {
	for s.deleteReported(); ctx.Err() == nil; s.deleteReported() {
		pause.For(ctx, deleteEvery)
	}
}

// deleteReported deletes the folders of attempts whose end the worker has reported to the server.
// The worker has appended .done to the names of these folders.
func (s *ServerWorker) deleteReported() {
	done, _ := filepath.Glob(filepath.Join(s.folder("attempts"), "*.done")) // ignore the error: the only error would be an invalid pattern
	for _, dir := range done {
		_ = os.RemoveAll(dir) // ignore the error: the next call tries again
	}
}

// Log implements [worker.Workspace]: it returns the path of an attempt's log file. Each attempt has
// its own file, because the worker sends the whole file to the server as the log of the attempt.
func (s *ServerWorker) Log(t store.Task) string {
	return filepath.Join(s.logsOf(t.Run), t.Task+"."+strconv.Itoa(t.Tries)+".log")
}

// logsOf returns the path of the folder with the logs of a run.
func (s *ServerWorker) logsOf(run string) string { return filepath.Join(s.folder("logs"), run) }

// identity returns the worker's id. It creates the id at the first call, and stores it in the
// worker's folder beside the worker's attempts. So the next worker with this name has the same id,
// and can take over these attempts.
func (s *ServerWorker) identity() (string, error) {
	file := s.folder("id")
	data, err := os.ReadFile(file)
	if err == nil {
		if id := strings.TrimSpace(string(data)); statefile.CheckName("id", id) == nil {
			return id, nil
		}
		return "", fmt.Errorf("%s: is not the id of a worker; if nothing of it runs any more, remove it", file)
	}
	if !errors.Is(err, os.ErrNotExist) {
		return "", err
	}
	id := s.opts.Name + "-" + newID()
	temp := file + ".new"
	if err := os.WriteFile(temp, []byte(id+"\n"), 0o600); err != nil {
		return "", err
	}
	return id, os.Rename(temp, file)
}
