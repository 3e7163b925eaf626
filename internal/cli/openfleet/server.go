package openfleet

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"gaffer/coordinator"
	"gaffer/internal/cli/env"
	"gaffer/internal/config"
	"gaffer/internal/exit"
)

// plainHTTP is the name of an environment variable. If its value is 1, tokens may be sent to other
// machines over plain HTTP. There is no such setting in gaffer.yaml, because a project's
// gaffer.yaml must not be able to allow this.
const plainHTTP = "GAFFER_INSECURE_HTTP"

// ServerFlags adds the flags that set the server's address, its certificate and the access token.
func ServerFlags(e *env.Env, cmd *cobra.Command) { e.ServerFlags(cmd.Flags()) }

// FleetFlags adds the flags of a command that works on this machine or on a server. Rarely used
// flags are hidden from the command's help; 'gaffer help server' describes them.
func FleetFlags(e *env.Env, cmd *cobra.Command) {
	ServerFlags(e, cmd)
	e.LocalFlag(cmd.Flags())
	for _, flag := range []string{"token-file", "ca", "fingerprint"} {
		cmd.Flags().Lookup(flag).Hidden = true
	}
}

// Client returns a client for the configured server. It returns a usage error if no server is
// configured.
func Client(e *env.Env) (*coordinator.Client, error) {
	connect, err := Connector(e)
	if err != nil {
		return nil, err
	}
	return connect(coordinator.Options{})
}

// Connector returns a function that creates clients for the configured server. Each
// client has its own connections.
func Connector(e *env.Env) (connect func(coordinator.Options) (*coordinator.Client, error), err error) {
	c, err := e.Config()
	if err != nil {
		return nil, err
	}
	address := c.Server()
	if address == "" {
		return nil, exit.WithHint(exit.Usage(errors.New("no server is named")),
			"--server URL, GAFFER_SERVER or the setting 'server' name one; 'gaffer serve' starts one")
	}
	return connector(e, c, address)
}

// ClientAt returns a client for the server at address, which may differ from the configured server.
func ClientAt(e *env.Env, address string, o coordinator.Options) (*coordinator.Client, error) {
	c, err := e.Config()
	if err != nil {
		return nil, err
	}
	connect, err := connector(e, c, address)
	if err != nil {
		return nil, err
	}
	return connect(o)
}

func connector(e *env.Env, c *config.Config, address string) (connect func(coordinator.Options) (*coordinator.Client, error), err error) {
	servers, err := parseServers(address)
	if err != nil {
		return nil, err
	}
	text, err := serverToken(e, servers)
	if err != nil {
		return nil, err
	}
	trust, err := tlsConfig(e, c, servers)
	if err != nil {
		return nil, err
	}
	return func(o coordinator.Options) (*coordinator.Client, error) {
		o.Token, o.TLS, o.Now, o.PlainHTTP = text, trust, e.Now, e.Getenv(plainHTTP) == "1"
		client, err := coordinator.New(address, o)
		if refused := (*coordinator.PlainHTTPError)(nil); errors.As(err, &refused) {
			return nil, exit.WithHint(exit.Usage(err), refused.Hint()+"; "+plainHTTP+"=1 is for a network that is encrypted already, such as a VPN")
		}
		if err != nil {
			return nil, exit.Usage(err)
		}
		return client, nil
	}, nil
}

// parseServers parses addresses that are separated by commas.
func parseServers(list string) (servers []*url.URL, err error) {
	for _, address := range strings.Split(list, ",") {
		u, err := url.Parse(strings.TrimSpace(address))
		if err != nil {
			return nil, exit.Usage(errors.New("the server's address is no URL"))
		}
		servers = append(servers, u)
	}
	return servers, nil
}

// serverToken returns the access token for the servers. It comes from the configured token file,
// else from GAFFER_TOKEN, else, for a server on this machine, from the file that the server created
// at its first start. If there is no token, serverToken returns "": the server then decides whether
// to accept the request.
func serverToken(e *env.Env, servers []*url.URL) (string, error) {
	if path := e.TokenFile(); path != "" {
		text, err := readToken(path)
		if err != nil {
			return "", fmt.Errorf("the token's file: %w", err)
		}
		return text, nil
	}
	if text := strings.TrimSpace(e.Getenv("GAFFER_TOKEN")); text != "" {
		return text, nil
	}
	if !onLoopback(servers) {
		return "", nil
	}
	state, err := e.StateDir()
	if err != nil {
		return "", nil // without a state folder there is no token file
	}
	text, err := readToken(filepath.Join(state, "token"))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return "", nil
	}
	return text, err
}

// readToken returns the last non-empty line of a file. The file may contain the whole output of
// 'gaffer token create', and the last line of that output is the token.
func readToken(path string) (string, error) {
	f, err := openRegular(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }() // ignore the error: the file was only read
	const most = 64 << 10
	data, err := io.ReadAll(io.LimitReader(f, most))
	if err != nil {
		return "", err
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	text := strings.TrimSpace(lines[len(lines)-1])
	if text == "" {
		return "", exit.Invalid(&fs.PathError{Op: "read", Path: path, Err: errors.New("holds no token")})
	}
	return text, nil
}

// onLoopback reports whether all servers have loopback addresses, so that they are on this machine.
func onLoopback(servers []*url.URL) bool {
	return !slices.ContainsFunc(servers, func(u *url.URL) bool {
		ip := net.ParseIP(u.Hostname())
		return u.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback())
	})
}

// openRegular opens a file for reading. It returns an error if path is not a regular file. If path
// is a FIFO, it does not block.
func openRegular(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "read", Path: path, Err: errors.New("not a regular file")}
	}
	if err != nil {
		_ = f.Close() // ignore the error: the file was only read
		return nil, err
	}
	return f, nil
}
