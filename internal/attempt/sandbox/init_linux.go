package sandbox

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
)

// InitMain is the main function of the first process inside a sandbox. It starts the agent in a new
// session, passes signals on to it, and reaps all processes. When the agent ends, InitMain returns
// the agent's exit code. This process then exits, and the kernel ends all other processes of the
// sandbox.
func InitMain(args []string, stderr io.Writer) int {
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, append(stopSignals, syscall.SIGUSR1, syscall.SIGUSR2)...)
	p, err := parseInit(args)
	if err == nil {
		err = p.prepare()
	}
	if err != nil {
		fmt.Fprintln(stderr, "gaffer: sandbox:", err)
		return 126
	}
	program, err := find(p.argv[0], p.env)
	if err == nil {
		var pid int
		pid, err = syscall.ForkExec(program, p.argv, &syscall.ProcAttr{Env: p.env, Files: []uintptr{0, 1, 2}, Sys: &syscall.SysProcAttr{Setsid: true}})
		if err == nil {
			go func() {
				for s := range signals {
					_ = syscall.Kill(-pid, s.(syscall.Signal)) // fails only if no process is left
				}
			}()
			return p.await(pid)
		}
	}
	fmt.Fprintf(stderr, "gaffer: sandbox: %s: %v; 'read' in the plan's sandbox shows more of the home folder\n", p.argv[0], err)
	return 127
}

// inside is the state of the first process inside a sandbox.
type inside struct {
	copies  []copied
	socket  string
	proxy   bool
	argv    []string
	env     []string
	control net.Conn
}

func parseInit(args []string) (*inside, error) {
	p := &inside{env: os.Environ()}
	for i, arg := range args {
		name, value, _ := strings.Cut(arg, "=")
		switch name {
		case "--copy":
			from, to, _ := strings.Cut(value, ":")
			p.copies = append(p.copies, copied{from, to})
		case "--socket":
			p.socket = value
		case "--proxy":
			p.proxy = true
		case "--":
			if p.argv = args[i+1:]; len(p.argv) == 0 {
				return nil, errors.New("no program")
			}
			return p, nil
		default:
			return nil, fmt.Errorf("unknown argument %q", arg)
		}
	}
	return nil, errors.New("no program")
}

func (p *inside) prepare() (err error) {
	if p.control, err = net.Dial("unix", p.socket); err != nil {
		return err
	}
	if _, err = io.WriteString(p.control, controlLine+"\n"); err != nil {
		return err
	}
	// Wait for the answer of gaffer's process outside of the sandbox. The agent must start only
	// after that process knows of this connection.
	if _, err = io.ReadFull(p.control, make([]byte, 1)); err != nil {
		return fmt.Errorf("no answer of the process outside: %w", err)
	}
	go func() { // this process must not outlive gaffer's process outside of the sandbox
		_, _ = io.Copy(io.Discard, p.control)
		os.Exit(1)
	}()
	for _, f := range p.copies {
		if err := copyFile(f); err != nil {
			return err
		}
	}
	if p.proxy {
		return p.listen()
	}
	return nil
}

func copyFile(f copied) error {
	data, err := os.ReadFile(f.from)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(f.to), 0o700)
	}
	if err == nil {
		err = os.WriteFile(f.to, data, 0o600)
	}
	return err
}

// listen starts the proxy that the agent uses. The proxy passes every connection on to gaffer's
// process outside of the sandbox, which decides whether the agent may connect to the host.
func (p *inside) listen() error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go p.forward(conn)
		}
	}()
	address := "http://" + listener.Addr().String()
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"} {
		p.env = append(p.env, name+"="+address)
	}
	p.env = append(p.env, "NO_PROXY=", "no_proxy=", "NODE_USE_ENV_PROXY=1")
	return nil
}

func (p *inside) forward(conn net.Conn) {
	defer conn.Close()
	out, err := net.Dial("unix", p.socket)
	if err != nil {
		return
	}
	defer out.Close()
	exchange(conn, conn, out)
}

// await reaps processes until the agent ends. It returns the exit code of the agent, or 128 plus
// the number of the signal that ended it.
func (p *inside) await(pid int) int {
	for {
		var status syscall.WaitStatus
		ended, err := syscall.Wait4(-1, &status, 0x40000000 /* __WALL */, nil)
		switch {
		case errors.Is(err, syscall.EINTR) || err == nil && ended != pid:
			continue
		case err != nil:
			return 1
		case status.Signaled():
			// Report the signal, so that gaffer's process outside ends by the same signal.
			_, _ = fmt.Fprintf(p.control, "signal %d\n", int(status.Signal())) // if this fails, only the exit code shows the signal
			return 128 + int(status.Signal())
		}
		return status.ExitStatus()
	}
}
