package connect

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

// plainHTTP is the variable that, set to 1, lets a token go to another machine over
// plain HTTP. It is no setting: a project's file must not decide that.
const plainHTTP = "GAFFER_INSECURE_HTTP"

// ServerFlags declares what says which server is asked, and with what token.
func ServerFlags(e *env.Env, cmd *cobra.Command) { e.ServerFlags(cmd.Flags()) }

// FleetFlags declares the flags of a command that asks this machine or a server
// about runs. Those that are seldom needed are told by 'gaffer help server'.
func FleetFlags(e *env.Env, cmd *cobra.Command) {
	ServerFlags(e, cmd)
	e.LocalFlag(cmd.Flags())
	for _, flag := range []string{"token-file", "ca", "fingerprint"} {
		cmd.Flags().Lookup(flag).Hidden = true
	}
}

// Client returns a client for the server that the command line or the settings
// name. Naming none is a mistake of the person who typed the command.
func Client(e *env.Env) (*coordinator.Client, error) {
	connect, err := Connector(e)
	if err != nil {
		return nil, err
	}
	return connect(coordinator.Options{})
}

// Connector returns what makes clients for the server that the command line or the
// settings name, each with connections of its own.
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

// At returns a client for one server, which need not be the one that is named.
func At(e *env.Env, address string, o coordinator.Options) (*coordinator.Client, error) {
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
	servers, err := parse(address)
	if err != nil {
		return nil, err
	}
	text, err := token(e, servers)
	if err != nil {
		return nil, err
	}
	trust, err := trusted(e, c, servers)
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

// parse reads addresses with commas between them.
func parse(list string) (servers []*url.URL, err error) {
	for _, address := range strings.Split(list, ",") {
		u, err := url.Parse(strings.TrimSpace(address))
		if err != nil {
			return nil, exit.Usage(errors.New("the server's address is no URL"))
		}
		servers = append(servers, u)
	}
	return servers, nil
}

// token is the one that a file holds, the one in GAFFER_TOKEN, or, for a server
// of this machine, the one that its first start has made. Without any the server
// says what it thinks of that.
func token(e *env.Env, servers []*url.URL) (string, error) {
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
	if !here(servers) {
		return "", nil
	}
	state, err := e.StateDir()
	if err != nil {
		return "", nil // then no server of this user has made one
	}
	text, err := readToken(filepath.Join(state, "token"))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return "", nil
	}
	return text, err
}

// readToken reads the last line that is not empty, which is where
// 'gaffer token create' prints it.
func readToken(path string) (string, error) {
	f, err := openRegular(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }() // nothing was written
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

// here reports whether all servers can only be of this machine: what is meant for
// those must not go to others.
func here(servers []*url.URL) bool {
	return !slices.ContainsFunc(servers, func(u *url.URL) bool {
		ip := net.ParseIP(u.Hostname())
		return u.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback())
	})
}

// openRegular waits for nothing, whatever stands in the file's place.
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
		_ = f.Close() // nothing was written
		return nil, err
	}
	return f, nil
}
