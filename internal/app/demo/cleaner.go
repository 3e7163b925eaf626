package demo

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"

	"gaffer/internal/attempt/supervisor"
)

// CleanerCommand is the hidden gaffer command that cleans up after a demo. It is a
// separate process, so that it also cleans up if the demo is killed: the kernel then
// closes the pipe between the two processes.
const CleanerCommand = "demo-keeper"

// keepFolder is the argument that keeps the folder.
const keepFolder = "--keep"

// Cleaner is the process that cleans up when the demo has ended.
type Cleaner struct {
	cmd  *exec.Cmd
	pipe io.WriteCloser
}

// StartCleaner starts the cleaner of a folder. Call it before you start processes that it
// may have to end.
func StartCleaner(f Folder, keep bool) (*Cleaner, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	args := []string{CleanerCommand, string(f)}
	if keep {
		args = append(args, keepFolder)
	}
	k := &Cleaner{cmd: exec.Command(self, args...)}
	k.cmd.Dir = "/"
	k.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if k.pipe, err = k.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := k.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the demo's cleaner: %w", err)
	}
	return k, nil
}

// End ends all processes of the demo and deletes its folder.
func (k *Cleaner) End() error { return errors.Join(k.pipe.Close(), k.cmd.Wait()) }

// CleanerMain waits until in ends, and cleans up.
func CleanerMain(args []string, in io.Reader, errw io.Writer) int {
	signal.Ignore(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP) // nothing may interrupt the cleanup
	if err := cleanUp(args, in); err != nil {
		fmt.Fprintf(errw, "gaffer: the demo's cleaner: %v\n", err)
		return 1
	}
	return 0
}

func cleanUp(args []string, in io.Reader) error {
	if len(args) == 0 {
		return errors.New("want the folder of a demo")
	}
	dir := args[0]
	if info, err := os.Lstat(filepath.Join(dir, markerFile)); err != nil || !filepath.IsAbs(dir) || !info.Mode().IsRegular() {
		return fmt.Errorf("%q is not the folder of a demo", dir)
	}
	_, _ = io.Copy(io.Discard, in) // nothing is written to the pipe; its end means that the demo has ended
	left, err := supervisor.SweepMarked(FolderVar, dir)
	if err == nil && len(left) > 0 {
		err = fmt.Errorf("processes %v cannot be ended", left)
	}
	if len(args) > 1 && args[1] == keepFolder {
		return err
	}
	return errors.Join(err, os.RemoveAll(dir))
}
