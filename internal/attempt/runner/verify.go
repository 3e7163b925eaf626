package runner

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
	"unicode/utf8"

	"gaffer/fleet"
	"gaffer/internal/attempt/agent"
	"gaffer/internal/attempt/sandbox"
	"gaffer/internal/attempt/supervisor"
	"gaffer/internal/engine/failure"
)

// verify runs the commands that check the work, up to the first that fails. Each command runs under
// a supervisor, which also ends the processes that the command leaves behind. If gaffer is killed,
// another gaffer process can take over the running command.
func (a *Attempt) verify(ctx context.Context, r Result) (Result, error) {
	var checks []fleet.Check
	for i, command := range a.job.Verify {
		a.now.State, a.now.Doing = string(agent.Running), "verify: "+command
		a.handlePending()
		check, stopReason, err := a.check(ctx, i+1, command)
		if err != nil {
			return Result{}, err
		}
		checks = append(checks, check)
		r.Checks, _ = json.Marshal(checks) // cannot fail: a check has only strings, numbers and booleans
		if stopReason != "" {
			r.Class, r.Summary = failure.Class(stopReason), "stopped during "+command
			return r, nil
		}
		if !check.OK {
			r.Class, r.Summary = failure.VerifyFailed, fmt.Sprintf("%s: exit %d\n%s", command, check.Exit, check.Output)
			return r, nil
		}
	}
	return r, nil
}

func (a *Attempt) check(ctx context.Context, n int, command string) (fleet.Check, string, error) {
	log := a.folder.path(fmt.Sprintf("verify-%d.log", n))
	p, err := a.startCheck(ctx, fmt.Sprintf("verify-%d", n), log, command)
	if failed := (*supervisor.FailedError)(nil); errors.As(err, &failed) {
		return fleet.Check{Command: command, Exit: -1, Output: failed.Error()}, "", nil
	}
	if err != nil {
		return fleet.Check{}, "", err
	}
	defer func() { _ = p.Close() }()
	exit, err := a.await(ctx, p)
	if err != nil {
		return fleet.Check{}, "", err
	}
	if exit.Lost { // the supervisor was killed during the check
		exit.StopReason = string(failure.Lost)
	}
	output, err := outputOf(log)
	if err != nil {
		return fleet.Check{}, "", err
	}
	return fleet.Check{
		Command: command, OK: exit.Code == 0 && exit.StopReason == "", Exit: exit.Code, Output: output,
		Millis: exit.Ended.Sub(exit.Started).Milliseconds(),
	}, exit.StopReason, nil
}

// startCheck starts a check: one command that verifies the agent's work. If another gaffer process
// has already started this check, startCheck takes it over, even if it has ended. If the supervisor
// of that check was killed, startCheck makes sure that no process of the check is alive, and starts
// the check again.
func (a *Attempt) startCheck(ctx context.Context, name, log, command string) (*supervisor.Process, error) {
	secrets, err := a.opts.Secrets.Resolve(ctx, a.job.Secrets)
	if err != nil {
		return nil, err
	}
	for try := 1; ; try++ {
		dir := a.folder.path(fmt.Sprintf("%s-%d", name, try))
		until := a.lease.end()
		deadline := a.job.Deadline
		if !deadline.IsZero() {
			deadline = deadline.Add(a.waited)
		}
		// A check runs code that the agent may have written. So it runs in the same sandbox as the
		// agent, but without the files that contain the login of the agent.
		argv, env, err := a.opts.wrap(a.job, "", sandbox.Command{
			Argv: []string{"sh", "-c", command}, Env: environ(a.job.Env, secrets), Given: given(nil, nil, a.job), Dir: a.job.Work, Scratch: dir + "-sandbox",
		})
		if err != nil {
			return nil, err
		}
		p, err := a.opts.supervise(ctx, dir, supervisor.Spec{
			Attempt: a.job.Attempt, Argv: argv, Env: env, Dir: a.job.Work, Log: log,
			Deadline: deadline, Interrupt: a.job.Grace, Terminate: a.job.Grace, Until: until, Abandon: a.opts.Abandon,
		})
		state := supervisor.Alive
		if used := (*supervisor.UsedError)(nil); errors.As(err, &used) {
			// The other process has started the check with a lease whose end is not known here.
			// Setting the variable until to zero makes moveTo send the end of the attempt's lease,
			// if it has one, to the check's supervisor.
			until = time.Time{}
			p, state, err = supervisor.Attach(ctx, dir, a.opts.Supervisor)
		}
		if err == nil && state != supervisor.Lost {
			_ = a.lease.moveTo(p, until) // if this fails, the check gets the lease's new end when the lease is next extended
		}
		if err != nil || state != supervisor.Lost {
			return p, err
		}
	}
}

// await waits for the end of a check. An interrupt, see [Attempt.Steer], or a call of
// [Attempt.Stop] stops the check. Calls of [Attempt.Answer] and [Attempt.Wait] are ignored, because
// they concern the agent, which has ended.
func (a *Attempt) await(ctx context.Context, p *supervisor.Process) (supervisor.Exit, error) {
	look := time.NewTicker(maxReadInterval)
	defer look.Stop()
	for {
		if _, interrupt, _ := a.steerRequest.read(); interrupt {
			_ = p.Stop(string(failure.Interrupted), false) // ignore the error: the next round of the loop tries again
		}
		select {
		case <-a.steerRequest.changed:
		case <-look.C:
			if why := UnprovenText(p.Unproven()); why != "" {
				a.now.State, a.now.Doing, a.now.Unproven = string(agent.Waiting), why, why
				a.reportActivity()
			}
		case <-p.Done():
			return p.Wait(ctx)
		case <-ctx.Done():
			return supervisor.Exit{}, ctx.Err()
		case o := <-a.orders:
			if o.stopReason != "" {
				_ = p.Stop(o.stopReason, o.now) // fails only if the supervisor does not answer in time
			}
		}
	}
}

// maxCheckOutput is the maximum number of bytes kept of a check's output.
const maxCheckOutput = 2000

// outputOf returns the last part of a check's output, at most maxCheckOutput bytes.
func outputOf(log string) (string, error) {
	f, err := os.Open(log)
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }() // ignore the error: the file was only read
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	from := max(info.Size()-maxCheckOutput, 0)
	data, err := io.ReadAll(io.NewSectionReader(f, from, maxCheckOutput))
	if from > 0 {
		for len(data) > 0 && !utf8.RuneStart(data[0]) {
			data = data[1:]
		}
	}
	return string(bytes.ToValidUTF8(bytes.TrimSpace(data), []byte("\ufffd"))), err
}
