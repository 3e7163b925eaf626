package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// stubborn runs a program that ignores the first signal.
func stubborn() {
	ctx, _ := interruptible(context.Background())
	fmt.Println("ready")
	<-ctx.Done()
	fmt.Println("cancelled")
	time.Sleep(time.Minute)
}

func TestTheFirstSignalCancelsAndTheSecondEnds(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		cmd := exec.Command("stubborn")
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		for _, want := range []string{"ready", "cancelled"} {
			if !lines.Scan() || lines.Text() != want {
				t.Fatalf("%v: read %q, want %q", sig, lines.Text(), want)
			}
			if err := cmd.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
		}
		ended, ok := errors.AsType[*exec.ExitError](cmd.Wait())
		if !ok || ended.ExitCode() != 130 {
			t.Errorf("%v: ended with %v, want exit code 130", sig, ended)
		}
	}
}
