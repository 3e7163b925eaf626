package host_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"

	"go.uber.org/goleak"

	"gaffer/statefile/host"
)

const role = "HOST_TEST_CHILD"

// TestMain lets the test binary also act as another process.
func TestMain(m *testing.M) {
	switch os.Getenv(role) {
	case "self":
		beSelf()
	case "locker":
		beLocker(os.Args[1])
	default:
		goleak.VerifyTestMain(m)
	}
}

// beSelf prints the identity of this process and waits until its standard input ends.
func beSelf() {
	text, _ := json.Marshal(host.OS().Self())
	fmt.Println(string(text))
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// beLocker takes a lock, prints "locked", and holds the lock until its standard input ends.
func beLocker(name string) {
	if _, err := host.OS().Lock(context.Background(), "lock", name); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("locked")
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// child is another process of this test binary.
type child struct {
	*exec.Cmd
	stdin io.Closer
	said  string // the first line that the child printed
}

func start(t *testing.T, as string, args ...string) *child {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, args...)
	cmd.Env = append(os.Environ(), role+"="+as)
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
	c := &child{Cmd: cmd, stdin: stdin}
	t.Cleanup(func() { c.end() })
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatalf("the child said nothing: %v", err)
	}
	c.said = line[:len(line)-1]
	return c
}

// end lets the child exit and waits for it.
func (c *child) end() {
	_ = c.stdin.Close()
	_ = c.Wait()
}
