package statefile_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"go.uber.org/goleak"

	"gaffer/statefile"
	"gaffer/statefile/host"
	"gaffer/statefile/jsontree"
)

const role = "STATEFILE_TEST_CHILD"

// TestMain lets the test binary also act as another process.
func TestMain(m *testing.M) {
	if play, ok := map[string]func(args []string) error{
		"self":    beSelf,
		"counter": beCounter,
		"adder":   beAdder,
	}[os.Getenv(role)]; ok {
		if err := play(os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// beSelf prints the identity of this process and waits until its standard input ends.
func beSelf([]string) error {
	if err := json.NewEncoder(os.Stdout).Encode(host.OS().Self()); err != nil {
		return err
	}
	_, err := io.Copy(io.Discard, os.Stdin)
	return err
}

// beCounter increments a counter several times. Each time it checks that no other process is
// writing.
func beCounter(args []string) error {
	path, locking := args[0], lockings[args[1]]
	times, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	f := statefile.New(path, statefile.Options{Locking: locking})
	for range times {
		if err := f.Update(context.Background(), func(d *jsontree.Doc) error {
			alone, err := os.OpenFile(path+".inside", os.O_CREATE|os.O_EXCL, 0o600)
			if err != nil {
				return err
			}
			n, _ := d.Root().Get("n").Int()
			d.Root().Set("n", n+1)
			return errors.Join(alone.Close(), os.Remove(alone.Name()))
		}); err != nil {
			return err
		}
	}
	return nil
}

// beAdder adds members to the document until it is killed. After each update it prints the member's
// number.
func beAdder(args []string) error {
	f := statefile.New(args[0], statefile.Options{Locking: lockings[args[1]], Empty: []byte("{}\n")})
	from, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	for i := from; ; i++ {
		if err := set(context.Background(), f, fmt.Sprint(i), i); err != nil {
			return err
		}
		if _, err := fmt.Println(i); err != nil {
			return err
		}
	}
}

var lockings = map[string]statefile.Locking{"advisory": statefile.Advisory, "folder": statefile.Folder}

// child is another process of this test binary.
type child struct {
	*exec.Cmd
	stdin io.Closer
	lines *bufio.Reader
}

func start(t *testing.T, as string, args ...string) *child {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, args...)
	cmd.Env = append(os.Environ(), role+"="+as)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c := &child{Cmd: cmd, stdin: stdin, lines: bufio.NewReader(stdout)}
	t.Cleanup(func() { _ = c.Process.Kill(); _ = c.end() })
	return c
}

// end lets the child exit and waits for it.
func (c *child) end() error {
	_ = c.stdin.Close()
	return c.Wait()
}

// identity returns the identity that a child with the role self has printed.
func (c *child) identity(t *testing.T) host.Process {
	t.Helper()
	line, err := c.lines.ReadBytes('\n')
	if err != nil {
		t.Fatal(err)
	}
	var p host.Process
	if err := json.Unmarshal(line, &p); err != nil {
		t.Fatal(err)
	}
	return p
}
