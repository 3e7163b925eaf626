package app

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"path/filepath"
	"strings"

	"gaffer/statefile"
	"gaffer/statefile/host"
)

// TokenEnv is the variable with the token for a coordinator.
const TokenEnv = "GAFFER_TOKEN"

// ReadToken reads a token from a file.
func ReadToken(file string) (string, error) {
	data, err := statefile.ReadBytes(host.OS(), file)
	if err != nil {
		return "", fmt.Errorf("token: %w", err)
	}
	text := strings.TrimSpace(string(data))
	if text == "" {
		return "", fmt.Errorf("token: %s is empty", file)
	}
	return text, nil
}

// LocalToken is the token that a coordinator on this machine has made for its first
// admin, or empty if the server is elsewhere or has made none.
func LocalToken(getenv func(string) string, server string) (string, error) {
	u, err := url.Parse(server)
	if err != nil || !isLocal(u.Hostname()) {
		return "", nil
	}
	state, err := stateFolder(getenv)
	if err != nil {
		return "", err
	}
	text, err := ReadToken(filepath.Join(state, "token"))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return text, err
}

func isLocal(name string) bool {
	ip := net.ParseIP(name)
	return name == "localhost" || ip != nil && ip.IsLoopback()
}
