package runner

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
	"unicode/utf8"

	"gaffer/fleet"
	"gaffer/internal/attempt/agent"
	"gaffer/internal/attempt/supervisor"
	"gaffer/internal/engine/failure"
)

// verify runs the commands that say whether the work was done. The first that
// fails ends it. They run under a supervisor too: what they start is ended with
// them, and one that runs while gaffer is killed is taken over.
func (a *Attempt) verify(ctx context.Context, r Result) (Result, error) {
	for i, command := range a.job.Verify {
		a.now.State, a.now.Doing = agent.Running, "verify: "+command
		a.act()
		check, told, err := a.check(ctx, i+1, command)
		if err != nil {
			return Result{}, err
		}
		r.Checks = append(r.Checks, check)
		if told != "" {
			r.Class, r.Summary = failure.Class(told), "stopped during "+command
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
	if exit.Lost { // while we looked on
		exit.Told = string(failure.Lost)
	}
	output, err := outputOf(log)
	if err != nil {
		return fleet.Check{}, "", err
	}
	return fleet.Check{
		Command: command, OK: exit.Code == 0 && exit.Told == "", Exit: exit.Code, Output: output,
		Millis: exit.Ended.Sub(exit.Started).Milliseconds(),
	}, exit.Told, nil
}

// startCheck starts a check, or takes over the one that somebody else has
// started. One that was lost is made again: nothing of it is left.
func (a *Attempt) startCheck(ctx context.Context, name, log, command string) (*supervisor.Process, error) {
	secrets, err := a.opts.Secrets.Resolve(ctx, a.job.Secrets)
	if err != nil {
		return nil, err
	}
	for try := 1; ; try++ {
		dir := a.folder.path(fmt.Sprintf("%s-%d", name, try))
		until := a.lease.last()
		deadline := a.job.Deadline
		if !deadline.IsZero() {
			deadline = deadline.Add(a.waited)
		}
		p, err := a.opts.supervise(ctx, dir, supervisor.Spec{
			Attempt: a.job.Attempt, Argv: []string{"sh", "-c", command}, Env: environ(a.job.Env, secrets), Dir: a.job.Work, Log: log,
			Deadline: deadline, Interrupt: a.job.Grace, Terminate: a.job.Grace, Until: until, Abandon: a.opts.Abandon,
		})
		state := supervisor.Alive
		if used := (*supervisor.UsedError)(nil); errors.As(err, &used) {
			until = time.Time{} // whatever it was told, it is told again
			p, state, err = supervisor.Attach(ctx, dir, a.opts.Supervisor)
		}
		if err == nil && state != supervisor.Lost {
			_ = a.lease.pass(p, until) // if it has ended that is what was wanted
		}
		if err != nil || state != supervisor.Lost {
			return p, err
		}
	}
}

// await waits for a check and follows orders meanwhile.
func (a *Attempt) await(ctx context.Context, p *supervisor.Process) (supervisor.Exit, error) {
	look := time.NewTicker(late)
	defer look.Stop()
	for {
		select {
		case <-look.C:
			if why := DoubtOf(p.Doubt()); why != "" {
				a.now.State, a.now.Doing, a.now.Doubt = agent.Waiting, why, why
				a.tellOwner()
			}
		case <-p.Done():
			return p.Wait(ctx)
		case <-ctx.Done():
			return supervisor.Exit{}, ctx.Err()
		case o := <-a.orders:
			if o.stop != "" {
				_ = p.Stop(o.stop, o.at) // if it has ended that is what was wanted
			}
		}
	}
}

// outputEnd is how much of a check's output is kept.
const outputEnd = 2000

// outputOf returns the end of a check's output.
func outputOf(log string) (string, error) {
	f, err := os.Open(log)
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }() // nothing was written
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	from := max(info.Size()-outputEnd, 0)
	data, err := io.ReadAll(io.NewSectionReader(f, from, outputEnd))
	if from > 0 {
		for len(data) > 0 && !utf8.RuneStart(data[0]) {
			data = data[1:]
		}
	}
	return string(bytes.ToValidUTF8(bytes.TrimSpace(data), []byte("\ufffd"))), err
}
