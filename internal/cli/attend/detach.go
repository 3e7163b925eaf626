package attend

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"gaffer/internal/app"
	"gaffer/internal/cli/env"
)

// Detached is a gaffer that looks after a run in the background.
type Detached struct {
	Run  string `json:"run"`
	Team string `json:"team,omitempty"` // the session of the team whose run it is
	PID  int    `json:"pid"`
	Log  string `json:"log"`

	atOnce string // how many tasks run at once, for a person
}

// startWithin is how long a gaffer in the background may take to begin.
const startWithin = 20 * time.Second

// Detach lets a gaffer in the background work on a run, and tells the run's id
// and how to see it again.
func (t *Attendant) Detach(ctx context.Context, run string, asJSON bool) error {
	if t.far() {
		t.show(ctx, run)
		return t.leaveTo(run, asJSON)
	}
	d, err := t.Background(ctx, run)
	if err != nil {
		return err
	}
	if asJSON {
		return t.env.PrintJSON(d)
	}
	t.env.Talk("runs in the background, pid %d, log %s", d.PID, env.Printable(d.Log))
	if d.atOnce != "" {
		t.env.Talk("tasks: %s", d.atOnce)
	}
	if d.Team != "" {
		t.env.Talk("'gaffer team status' shows how session %s stands", d.Team)
	}
	t.env.Talk("'gaffer status --watch %s' shows it, 'gaffer cancel %s' ends it", d.Run, d.Run)
	return t.env.Printf("%s\n", d.Run)
}

// left is a run that others work on.
type left struct {
	Run    string `json:"run"`
	Server string `json:"server"`
}

// leaveTo tells how to see a run again that the workers of a server work on.
func (t *Attendant) leaveTo(run string, asJSON bool) error {
	if asJSON {
		return t.env.PrintJSON(left{run, t.Fleet.Where()})
	}
	again := t.env.ServerArg()
	t.env.Talk("it runs on the workers of %s", env.Printable(t.Fleet.Where()))
	t.env.Talk("'gaffer status --watch %s%s' shows it, 'gaffer cancel %s%s' ends it", run, again, run, again)
	return t.env.Printf("%s\n", run)
}

// Background starts 'gaffer resume' in a session of its own, and returns when it
// has begun.
func (t *Attendant) Background(ctx context.Context, run string) (Detached, error) {
	r, err := t.App.Run(ctx, run)
	if err != nil {
		return Detached{}, err
	}
	d := Detached{Run: run, Team: r.Team, atOnce: atOnce(r, false)}
	cmd, err := t.resume(run)
	if err != nil {
		return d, err
	}
	log, err := t.openLog(run)
	if err != nil {
		return d, err
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return d, fmt.Errorf("start gaffer in the background: %w", err)
	}
	d.PID, d.Log = cmd.Process.Pid, log.Name()
	return d, t.begun(ctx, d, cmd.Process)
}

// resume is the command with the project and the settings of this one.
func (t *Attendant) resume(run string) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p, err := t.env.Project()
	if err != nil {
		return nil, err
	}
	c, err := t.env.Config()
	if err != nil {
		return nil, err
	}
	args := []string{"resume", run, "--project", p.Root, "--local"}
	for _, v := range c.Values() {
		if v.Source.Flag != "" {
			args = append(args, "--set", v.Key.Name+"="+v.Text)
		}
	}
	cmd := exec.Command(self, args...)
	cmd.Dir = p.Root
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd, nil
}

// openLog opens the file that takes what a gaffer in the background says.
func (t *Attendant) openLog(run string) (*os.File, error) {
	state, err := t.env.StateDir()
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(state, "runs")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	return os.OpenFile(filepath.Join(dir, run+".log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
}

// begun waits until the gaffer in the background works on the run, or has ended.
func (t *Attendant) begun(ctx context.Context, d Detached, p *os.Process) error {
	deadline := time.NewTimer(startWithin)
	defer deadline.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		r, err := t.App.Run(ctx, d.Run)
		if err != nil {
			return err
		}
		if r.Status.Final() || r.Owner.Alive && r.Owner.PID == d.PID {
			return p.Release()
		}
		if over(p.Pid) {
			if r.Owner.Alive {
				return &app.OwnedError{Run: d.Run, PID: r.Owner.PID}
			}
			return fmt.Errorf("run %s: the gaffer in the background ended at once; see %s", d.Run, d.Log)
		}
		select {
		case <-tick.C:
		case <-deadline.C:
			return errors.Join(p.Release(), fmt.Errorf("run %s: the gaffer in the background (pid %d) does not begin; see %s", d.Run, d.PID, d.Log))
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// over reports whether a child has ended, without waiting for it.
func over(pid int) bool {
	var status syscall.WaitStatus
	got, err := syscall.Wait4(pid, &status, syscall.WNOHANG, nil)
	return err == nil && got == pid
}
