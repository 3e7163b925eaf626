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

// CleanerCommand is the hidden gaffer command that cleans up after a demo. The cleaner is a
// separate process, so that it can clean up even if the demo is killed. It reads from a pipe that
// the demo holds open. The kernel closes the pipe when the demo process ends, even if it is killed.
const CleanerCommand = "demo-keeper"

// keepFolder is the argument that tells the cleaner not to delete the folder.
const keepFolder = "--keep"

// Cleaner is the process that cleans up when the demo ends.
type Cleaner struct {
	cmd  *exec.Cmd
	pipe io.WriteCloser
}

// StartCleaner starts the cleaner of a demo's folder. If keep is true, the cleaner does not delete
// the folder. Call StartCleaner before you start any process of the demo, so that the cleaner can
// end every one of them.
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

// End makes the cleaner end all processes of the demo and delete the demo's folder. If StartCleaner
// was called with keep set to true, the cleaner does not delete the folder. End waits until the
// cleaner process has ended.
func (k *Cleaner) End() error { return errors.Join(k.pipe.Close(), k.cmd.Wait()) }

// CleanerMain is the main function of the cleaner process. It waits for the end of the input in,
// which means that the demo has ended. Then it ends the demo's processes and, unless args contain
// keepFolder, deletes the demo's folder. It returns the exit code.
func CleanerMain(args []string, in io.Reader, errw io.Writer) int {
	signal.Ignore(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP) // no signal may interrupt the cleanup
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
	// Wait for the end of the input: the pipe is closed when the demo has ended. The demo writes
	// nothing to the pipe.
	_, _ = io.Copy(io.Discard, in)
	left, err := supervisor.SweepMarked(FolderVar, dir)
	if err == nil && len(left) > 0 {
		err = fmt.Errorf("processes %v cannot be ended", left)
	}
	if len(args) > 1 && args[1] == keepFolder {
		return err
	}
	return errors.Join(err, os.RemoveAll(dir))
}
