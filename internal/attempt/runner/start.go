package runner

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"gaffer/internal/attempt/agent"
	"gaffer/internal/attempt/supervisor"
	"gaffer/internal/engine/failure"
	"gaffer/internal/plan/secret"
)

// Start starts an attempt in its folder. If it returns an error nothing runs; a
// program that is not there, or a folder, is [*supervisor.FailedError].
func Start(ctx context.Context, dir string, with agent.Agent, job Job, opts Options) (*Attempt, error) {
	launch, err := with.Launch(job.Request)
	if err != nil {
		return nil, err
	}
	f := folder(dir)
	if job.LogFrom, err = size(job.Log); err != nil {
		return nil, err
	}
	said, err := json.Marshal(job)
	if err != nil {
		return nil, err
	}
	if launch.File != nil {
		if err := f.writePrompt(&launch); err != nil {
			return nil, err
		}
	}
	n, err := f.launches()
	if err == nil && n > 0 { // it came to nothing, for all that is known
		opts.Supervisor.Attempt = job.Attempt
		err = end(ctx, f.agentFolder(n), opts)
	}
	if err != nil {
		return nil, err
	}
	env, err := opts.environment(ctx, with, launch, job)
	if err != nil {
		return nil, err
	}
	p, err := opts.launch(ctx, f.agentFolder(n+1), supervisor.Spec{
		Attempt: job.Attempt, Argv: launch.Argv, Env: env, Dir: job.Work, Log: job.Log,
		Input: launch.Input, Open: launch.Open, Deadline: job.Deadline, Interrupt: job.Grace, Terminate: job.Grace,
		Until: opts.Until, Abandon: opts.Abandon, Job: said,
	}, job.LogFrom)
	if err != nil {
		return nil, err
	}
	a, err := newAttempt(f, with, job, launch.Linger, p, opts)
	if err == nil {
		a.waits = works
	}
	return a, err
}

// environment is what an agent starts with. A task's variable wins over the agent's,
// whose reference is then not looked up.
func (o Options) environment(ctx context.Context, with agent.Agent, launch agent.Launch, job Job) ([]string, error) {
	refs := maps.Clone(with.References())
	maps.DeleteFunc(refs, func(name string, _ secret.Value) bool {
		_, replaced := job.Secrets[name]
		return replaced || slices.ContainsFunc(job.Env, func(v string) bool { return strings.HasPrefix(v, name+"=") })
	})
	agents, err := o.Secrets.Resolve(ctx, refs)
	if err != nil {
		return nil, err
	}
	tasks, err := o.Secrets.Resolve(ctx, job.Secrets)
	return environ(launch.Env, agents, job.Env, tasks), err
}

// Adopt takes over an attempt that somebody else has started. Of one that never
// ran, or was lost, nothing is left when it returns; the state says so.
func Adopt(ctx context.Context, dir string, with agent.Agent, job Job, opts Options) (*Attempt, supervisor.State, error) {
	launch, err := with.Launch(job.Request)
	if err != nil {
		return nil, supervisor.Unknown, err
	}
	f := folder(dir)
	n, err := f.launches()
	if err != nil {
		return nil, supervisor.Unknown, err
	}
	opts.Supervisor.Attempt = job.Attempt
	p, state, err := supervisor.Attach(ctx, f.agentFolder(max(n, 1)), opts.Supervisor)
	if err != nil {
		return nil, state, err
	}
	a, err := newAttempt(f, with, job, launch.Linger, p, opts)
	return a, state, err
}

// Never reports of an attempt that is lost whether there never was an agent.
func (a *Attempt) Never() bool {
	exit, err := a.process.Wait(context.Background()) // it is over
	return err == nil && exit.Never
}

func newAttempt(f folder, with agent.Agent, job Job, linger time.Duration, p *supervisor.Process, opts Options) (*Attempt, error) {
	done, err := readAnswered(f)
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return &Attempt{
		job: job, folder: f, opts: opts, process: p, lease: &lease{runs: p, until: opts.Until}, reader: with.Reader(job.Request), linger: linger,
		orders: make(chan order), over: make(chan struct{}),
		tail: tail{path: job.Log, at: job.LogFrom}, answered: done, asked: map[string]agent.Question{},
		now:      Activity{State: agent.Running, Thread: thread(job.Request), PID: p.Started().Agent.PID, LogFrom: job.LogFrom},
		progress: opts.Now(),
	}, nil
}

// thread is the conversation that an agent goes on with. One that it begins it
// will name itself.
func thread(r agent.Request) string {
	if r.Begin {
		return ""
	}
	return r.Thread
}

// LogSize is how long a log is now: where the output of an attempt that did not
// begin would have begun.
func LogSize(log string) int64 {
	n, err := size(log)
	if err != nil {
		return 0
	}
	return n
}

// size returns how long a log is. One that is not there is empty.
func size(log string) (int64, error) {
	info, err := os.Stat(log)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

func (f folder) writePrompt(l *agent.Launch) error {
	path := f.path(promptFile)
	if err := os.MkdirAll(string(f), 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(path, l.File, 0o600); err != nil {
		return err
	}
	for i, arg := range l.Argv {
		l.Argv[i] = strings.ReplaceAll(arg, agent.FileArg, path)
	}
	return nil
}

// SelfEnv is the variable that tells an agent and its checks where gaffer is.
const SelfEnv = "GAFFER_SELF"

// ofOneRepository are the variables by which git tells hooks, aliases and what else
// it starts which repository it is about. An agent may be at work in another.
func ofOneRepository() []string {
	return []string{
		"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_PREFIX", "GIT_NAMESPACE",
		"GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_SHALLOW_FILE", "GIT_GRAFT_FILE",
	}
}

// environ is this process's environment with more in it. What comes later wins.
func environ(more ...[]string) []string {
	env := slices.DeleteFunc(os.Environ(), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains(ofOneRepository(), name)
	})
	if self, err := os.Executable(); err == nil {
		env = append(env, SelfEnv+"="+self)
	}
	for _, list := range more {
		env = append(env, list...)
	}
	return env
}

// End ends whatever still runs of an attempt, and returns when it has ended.
func End(ctx context.Context, dir, attempt string, opts Options) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	folders := []string{dir}
	for _, e := range entries {
		if e.IsDir() {
			folders = append(folders, folder(dir).path(e.Name()))
		}
	}
	opts.Supervisor.Attempt = attempt
	for _, f := range folders {
		if err := end(ctx, f, opts); err != nil {
			return err
		}
	}
	return nil
}

func end(ctx context.Context, dir string, opts Options) error {
	p, _, err := supervisor.Attach(ctx, dir, opts.Supervisor)
	if err != nil {
		return err
	}
	defer func() { _ = p.Close() }()
	_ = p.Stop(string(failure.Cancelled), true) // if it has ended that is what was wanted
	_, err = p.Wait(ctx)
	return err
}
