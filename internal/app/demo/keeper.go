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

// KeeperCommand is gaffer as the process that tidies up after a demo.
//
// It is another process so that it does so also when the demo is killed: then the
// pipe between the two is closed by the kernel.
const KeeperCommand = "demo-keeper"

// keepFolder is the argument that leaves the folder there.
const keepFolder = "--keep"

// Keeper waits for the end of a demo.
type Keeper struct {
	cmd  *exec.Cmd
	pipe io.WriteCloser
}

// StartKeeper starts the keeper of a folder. It comes before all that it may have
// to end.
func StartKeeper(f Folder, keep bool) (*Keeper, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	args := []string{KeeperCommand, string(f)}
	if keep {
		args = append(args, keepFolder)
	}
	k := &Keeper{cmd: exec.Command(self, args...)}
	k.cmd.Dir = "/"
	k.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if k.pipe, err = k.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := k.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the demo's keeper: %w", err)
	}
	return k, nil
}

// End ends everything of the demo and removes its folder.
func (k *Keeper) End() error { return errors.Join(k.pipe.Close(), k.cmd.Wait()) }

// KeeperMain waits until in ends, and tidies up.
func KeeperMain(args []string, in io.Reader, errw io.Writer) int {
	signal.Ignore(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP) // it ends when it is done
	if err := keep(args, in); err != nil {
		fmt.Fprintf(errw, "gaffer: the demo's keeper: %v\n", err)
		return 1
	}
	return 0
}

func keep(args []string, in io.Reader) error {
	if len(args) == 0 {
		return errors.New("want the folder of a demo")
	}
	dir := args[0]
	if info, err := os.Lstat(filepath.Join(dir, sign)); err != nil || !filepath.IsAbs(dir) || !info.Mode().IsRegular() {
		return fmt.Errorf("%q is not the folder of a demo", dir)
	}
	_, _ = io.Copy(io.Discard, in) // nobody writes; whatever its end, it is the demo's
	left, err := supervisor.SweepMarked(Mark, dir)
	if err == nil && len(left) > 0 {
		err = fmt.Errorf("processes %v cannot be ended", left)
	}
	if len(args) > 1 && args[1] == keepFolder {
		return err
	}
	return errors.Join(err, os.RemoveAll(dir))
}
