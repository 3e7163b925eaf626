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

// space is a set of Linux namespaces and the first process in them. The first process ends when its
// standard input is closed. Then the kernel kills all other processes in the namespaces.
type space struct {
	first   *exec.Cmd
	alive   io.Closer
	trouble *strings.Builder
	all     []*Process // processes that were started in the namespaces
}

// firstProcessScript is the script of a space's first process. The kernel makes this process the
// parent of all orphaned processes in the space. The process ignores SIGCHLD, so that the kernel
// reaps these children when they end and no zombies remain.
const firstProcessScript = `mount --make-rprivate / && mount -t proc proc /proc && hostname "$1" && ip link set lo up &&
echo ready && exec env --ignore-signal=CHLD cat`

func newSpace(name string) (*space, error) {
	s := &space{first: exec.Command("/bin/sh", "-c", firstProcessScript, "sh", name), trouble: &strings.Builder{}}
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

// end ends the first process, which ends all other processes of the space. It may be called more
// than once.
func (s *space) end() {
	_ = s.alive.Close()
	for _, p := range s.all {
		// Continue a stopped nsenter process. Otherwise it does not reap its child, and the first
		// process cannot end before the child is reaped.
		p.wake()
	}
	_ = s.first.Wait() // ignore the error: the process ends because its input is closed
	for _, p := range s.all {
		<-p.ended
	}
}

// inside returns a command that runs argv in the namespaces.
func (s *space) inside(argv ...string) []string {
	return append([]string{"nsenter", "--target", fmt.Sprint(s.pid()), "--net", "--uts", "--ipc", "--pid", "--mount", "--"}, argv...)
}

// ip runs the program ip in the space, to change its network.
func (n *Network) ip(s *space, format string, args ...any) {
	n.t.Helper()
	words := strings.Fields(fmt.Sprintf(format, args...))
	enter := []string{"--target", fmt.Sprint(s.pid()), "--net", "--", "ip"}
	if out, err := exec.Command("nsenter", append(enter, words...)...).CombinedOutput(); err != nil {
		n.t.Fatalf("ip %s: %v: %s", strings.Join(words, " "), err, out)
	}
}

// Dial opens a connection as a program on the machine would.
func (s *space) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	var conn net.Conn
	err := s.within(func() (err error) {
		conn, err = (&net.Dialer{Timeout: 3 * time.Second}).DialContext(ctx, network, address)
		return err
	})
	return conn, err
}

// HTTP returns an HTTP client whose connections start in the machine's network
// namespace, like those of a program on the machine.
func (s *space) HTTP() *http.Client {
	return &http.Client{Transport: &http.Transport{DialContext: s.Dial}}
}

// within calls fn on a thread that is in the space's network namespace. Sockets that fn creates
// belong to that namespace, even when they are used later.
func (s *space) within(fn func() error) error {
	done := make(chan error)
	go func() { done <- s.inNamespace(fn) }()
	return <-done
}

// inNamespace moves the current thread to the space's network namespace, calls fn and moves the
// thread back. If it cannot move the thread back, it leaves the goroutine locked to the thread, so
// that Go ends the thread together with the goroutine.
func (s *space) inNamespace(fn func() error) error {
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
	err = fn()
	if unix.Setns(home, unix.CLONE_NEWNET) == nil {
		runtime.UnlockOSThread()
	}
	return err
}
