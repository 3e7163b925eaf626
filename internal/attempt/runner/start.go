package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gaffer/fleet"
	"gaffer/internal/attempt/agent"
	"gaffer/internal/attempt/sandbox"
	"gaffer/internal/attempt/supervisor"
	"gaffer/internal/engine/failure"
	"gaffer/internal/plan"
	"gaffer/internal/plan/secret"
)

// Start starts an attempt in the folder dir. If the launch of the agent fails, no process of the
// attempt is running, except after a [*supervisor.UnknownError]: then one may be running. The error
// is a [*supervisor.FailedError] if the agent's program, or the folder that it is to run in, is
// missing.
func Start(ctx context.Context, dir string, with agent.Agent, job Job, opts Options) (*Attempt, error) {
	job.Request.LimitUSD, job.Request.LimitTokens = job.Limit.USD(), job.Limit.Tokens
	launch, err := with.Launch(job.Request)
	if err != nil {
		return nil, err
	}
	f := folder(dir)
	if job.LogFrom, err = logSize(job.Log); err != nil {
		return nil, err
	}
	stored, err := json.Marshal(job)
	if err != nil {
		return nil, err
	}
	if launch.File != nil {
		if err := f.writePrompt(&launch); err != nil {
			return nil, err
		}
	}
	// Read the attempt's files before the launch: after it, an error would leave an agent that no
	// Attempt follows.
	a, err := newAttempt(f, with, job, launch.Linger, opts)
	if err != nil {
		return nil, err
	}
	n, err := f.launches()
	if err == nil && n > 0 { // an earlier launch seems to have failed: make sure that its processes have ended
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
	files := []string{f.path(promptFile)}
	if fork := job.Request.Fork; fork != nil && fork.File != "" {
		files = append(files, fork.File)
	}
	argv, env, err := opts.wrap(job, job.Sandbox.Kind, sandbox.Command{
		Argv: launch.Argv, Env: env, Given: given(launch.Env, with.References(), job), Dir: job.Work,
		Scratch: f.path(fmt.Sprintf("sandbox-%d", n+1)), Files: files,
	})
	if err != nil {
		return nil, err
	}
	p, err := opts.launch(ctx, f.agentFolder(n+1), supervisor.Spec{
		Attempt: job.Attempt, Argv: argv, Env: env, Dir: job.Work, Log: job.Log,
		Input: launch.Input, Open: launch.Open, Deadline: job.Deadline, Interrupt: job.Grace, Terminate: job.Grace,
		Until: opts.Until, Abandon: opts.Abandon, Job: stored,
	}, job.LogFrom)
	if err != nil {
		return nil, err
	}
	a.setProcess(p)
	a.supervisorWait = working
	return a, nil
}

// wrap returns the command line and the environment with which the program of c runs in the job's
// sandbox. If gaffer makes no sandbox for the job, wrap returns those of c unchanged. The parameter
// kind is the kind of agent, such as claude, whose files the program needs; empty means none. If
// the program is missing on this machine, the error is a [*supervisor.FailedError]. For a
// container, wrap does not check that, because the program is in the container's image.
func (o Options) wrap(job Job, kind string, c sandbox.Command) (argv, env []string, err error) {
	if !job.Sandbox.Outside() {
		return c.Argv, c.Env, nil
	}
	if o.Machine == nil {
		return nil, nil, fmt.Errorf("sandbox %s: this process cannot make sandboxes", job.Sandbox.Mode)
	}
	if _, err := supervisor.FindProgram(c.Argv[0], c.Env); err != nil && job.Sandbox.Mode != plan.SandboxContainer {
		return nil, nil, &supervisor.FailedError{Exit: supervisor.Exit{Attempt: job.Attempt, Code: -1, Failed: err.Error()}}
	}
	if c.Dir, err = filepath.Abs(c.Dir); err != nil {
		return nil, nil, err
	}
	if c.Scratch, err = filepath.Abs(c.Scratch); err != nil {
		return nil, nil, err
	}
	s := job.Sandbox
	s.Kind = kind
	return o.Machine.Wrap(s, c)
}

// given returns the names of the environment variables that are set specially for this agent: for
// its program, for its account and for its task. They include variables whose values are references
// to secrets.
func given(launch []string, refs map[string]secret.Value, job Job) (names []string) {
	account, accountRefs := job.Account.Environment()
	for _, v := range slices.Concat(launch, account, job.Env) {
		name, _, _ := strings.Cut(v, "=")
		names = append(names, name)
	}
	return slices.Concat(names, slices.Collect(maps.Keys(refs)), slices.Collect(maps.Keys(accountRefs)), slices.Collect(maps.Keys(job.Secrets)))
}

// environment returns the environment of the agent's program. The task, the user's account with
// which the agent works, and the settings of the agent may set the same variable. Then the task's
// value is used, or the account's if the task sets none. A reference to a secret is not resolved if
// another value replaces it. Variables with the keys of the user's other accounts are left out.
func (o Options) environment(ctx context.Context, with agent.Agent, launch agent.Launch, job Job) ([]string, error) {
	env := environ(launch.Env)
	own, ownRefs := []string(nil), map[string]secret.Value{}
	refs := maps.Clone(with.References())
	if job.Account.Name != "" {
		own, ownRefs = job.Account.Environment()
		unset := job.Account.Unset()
		env = slices.DeleteFunc(env, func(v string) bool {
			name, _, _ := strings.Cut(v, "=")
			return slices.Contains(unset, name)
		})
		maps.DeleteFunc(refs, func(name string, _ secret.Value) bool { return slices.Contains(unset, name) })
	}
	replaced := func(name string, list []string, refs map[string]secret.Value) bool {
		_, reference := refs[name]
		return reference || slices.ContainsFunc(list, func(v string) bool { return strings.HasPrefix(v, name+"=") })
	}
	maps.DeleteFunc(ownRefs, func(name string, _ secret.Value) bool { return replaced(name, job.Env, job.Secrets) })
	maps.DeleteFunc(refs, func(name string, _ secret.Value) bool {
		return replaced(name, own, ownRefs) || replaced(name, job.Env, job.Secrets)
	})
	agents, err := o.Secrets.Resolve(ctx, refs)
	if err != nil {
		return nil, err
	}
	accounts, err := o.Secrets.Resolve(ctx, ownRefs)
	if err != nil {
		return nil, err
	}
	tasks, err := o.Secrets.Resolve(ctx, job.Secrets)
	return lastValues(slices.Concat(env, agents, own, accounts, job.Env, tasks)), err
}

// Adopt takes over an attempt that another process has started. If the returned state
// is Lost, no process of the attempt is alive.
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
	a, err := newAttempt(f, with, job, launch.Linger, opts)
	if err != nil {
		return nil, supervisor.Unknown, err
	}
	opts.Supervisor.Attempt = job.Attempt
	p, state, err := supervisor.Attach(ctx, f.agentFolder(max(n, 1)), opts.Supervisor)
	if err != nil {
		return nil, state, err
	}
	a.setProcess(p)
	return a, state, nil
}

// NeverStarted reports whether the agent of a lost attempt was never started. The caller must have
// got the state Lost from [Adopt].
func (a *Attempt) NeverStarted() bool {
	exit, err := a.process.Wait(context.Background()) // returns at once, because the attempt is over
	return err == nil && exit.NeverStarted
}

// newAttempt returns an attempt that has no process yet. From the attempt's files, it reads which
// answers and messages earlier gaffer processes have written to the agent's stdin.
func newAttempt(f folder, with agent.Agent, job Job, linger time.Duration, opts Options) (*Attempt, error) {
	done, err := readSentIDs(f, answeredFile)
	if err != nil {
		return nil, err
	}
	reader := with.Reader(job.Request)
	steering, err := newSteering(f, reader)
	if err != nil {
		return nil, err
	}
	a := &Attempt{
		job: job, folder: f, opts: opts, reader: reader, linger: linger,
		steering: steering, steerRequest: steerRequest{changed: make(chan struct{}, 1)},
		orders: make(chan order), over: make(chan struct{}),
		tail: tail{path: job.Log, at: job.LogFrom}, answered: done, asked: map[string]agent.Question{},
		now: Activity{Progress: fleet.Progress{
			Activity: fleet.Activity{State: string(agent.Running)},
			Process:  fleet.Process{Thread: thread(job.Request), LogFrom: job.LogFrom, Sandbox: sandboxName(job)},
		}},
	}
	a.limit.Store(&job.Limit)
	return a, nil
}

// setProcess sets the process of the attempt.
func (a *Attempt) setProcess(p *supervisor.Process) {
	a.process, a.lease = p, &lease{process: p, until: a.opts.Until}
	a.now.PID, a.lastProgress = p.Started().Agent.PID, a.opts.Now()
}

// sandboxName returns the name of the job's sandbox, as shown to users, or "" if it has none.
func sandboxName(job Job) string {
	if job.Sandbox.Mode == plan.SandboxNone {
		return ""
	}
	return string(job.Sandbox.Mode)
}

// thread returns the id of the conversation that the agent continues, or "" if it begins a new one.
// The id of a new conversation is taken from the agent's output, because some agents choose it
// themselves.
func thread(r agent.Request) string {
	if r.Begin {
		return ""
	}
	return r.Thread
}

// LogSize returns the current size of a log in bytes, or 0 if it cannot be determined. All attempts
// of a task share one log, so the next attempt's output begins at this offset.
func LogSize(log string) int64 {
	n, err := logSize(log)
	if err != nil {
		return 0
	}
	return n
}

// logSize returns the size of a log. A missing log has size 0.
func logSize(log string) (int64, error) {
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

// SelfEnv is the environment variable in which agents and checks find the path of gaffer's program.
const SelfEnv = "GAFFER_SELF"

// gitRepositoryVars lists the variables with which git tells hooks and aliases where the repository
// is. gaffer removes them for agents, which may work in another repository.
func gitRepositoryVars() []string {
	return []string{
		"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_PREFIX", "GIT_NAMESPACE",
		"GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_SHALLOW_FILE", "GIT_GRAFT_FILE",
	}
}

// environ returns this process's environment with SelfEnv and the variables in extra, and without
// the variables listed by gitRepositoryVars. If a variable occurs twice, the later value counts.
func environ(extra ...[]string) []string {
	env := slices.DeleteFunc(os.Environ(), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains(gitRepositoryVars(), name)
	})
	if self, err := os.Executable(); err == nil {
		env = append(env, SelfEnv+"="+self)
	}
	for _, list := range extra {
		env = append(env, list...)
	}
	return lastValues(env)
}

// lastValues returns env with only the last value of each variable. If a variable occurs twice,
// some programs use the first value and others the last.
func lastValues(env []string) (list []string) {
	position := make(map[string]int, len(env))
	for _, v := range env {
		name, _, _ := strings.Cut(v, "=")
		if i, twice := position[name]; twice {
			list[i] = v
			continue
		}
		position[name] = len(list)
		list = append(list, v)
	}
	return list
}

// End kills all processes of an attempt, those of the agent and of the commands that check its
// work, and waits for their end. The parameter dir is the attempt's folder. The error is
// fs.ErrNotExist if the folder is missing.
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
	_ = p.Stop(string(failure.Cancelled), true) // ignore the error: even if this fails, Wait waits until the processes have ended
	_, err = p.Wait(ctx)
	return err
}
