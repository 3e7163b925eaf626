package verify

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// portPlaceholder is replaced by a free port in the URLs of checks, if the request has a Serve
// command.
const portPlaceholder = "{port}"

// server is the process of the command [Request.Serve], for example a development server. It runs
// while web pages are checked.
type server struct {
	group  *processGroup
	output *output
	port   string // port that replaces portPlaceholder; empty if no URL of the request contains that
}

// startServer starts a shell command as the server. The command should run until it is stopped. If
// anyPort is true, startServer chooses a free port, and passes it to the command in the environment
// variable PORT.
func startServer(dir, command string, anyPort bool) (*server, error) {
	s := &server{}
	cmd := exec.Command("sh", "-c", command)
	cmd.Dir = dir
	if anyPort {
		free, err := freePort()
		if err != nil {
			return nil, err
		}
		s.port, cmd.Env = free, append(os.Environ(), "PORT="+free)
	}
	var err error
	if s.output, err = captureOutput(cmd); err != nil {
		return nil, err
	}
	if s.group, err = startProcessGroup(cmd); err != nil {
		s.output.end()
		return nil, fmt.Errorf("start: %w", err)
	}
	return s, nil
}

// freePort returns a port that is currently free.
func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	port := l.Addr().(*net.TCPAddr).Port
	return strconv.Itoa(port), l.Close()
}

// stop ends the server and returns the last part of its output.
func (s *server) stop() string {
	s.group.end(grace)
	return s.output.end()
}

func (s *server) address(text string) string {
	return strings.ReplaceAll(text, portPlaceholder, s.port)
}

// await waits until a process listens at the host and port of the given URL. It returns an error if
// ctx ends first. It also returns an error if the server's command has ended, even if another
// process listens at that port.
func (s *server) await(ctx context.Context, address string) error {
	at, err := endpoint(address)
	for err == nil {
		var c net.Conn
		if c, err = (&net.Dialer{}).DialContext(ctx, "tcp", at); err == nil {
			_ = c.Close() // ignore the error: nothing was written
			if !running(s.group) {
				return fmt.Errorf("the server has ended and another process listens at %s; serve must be a command that goes on until it is stopped", at)
			}
			return nil
		}
		select {
		case <-s.group.exited:
			return fmt.Errorf("the server has ended and no process listens at %s", at)
		case <-ctx.Done():
			return fmt.Errorf("no process listens at %s", at)
		case <-time.After(pollInterval):
			err = nil
		}
	}
	return err
}

// dialTimeout is the time limit for testing whether a port of this machine is in use.
const dialTimeout = time.Second

// checkPortFree returns an error if a process on this machine already listens at the host and port
// of the given URL. In that case, the check would test the pages of that process instead of those
// of the server that [Request.Serve] starts.
func checkPortFree(ctx context.Context, address string) error {
	if strings.Contains(address, portPlaceholder) {
		return nil // nothing to check: gaffer will choose a free port
	}
	at, err := endpoint(address)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	c, err := (&net.Dialer{}).DialContext(ctx, "tcp", at)
	if err != nil {
		return nil
	}
	defer func() { _ = c.Close() }() // ignore the error: nothing was written
	if !isLocal(c) {
		return nil
	}
	return fmt.Errorf("another process listens at %s already, and its pages would be mistaken for those of the chunk; "+
		"stop what runs there, or let the url have %s, which is a free port", at, portPlaceholder)
}

// isLocal reports whether both ends of a connection are on this machine.
func isLocal(c net.Conn) bool {
	us, ok1 := c.LocalAddr().(*net.TCPAddr)
	them, ok2 := c.RemoteAddr().(*net.TCPAddr)
	return ok1 && ok2 && (them.IP.IsLoopback() || them.IP.Equal(us.IP))
}

// endpoint returns the host and port of a URL, such as "localhost:80".
func endpoint(address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil {
		return "", err
	}
	usual := map[string]string{"http": "80", "https": "443"}
	return net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), usual[u.Scheme])), nil
}

// serve starts the request's server if it is not running, and returns the check c with the server's
// port in its URL. If the server ends or does not listen in time, serve stops it and returns a
// result that describes the problem. The next try of a check then starts a new server. If the
// request has no Serve command, serve returns c unchanged.
func (v *verification) serve(ctx context.Context, c Check) (Check, tryResult) {
	if v.request.Serve == "" {
		return c, tryResult{}
	}
	if v.server == nil {
		if err := checkPortFree(ctx, c.URL); err != nil {
			return c, tryResult{problem: err.Error()}
		}
		s, err := startServer(v.request.Dir, v.request.Serve, v.request.anyPort())
		if err != nil {
			return c, tryResult{problem: "the server: " + err.Error()}
		}
		v.server = s
	}
	c.URL = v.server.address(c.URL)
	ctx, cancel := context.WithTimeout(ctx, c.timeout())
	defer cancel()
	if err := v.server.await(ctx, c.URL); err != nil {
		return c, tryResult{problem: err.Error(), output: v.endServer()}
	}
	return c, tryResult{}
}

func (v *verification) endServer() string {
	if v.server == nil {
		return ""
	}
	words := v.server.stop()
	v.server = nil
	return words
}

func (r Request) anyPort() bool {
	for _, c := range r.Checks {
		if strings.Contains(c.URL, portPlaceholder) {
			return true
		}
	}
	return false
}
