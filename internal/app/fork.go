package app

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"gaffer/coordinator"
	"gaffer/fleet"
	"gaffer/internal/api/credential"
	"gaffer/internal/api/runs"
	"gaffer/internal/engine"
	"gaffer/internal/engine/logstore"
	"gaffer/internal/engine/runquery"
	"gaffer/internal/engine/store"
	"gaffer/internal/flow/fork"
	"gaffer/internal/plan"
)

// Forks makes new tasks, each of which continues the agent's conversation and the work of another
// task.
type Forks struct{ app *App }

// Fork makes a new run with one task, which continues the conversation and the work of another
// task. Fork only stores the run: the task starts when a gaffer process works on the run. Fork
// returns a [*fork.Error] if this machine has not worked on the other task's run.
func (f *Forks) Fork(ctx context.Context, r fleet.ForkRequest) (fleet.ForkResult, error) {
	run, source, err := f.source(ctx, r)
	if err != nil {
		return fleet.ForkResult{}, err
	}
	if !f.app.locks.WorkedOn(run) {
		return fleet.ForkResult{}, &fork.Error{Text: fmt.Sprintf("run %s was not worked on by this machine", run.ID), Next: "ask its server: 'gaffer fork --server URL'"}
	}
	return f.submit(ctx, run, source, r, engine.Submission{Key: "fork " + cmp.Or(r.Key, newID())})
}

// submit stores the new run, in the same project as the run of the original task. Only this machine
// may execute the new run.
func (f *Forks) submit(ctx context.Context, run store.Run, source fork.Source, r fleet.ForkRequest, s engine.Submission) (fleet.ForkResult, error) {
	p, result, err := fork.Plan(source, r)
	if err != nil {
		return result, err
	}
	s.Project = run.Project
	result.Run, err = f.app.submit(ctx, p, s)
	return result, err
}

// Fork implements [server.NewRuns]. Only the machine that ran the original task has the agent's
// conversation and the files, so that machine executes the new run. It is this machine, or the one
// with the worker of the task's last attempt. If the run was stored but no process could be started
// for it, the result warning is the reason.
func (s *NewRunService) Fork(ctx context.Context, by credential.Identity, r fleet.ForkRequest) (result fleet.ForkResult, warning string, err error) {
	if _, err := s.runs.Run(ctx, r.Run); err != nil {
		return result, "", err
	}
	run, source, err := s.app.Forks.source(ctx, r)
	if err != nil {
		return result, "", err
	}
	key := by.ID + " " + cmp.Or(r.Key, newID())
	if s.app.locks.WorkedOn(run) {
		result, err = s.app.Forks.submit(ctx, run, source, r, engine.Submission{Who: cmp.Or(by.Name, by.ID), Key: "fork " + key})
		if err != nil {
			return result, "", startError(err)
		}
		if err := s.app.Background.EnsureProcess(context.WithoutCancel(ctx), result.Run); err != nil {
			warning = err.Error()
		}
		return result, warning, nil
	}
	if source.Worker == "" {
		return result, "", &fork.Error{Text: fmt.Sprintf("the worker that has the conversation of task %s is not known any more", r.Task)}
	}
	p, result, err := fork.Plan(source, r)
	if err != nil {
		return result, "", err
	}
	// Remove the project's label from the tasks, because s.runs.Submit adds this label to every
	// task.
	for i, t := range p.Tasks {
		p.Tasks[i].Labels = slices.DeleteFunc(slices.Clone(t.Labels), func(label string) bool { return label == runs.ProjectLabel(run.Project) })
	}
	text, err := plan.Encode(p)
	if err != nil {
		return result, "", err
	}
	made, err := s.runs.Submit(ctx, by, coordinator.NewRun{Project: run.Project, On: source.Worker, Key: r.Key, Plan: text})
	result.Run = made.ID
	return result, "", err
}

// Turns implements [server.NewRuns].
func (s *NewRunService) Turns(ctx context.Context, run, task string) ([]fleet.Turn, error) {
	if _, err := s.runs.Run(ctx, run); err != nil {
		return nil, err
	}
	return s.app.Forks.Turns(ctx, run, task)
}

// Turns returns the turns of a task's conversation, oldest first. A turn is a message to the agent
// and the agent's reply.
func (f *Forks) Turns(ctx context.Context, run, task string) ([]fleet.Turn, error) {
	_, source, err := f.source(ctx, fleet.ForkRequest{Run: run, Task: task})
	if err != nil {
		return nil, err
	}
	return fork.Turns(source)
}

// source reads what is needed to fork a task, which means to continue a copy of its conversation
// and files in a new task. It returns an error if the task is running, because the conversation and
// the files would change while they are copied.
func (f *Forks) source(ctx context.Context, r fleet.ForkRequest) (run store.Run, s fork.Source, err error) {
	var t store.Task
	var attempts []store.Attempt
	var worker string
	if err := f.app.store.Read(ctx, func(rd store.Reader) (err error) {
		if run, err = rd.Run(r.Run); err != nil {
			return runquery.NotFoundAs(err, "run", r.Run)
		}
		key := store.TaskKey{Run: r.Run, Task: r.Task}
		if t, err = rd.Task(key); err != nil {
			return runquery.NotFoundAs(err, "task", r.Run+"/"+r.Task)
		}
		if attempts, err = rd.Attempts(key); err != nil || len(attempts) == 0 {
			return err
		}
		// Look up the worker's name, because a new run says by name which worker must execute it.
		w, err := rd.Worker(attempts[len(attempts)-1].Worker)
		if worker = w.Name; errors.Is(err, store.ErrNotFound) {
			// If the worker was deleted, its name stays empty. The name is needed only if another
			// machine executes the new run.
			return nil
		}
		return err
	}); err != nil {
		return run, s, err
	}
	if t.Status == store.Running {
		return run, s, &fork.Error{Text: fmt.Sprintf("task %s is running: its conversation and its files change", t.Task), Next: fmt.Sprintf("fork it when it has ended; 'gaffer interrupt %s' ends its turn", t.Task)}
	}
	spec, err := plan.DecodeTask(t.Spec)
	if err != nil {
		return run, s, err
	}
	s = fork.Source{Run: run.ID, Task: spec, Worker: worker}
	for _, one := range attempts {
		if one.Status.Final() {
			s.Attempts = append(s.Attempts, fork.Attempt{Number: one.Number, Thread: one.Thread, Account: one.Account, Used: one.SpentEarlier.Add(one.Spent)})
		}
	}
	s.Log = func(number int) ([]byte, error) { return readLog(run, attempts, number) }
	if !f.app.locks.WorkedOn(run) {
		s.Log = func(number int) ([]byte, error) { return f.storedLog(ctx, attempts, number) }
	}
	return run, s, nil
}

// maxForkLog is the maximum number of bytes that are read of an attempt's log. Turns of the
// conversation that the log contains after these bytes are not found.
const maxForkLog = 256 << 20

// storedLog returns the log of the attempt with this number, as far as the attempt's worker has
// sent it to this server. It stops reading when it has at least maxForkLog bytes.
func (f *Forks) storedLog(ctx context.Context, attempts []store.Attempt, number int) (log []byte, err error) {
	for _, one := range attempts {
		if one.Number != number {
			continue
		}
		err = f.app.store.Read(ctx, func(r store.Reader) error {
			from, end, err := logstore.Span(r, one.ID)
			log = nil
			for err == nil && from < end && len(log) < maxForkLog {
				var piece []byte
				if piece, err = logstore.Read(r, one.ID, from, 1<<20); len(piece) == 0 {
					break
				}
				log, from = append(log, piece...), from+int64(len(piece))
			}
			return err
		})
	}
	return log, err
}

// readLog returns what the attempt with this number has written to the log file of its task, up to
// maxForkLog bytes. Several attempts at a task may share the file. If the file does not exist,
// readLog returns no bytes and no error.
func readLog(run store.Run, attempts []store.Attempt, number int) ([]byte, error) {
	var from, to int64 = 0, -1
	path := ""
	for i, one := range attempts {
		if one.Number != number {
			continue
		}
		if path, from = one.Log, one.LogFrom; i+1 < len(attempts) && attempts[i+1].Log == path {
			to = attempts[i+1].LogFrom
		}
	}
	if path == "" {
		return nil, nil
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(run.Project, path)
	}
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("the log %s is not a regular file", path)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // ignore the error: the file was only read
	if to < from {
		to = max(info.Size(), from)
	}
	var log bytes.Buffer
	_, err = io.Copy(&log, io.NewSectionReader(file, from, min(to-from, maxForkLog)))
	return log.Bytes(), err
}
