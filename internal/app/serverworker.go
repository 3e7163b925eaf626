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
	"time"

	"gaffer/coordinator"
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
	Report  func(workerclient.Event) // reports events as they happen; never nil

	// Connect returns a client of the server with its own connections.
	Connect func(coordinator.Options) (*coordinator.Client, error)
	Name    string
	Slots   int
	Labels  []string
	Allow   []string // the agents whose tasks the worker claims; empty for all
	Version string
	Once    bool // end when there is no task to claim

	Supervisor supervisor.Options
}

// ServerWorker is a server's worker on this machine, in one project. It claims tasks,
// runs them and reports. Its agents outlive it, and the next worker of the same name
// adopts them.
type ServerWorker struct {
	opts    ServerWorkerOptions
	dir     string
	state   string
	client  *coordinator.Client // nil before the first connection
	engine  *workerclient.Engine
	worker  *worker.Worker
	release func()

	releasing chan struct{} // closed by Release: return the held tasks to the queue
	released  sync.Once
	draining  chan struct{} // closed by Drain: claim no more tasks
	drained   sync.Once
}

// OpenServerWorker makes this process the worker with the name in opts. It returns a
// [*NameTakenError] if another process is the worker with that name.
func OpenServerWorker(ctx context.Context, opts ServerWorkerOptions) (*ServerWorker, error) {
	if err := statefile.CheckName("name of the worker", opts.Name); err != nil {
		return nil, err
	}
	state, err := stateFolder(opts.Getenv)
	if err != nil {
		return nil, err
	}
	s := &ServerWorker{opts: opts, state: state, dir: filepath.Join(state, "workers", opts.Name), releasing: make(chan struct{}), draining: make(chan struct{})}
	if s.release, err = s.lockName(ctx); err != nil {
		return nil, err
	}
	if err := s.createWorker(); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// Close releases the worker's name for other processes.
func (s *ServerWorker) Close() { s.release() }

// createWorker creates the engine's client and the worker.
func (s *ServerWorker) createWorker() (err error) {
	id, err := s.identity()
	if err != nil {
		return err
	}
	host, _ := os.Hostname() // for display
	name := s.opts.Name
	labels := append([]string{runs.ProjectLabel(s.opts.Config.ProjectName()), engine.WorkerLabel(name)}, s.opts.Labels...)
	allow, noCommands := s.opts.Allow, error(nil)
	if len(allow) > 0 {
		if !slices.Contains(allow, plan.CommandAgent) {
			noCommands = fmt.Errorf("this worker runs no commands of a plan: it was started for %s", strings.Join(allow, ", "))
		}
		allow = append(slices.Clone(allow), workspace.MergeAgent, plan.PickAgent, teamrun.MergeAgent) // gaffer adds tasks of these agents to plans, so every worker must take them
	}
	s.engine, err = workerclient.New(workerclient.Options{
		Connect: s.connect, Now: s.opts.Now, Rand: mathrand.Float64, Report: s.report,
		Worker: coordinator.WorkerInfo{ID: id, Name: name, Labels: labels, Agents: allow, Slots: s.opts.Slots, Version: s.opts.Version, Host: host},
		Logs:   s.folder("unsent"), LogOf: s.Log,
	})
	if err != nil {
		return err
	}
	s.worker = worker.New(worker.Options{
		ID: id, Labels: labels, Allow: allow, NoCommands: noCommands, Slots: s.opts.Slots, Engine: s.engine, Attempts: s.folder("attempts"), Root: s.opts.Project.Root, Workspace: s, Now: s.opts.Now,
		Agents: func(name string) (agent.Agent, error) {
			return newAgent(s.opts.Getenv, s.opts.Project.Root, s.opts.Config, name)
		},
		Notice:     func(text string) { s.report(workerclient.Event{Kind: "notice", Text: text}) },
		Supervisor: s.opts.Supervisor, NewKey: newID,
	})
	return nil
}

// connect returns a client with its own connections. All clients share what they know
// about unreachable servers.
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

// leaveWithin is how long a worker that ends waits until its logs are sent.
const leaveWithin = 10 * time.Second

// Run works until nothing is left to do after Drain, after Release, or with Once. When
// ctx ends it returns, and its agents continue to run.
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
	if err := s.worker.Run(ctx); err != nil {
		return causeOf(ctx, err)
	}
	s.leave(ctx)
	return nil
}

// causeOf returns the cause of ctx's end, or else err.
func causeOf(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && ctx.Err() != nil {
		return cause
	}
	return err
}

// watch cancels everything when the server finally rejects the worker. After Release it
// returns the held tasks. If Once is set, it drains the worker when it is idle.
func (s *ServerWorker) watch(ctx context.Context, cancel context.CancelCauseFunc) {
	letGo := s.releasing
	for {
		select {
		case <-letGo:
			letGo = nil
			_ = s.worker.Release(ctx) // Run returns when this is done
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

// adopt continues the attempts that an earlier worker of this name left running. It
// returns false if Drain is called before the server has answered: then the worker holds
// nothing that it could wait for.
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

// leave reports to the server that the worker stops, and sends the remaining logs.
func (s *ServerWorker) leave(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, leaveWithin)
	defer cancel()
	s.engine.ReportStopping(ctx)
	s.engine.Flush(ctx)
	s.deleteReported()
}

// Drain stops claiming tasks. Run returns when the held tasks have ended.
func (s *ServerWorker) Drain() {
	s.drained.Do(func() { close(s.draining) })
	s.worker.Drain()
}

// Release ends the held attempts and returns their tasks to the queue, so that any worker
// can start them again. Run returns afterwards. Release does not wait for that.
func (s *ServerWorker) Release() { s.released.Do(func() { close(s.releasing) }) }

// HeldTasks lists the held tasks as RUN/TASK.
func (s *ServerWorker) HeldTasks() (list []string) {
	for _, key := range s.engine.HeldTasks() {
		list = append(list, key.Run+"/"+key.Task)
	}
	slices.Sort(list)
	return list
}

// deleteEvery is the interval at which the folders of reported attempts are deleted.
const deleteEvery = 10 * time.Minute

// deleteReportedPeriodically deletes the folders of reported attempts until ctx ends.
func (s *ServerWorker) deleteReportedPeriodically(ctx context.Context) {
	for s.deleteReported(); ctx.Err() == nil; s.deleteReported() {
		pause.For(ctx, deleteEvery)
	}
}

// deleteReported deletes the folders of reported attempts.
func (s *ServerWorker) deleteReported() {
	done, _ := filepath.Glob(filepath.Join(s.folder("attempts"), "*.done")) // the pattern is valid
	for _, dir := range done {
		_ = os.RemoveAll(dir) // the next call tries again
	}
}

// Log implements [worker.Workspace]. Each attempt has its own file, so that it can be
// sent from its beginning.
func (s *ServerWorker) Log(t store.Task) string {
	return filepath.Join(s.logsOf(t.Run), t.Task+"."+strconv.Itoa(t.Tries)+".log")
}

// logsOf returns the folder for the logs of a run.
func (s *ServerWorker) logsOf(run string) string { return filepath.Join(s.folder("logs"), run) }

// identity returns the worker's id, which is stored in the worker's folder. So all
// attempts of a worker are in the folder that contains its id.
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
