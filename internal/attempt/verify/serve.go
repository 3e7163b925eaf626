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

// portWord stands for a free port in the addresses of a request that serves.
const portWord = "{port}"

// server is what a request has running while its pages are looked at.
type server struct {
	group *group
	said  *output
	port  string // for portWord; empty if no address has it
}

// startServer runs a shell command that is to go on until it is stopped.
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
	if s.said, err = collect(cmd); err != nil {
		return nil, err
	}
	if s.group, err = startGroup(cmd); err != nil {
		s.said.end()
		return nil, fmt.Errorf("start: %w", err)
	}
	return s, nil
}

// freePort returns a port that nobody has at the moment.
func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	port := l.Addr().(*net.TCPAddr).Port
	return strconv.Itoa(port), l.Close()
}

// stop ends the server and returns the end of what it printed.
func (s *server) stop() string {
	s.group.end(grace)
	return s.said.end()
}

func (s *server) address(text string) string { return strings.ReplaceAll(text, portWord, s.port) }

// await waits until somebody listens at an address. Once the server has ended
// that is somebody else.
func (s *server) await(ctx context.Context, address string) error {
	at, err := endpoint(address)
	for err == nil {
		var c net.Conn
		if c, err = (&net.Dialer{}).DialContext(ctx, "tcp", at); err == nil {
			_ = c.Close() // nothing was written
			if !running(s.group) {
				return fmt.Errorf("the server has ended and somebody else listens at %s; serve must be a command that goes on until it is stopped", at)
			}
			return nil
		}
		select {
		case <-s.group.exited:
			return fmt.Errorf("the server has ended and nobody listens at %s", at)
		case <-ctx.Done():
			return fmt.Errorf("nobody listens at %s", at)
		case <-time.After(lookAgain):
			err = nil
		}
	}
	return err
}

// glance is how long a look at an address may take that somebody may have. On
// this machine it takes no time.
const glance = time.Second

// vacant makes sure that nobody on this machine listens where a server is to
// be: the pages of whoever does would be taken for those of the chunk.
func vacant(ctx context.Context, address string) error {
	if strings.Contains(address, portWord) {
		return nil // it will be a free one
	}
	at, err := endpoint(address)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, glance)
	defer cancel()
	c, err := (&net.Dialer{}).DialContext(ctx, "tcp", at)
	if err != nil {
		return nil
	}
	defer func() { _ = c.Close() }() // nothing was written
	if !here(c) {
		return nil
	}
	return fmt.Errorf("somebody listens at %s already, whose pages would be taken for those of the chunk; "+
		"stop what runs there, or let the url have %s, which is a free port", at, portWord)
}

// here tells whether both ends of a connection are on this machine.
func here(c net.Conn) bool {
	us, ok1 := c.LocalAddr().(*net.TCPAddr)
	them, ok2 := c.RemoteAddr().(*net.TCPAddr)
	return ok1 && ok2 && (them.IP.IsLoopback() || them.IP.Equal(us.IP))
}

// endpoint is the host and port of an address.
func endpoint(address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil {
		return "", err
	}
	usual := map[string]string{"http": "80", "https": "443"}
	return net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), usual[u.Scheme])), nil
}

// serve has the request's server running and gives a check the address at which
// it is. A server that does not come up is stopped, so that the next try begins
// with a new one.
func (v *verification) serve(ctx context.Context, c Check) (Check, finding) {
	if v.request.Serve == "" {
		return c, finding{}
	}
	if v.server == nil {
		if err := vacant(ctx, c.URL); err != nil {
			return c, finding{problem: err.Error()}
		}
		s, err := startServer(v.request.Dir, v.request.Serve, v.request.anyPort())
		if err != nil {
			return c, finding{problem: "the server: " + err.Error()}
		}
		v.server = s
	}
	c.URL = v.server.address(c.URL)
	ctx, cancel := context.WithTimeout(ctx, c.timeout())
	defer cancel()
	if err := v.server.await(ctx, c.URL); err != nil {
		return c, finding{problem: err.Error(), output: v.endServer()}
	}
	return c, finding{}
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
		if strings.Contains(c.URL, portWord) {
			return true
		}
	}
	return false
}
