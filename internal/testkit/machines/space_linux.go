package machines

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// space is namespaces with a first process, which ends when its input does, and
// the kernel then ends all others.
type space struct {
	first   *exec.Cmd
	alive   io.Closer
	trouble *strings.Builder
	all     []*Process // that were started in it
}

// Who ignores the end of its children leaves them to the kernel. The first process
// of a machine gets all whose parent has gone, and none may stay as a zombie.
const first = `mount --make-rprivate / && mount -t proc proc /proc && hostname "$1" && ip link set lo up &&
echo ready && exec env --ignore-signal=CHLD cat`

func newSpace(name string) (*space, error) {
	s := &space{first: exec.Command("/bin/sh", "-c", first, "sh", name), trouble: &strings.Builder{}}
	s.first.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWUTS | syscall.CLONE_NEWPID | syscall.CLONE_NEWNS | syscall.CLONE_NEWIPC,
	}
	s.first.Stderr = s.trouble
	stdin, err := s.first.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := s.first.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.first.Start(); err != nil {
		return nil, err
	}
	s.alive = stdin
	if _, err := bufio.NewReader(stdout).ReadString('\n'); err != nil {
		s.end()
		return nil, fmt.Errorf("%s", strings.TrimSpace(s.trouble.String()))
	}
	return s, nil
}

func (s *space) pid() int { return s.first.Process.Pid }

// end ends the first process, which ends the others. It is safe twice.
func (s *space) end() {
	_ = s.alive.Close()
	for _, p := range s.all {
		p.wake() // the kernel waits until every child's parent has taken note
	}
	_ = s.first.Wait() // reading its input came to an end
	for _, p := range s.all {
		<-p.ended
	}
}

// inside is a command that runs in the namespaces.
func (s *space) inside(argv ...string) []string {
	return append([]string{"nsenter", "--target", fmt.Sprint(s.pid()), "--net", "--uts", "--ipc", "--pid", "--mount", "--"}, argv...)
}

// ip changes the network of a space.
func (n *Network) ip(s *space, format string, args ...any) {
	n.t.Helper()
	words := strings.Fields(fmt.Sprintf(format, args...))
	enter := []string{"--target", fmt.Sprint(s.pid()), "--net", "--", "ip"}
	if out, err := exec.Command("nsenter", append(enter, words...)...).CombinedOutput(); err != nil {
		n.t.Fatalf("ip %s: %v: %s", strings.Join(words, " "), err, out)
	}
}

// Dial connects as a program on the machine would.
func (s *space) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	var conn net.Conn
	err := s.within(func() (err error) {
		conn, err = (&net.Dialer{Timeout: 3 * time.Second}).DialContext(ctx, network, address)
		return err
	})
	return conn, err
}

// HTTP returns a client as a program on the machine would have.
func (s *space) HTTP() *http.Client {
	return &http.Client{Transport: &http.Transport{DialContext: s.Dial}}
}

// within does something on a thread that is in the network namespace. Sockets
// stay in the one they were made in.
func (s *space) within(do func() error) error {
	done := make(chan error)
	go func() { done <- s.borrow(do) }()
	return <-done
}

// borrow leaves the thread locked if it cannot be given back as it was: it then
// ends with the goroutine.
func (s *space) borrow(do func() error) error {
	runtime.LockOSThread()
	home, err := unix.Open("/proc/thread-self/ns/net", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(home) }()
	away, err := unix.Open(fmt.Sprintf("/proc/%d/ns/net", s.pid()), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(away) }()
	if err := unix.Setns(away, unix.CLONE_NEWNET); err != nil {
		return err
	}
	err = do()
	if unix.Setns(home, unix.CLONE_NEWNET) == nil {
		runtime.UnlockOSThread()
	}
	return err
}
