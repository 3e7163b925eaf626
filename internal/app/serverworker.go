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

// ServerWorkerOptions are what a Station needs of the world.
type ServerWorkerOptions struct {
	Project project.Project
	Config  *config.Config
	Now     func() time.Time
	Getenv  func(string) string
	Tell    func(workerclient.Event) // what happens, as it happens; never nil

	// Connect returns a client of the coordinator with connections of its own.
	Connect func(coordinator.Options) (*coordinator.Client, error)
	Name    string
	Slots   int
	Labels  []string
	Allow   []string // the agents whose tasks it takes and runs; without any, all
	Version string
	Once    bool // ends when there is nothing to do

	Supervisor supervisor.Options
}

// ServerWorker is a worker of a coordinator, on this machine and in one project: it
// takes tasks, runs them and reports. What it runs outlives it, and the next
// worker of the same name takes it over.
type ServerWorker struct {
	opts    ServerWorkerOptions
	dir     string
	state   string
	client  *coordinator.Client // nil before the first connection
	engine  *workerclient.Engine
	worker  *worker.Worker
	release func()

	letGo    chan struct{} // closed when what is held is to be handed back
	released sync.Once
	noMore   chan struct{} // closed when nothing is to be taken any more
	drained  sync.Once
}

// OpenServerWorker makes this process the worker of a name. One that another process is
// already is a conflict.
func OpenServerWorker(ctx context.Context, opts ServerWorkerOptions) (*ServerWorker, error) {
	if err := statefile.CheckName("name of the worker", opts.Name); err != nil {
		return nil, err
	}
	state, err := stateFolder(opts.Getenv)
	if err != nil {
		return nil, err
	}
	s := &ServerWorker{opts: opts, state: state, dir: filepath.Join(state, "workers", opts.Name), letGo: make(chan struct{}), noMore: make(chan struct{})}
	if s.release, err = s.occupy(ctx); err != nil {
		return nil, err
	}
	if err := s.equip(); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// Close lets another process be the worker.
func (s *ServerWorker) Close() { s.release() }

// equip makes the engine and the worker.
func (s *ServerWorker) equip() (err error) {
	id, err := s.identity()
	if err != nil {
		return err
	}
	host, _ := os.Hostname() // for people
	name := s.opts.Name
	labels := append([]string{runs.ProjectLabel(s.opts.Config.ProjectName()), engine.PlaceLabel(name)}, s.opts.Labels...)
	allow, noCommands := s.opts.Allow, error(nil)
	if len(allow) > 0 {
		if !slices.Contains(allow, plan.CommandAgent) {
			noCommands = fmt.Errorf("this worker runs no commands of a plan: it was started for %s", strings.Join(allow, ", "))
		}
		allow = append(slices.Clone(allow), mergeAgent, teamrun.MergeAgent) // what gaffer does itself between tasks
	}
	s.engine, err = workerclient.New(workerclient.Options{
		Connect: s.connect, Now: s.opts.Now, Rand: mathrand.Float64, Tell: s.tell,
		Worker: coordinator.WorkerInfo{ID: id, Name: name, Labels: labels, Agents: allow, Slots: s.opts.Slots, Version: s.opts.Version, Host: host},
		Logs:   s.folder("unsent"), LogOf: s.Log,
	})
	if err != nil {
		return err
	}
	s.worker = worker.New(worker.Options{
		ID: id, Labels: labels, Allow: allow, NoCommands: noCommands, Slots: s.opts.Slots, Engine: s.engine, Attempts: s.folder("attempts"), Root: s.opts.Project.Root, Workspace: s, Now: s.opts.Now,
		Agents: func(name string) (agent.Agent, error) {
			return agentOf(s.opts.Getenv, s.opts.Project.Root, s.opts.Config, name)
		},
		Notice:     func(text string) { s.tell(workerclient.Event{Kind: "notice", Text: text}) },
		Supervisor: s.opts.Supervisor, NewKey: newID,
	})
	return nil
}

// connect returns clients that know the same of coordinators which are away.
func (s *ServerWorker) connect(timeout time.Duration) (_ *coordinator.Client, err error) {
	if s.client == nil {
		if s.client, err = s.opts.Connect(coordinator.Options{Tries: 1}); err != nil {
			return nil, err
		}
	}
	return s.client.Apart(timeout), nil
}

func (s *ServerWorker) folder(name string) string { return filepath.Join(s.dir, name) }

func (s *ServerWorker) tell(e workerclient.Event) {
	e.Time = s.opts.Now()
	s.opts.Tell(e)
}

// parting is how long a worker that ends waits for the rest of the logs.
const parting = 10 * time.Second

// Run works until there is nothing left to do, after Drain or Release, or with
// Once. When ctx ends it lets go of what runs, which goes on.
func (s *ServerWorker) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	var all sync.WaitGroup
	defer all.Wait()
	defer cancel(nil)
	all.Go(func() { s.watch(ctx, cancel) })
	if heard, err := s.adopt(ctx); err != nil || !heard {
		return why(ctx, err)
	}
	listening, stop := context.WithCancel(ctx)
	defer stop()
	all.Go(func() { s.engine.Listen(listening, s.worker.Wake, s.worker.Attend) })
	all.Go(func() { s.tidy(listening) })
	all.Go(func() { s.tellByHand(listening) })
	if err := s.worker.Run(ctx); err != nil {
		return why(ctx, err)
	}
	s.part(ctx)
	return nil
}

// why is the reason that ctx ended, or another error.
func why(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && ctx.Err() != nil {
		return cause
	}
	return err
}

// watch ends everything when the coordinator wants none of it, and has the worker
// drain or release when that is called for.
func (s *ServerWorker) watch(ctx context.Context, cancel context.CancelCauseFunc) {
	letGo := s.letGo
	for {
		select {
		case <-letGo:
			letGo = nil
			_ = s.worker.Release(ctx) // Run returns when it has
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

// adopt takes over what an earlier worker has left running. It reports false if
// the worker was told to take nothing more before any coordinator has answered:
// then there is nothing that it could wait for.
func (s *ServerWorker) adopt(ctx context.Context) (bool, error) {
	asking, stop := context.WithCancel(ctx)
	var all sync.WaitGroup
	defer all.Wait()
	defer stop()
	all.Go(func() {
		select {
		case <-s.noMore:
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

// part says good-bye.
func (s *ServerWorker) part(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, parting)
	defer cancel()
	s.engine.Farewell(ctx)
	s.engine.Flush(ctx)
	s.sweep()
}

// Drain takes no more tasks: Run returns when those that are held have ended.
func (s *ServerWorker) Drain() {
	s.drained.Do(func() { close(s.noMore) })
	s.worker.Drain()
}

// Release ends what is held and hands it back: others, or this worker later, begin
// it again. Then Run returns. It does not wait for that.
func (s *ServerWorker) Release() { s.released.Do(func() { close(s.letGo) }) }

// Holding lists the tasks that are held, each with its run before it.
func (s *ServerWorker) Holding() (list []string) {
	for _, key := range s.engine.Holding() {
		list = append(list, key.Run+"/"+key.Task)
	}
	slices.Sort(list)
	return list
}

// tidyEvery is how often the folders of attempts that were reported are removed.
const tidyEvery = 10 * time.Minute

func (s *ServerWorker) tidy(ctx context.Context) {
	for s.sweep(); ctx.Err() == nil; s.sweep() {
		pause.For(ctx, tidyEvery)
	}
}

// sweep removes the folders of attempts that were reported.
func (s *ServerWorker) sweep() {
	done, _ := filepath.Glob(filepath.Join(s.folder("attempts"), "*.done")) // the pattern is one
	for _, dir := range done {
		_ = os.RemoveAll(dir) // or the next time
	}
}

// Log implements [worker.Place]: each attempt has a file of its own, so that it can
// be sent from its beginning.
func (s *ServerWorker) Log(t store.Task) string {
	return filepath.Join(s.logsOf(t.Run), t.Task+"."+strconv.Itoa(t.Tries)+".log")
}

// logsOf is the folder of the logs of a run.
func (s *ServerWorker) logsOf(run string) string { return filepath.Join(s.folder("logs"), run) }

// identity is the worker's own id, which is the same for as long as its folder
// lives: what it names is there and nowhere else.
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
