package fake

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"syscall"
	"time"
)

// shell runs a command, and kills it if a signal or the user asks the agent to finish.
func (a *actor) shell(command string) (output string, code int) {
	var out limited
	cmd := exec.Command("sh", "-c", command)
	cmd.Stdout, cmd.Stderr = &out, &out
	// After the command has exited, wait at most one second for background processes that hold its
	// output open.
	cmd.WaitDelay = time.Second
	if err := cmd.Start(); err != nil {
		return err.Error() + "\n", 127
	}
	exited := make(chan error, 1)
	go func() { exited <- cmd.Wait() }()
	var err error
	select {
	case err = <-exited:
	case <-a.stopped:
		_ = cmd.Process.Kill()
		err = <-exited
	case <-a.turnCut():
		_ = cmd.Process.Kill()
		err = <-exited
	}
	var bad *exec.ExitError
	switch {
	case errors.As(err, &bad) && bad.ExitCode() < 0:
		return string(out), 137
	case errors.As(err, &bad):
		return string(out), bad.ExitCode()
	}
	return string(out), 0
}

// limited keeps only the first megabyte of the data that is written to it, to limit the memory.
type limited []byte

func (l *limited) Write(data []byte) (int, error) {
	const limit = 1 << 20
	*l = append(*l, data[:min(len(data), max(0, limit-len(*l)))]...)
	return len(data), nil
}

// ignoreSignals makes the program ignore the signals that ask it to exit.
func (a *actor) ignoreSignals() {
	deaf := make(chan os.Signal, 1)
	signal.Notify(deaf, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	a.release = append(a.release, func() { signal.Stop(deaf) })
}

// finishOnSignal makes the program end its script with success when a signal asks it to exit.
func (a *actor) finishOnSignal() {
	signals, over, left := make(chan os.Signal, 1), make(chan struct{}), make(chan struct{})
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	go func() {
		defer close(left)
		select {
		case <-signals:
			a.stop.Do(func() { close(a.stopped) })
		case <-over:
		}
	}()
	a.release = append(a.release, func() { signal.Stop(signals); close(over); <-left })
}

// orphan starts a process outside the agent's process group, so that a signal to the group does not
// reach it.
func (a *actor) orphan(args string) error {
	return sleeper(args, &syscall.SysProcAttr{Setsid: true})
}

func (a *actor) forks(args string) error {
	word, rest, err := splitWord(args)
	if err != nil {
		return err
	}
	const limit = 500
	n, err := strconv.Atoi(word)
	if err != nil || n < 0 || n > limit {
		return fmt.Errorf("found %q, want a number of processes up to %d", word, limit)
	}
	for range n {
		if err := sleeper(rest, nil); err != nil {
			return err
		}
	}
	return nil
}

// sleeper starts a process that sleeps, and does not wait for it.
func sleeper(duration string, how *syscall.SysProcAttr) error {
	d, err := parseDuration(duration)
	if err != nil {
		return err
	}
	cmd := exec.Command("sleep", strconv.FormatFloat(d.Seconds(), 'f', -1, 64))
	cmd.SysProcAttr = how
	if err := cmd.Start(); err != nil {
		return err
	}
	return cmd.Process.Release()
}
