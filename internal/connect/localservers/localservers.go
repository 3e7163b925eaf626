// Package localservers registers the user's servers on this machine, so that other commands find
// them.
//
// Each server has its own file. Only the user who started the server can read it, because it may
// contain a token. The server deletes the file when it ends. If a server was killed, its file names
// a process that no longer exists. List ignores and deletes such a file.
package localservers

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"

	"gaffer/statefile"
	"gaffer/statefile/host"
)

// Server is a server that is running on this machine.
type Server struct {
	Process host.Process `json:"process"`
	URL     string       `json:"url"`               // address of the server, without a path
	Project string       `json:"project,omitempty"` // path of the project in which the server was started
	// Run is the id of a run. The server stops when this run ends. If Run is empty, the server runs
	// until the user stops it.
	Run string `json:"run,omitempty"`
	// Token is a token that the server accepts. If it is empty, the server accepts the user's
	// token, which is stored in the state folder.
	Token string `json:"token,omitempty"`
}

// folder returns the path of the folder with the files of all servers. state is the path of
// gaffer's state folder.
func folder(state string) string { return filepath.Join(state, "servers") }

// Register writes the file for the server that runs in this process. The returned function remove
// deletes the file.
func Register(state string, s Server) (remove func() error, err error) {
	s.Process = host.OS().Self()
	data, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	dir := folder(state)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	file := filepath.Join(dir, fmt.Sprintf("%d-%d.json", s.Process.PID, s.Process.Start))
	temp, err := os.CreateTemp(dir, ".server-") // CreateTemp sets the mode 0600
	if err != nil {
		return nil, err
	}
	_, err = temp.Write(data)
	if closed := temp.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(temp.Name(), file)
	}
	if err != nil {
		return nil, errors.Join(err, os.Remove(temp.Name()))
	}
	return func() error { return ignoreMissing(os.Remove(file)) }, nil
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// List returns the servers that are running, the latest first. It deletes the files of killed
// servers, and skips files that it cannot read.
func List(state string) ([]Server, error) {
	entries, err := os.ReadDir(folder(state))
	if err := ignoreMissing(err); err != nil {
		return nil, err
	}
	var list []Server
	for _, entry := range entries {
		file := filepath.Join(folder(state), entry.Name())
		s, ok := read(file)
		switch {
		case !ok:
		case host.OS().Alive(s.Process) == host.Alive:
			list = append(list, s)
		case host.OS().Alive(s.Process) == host.Dead:
			_ = os.Remove(file) // if this fails, the next call of List tries again
		}
	}
	slices.SortFunc(list, func(a, b Server) int {
		return cmp.Or(cmp.Compare(b.Process.Start, a.Process.Start), cmp.Compare(b.Process.PID, a.Process.PID))
	})
	return list, nil
}

func read(file string) (s Server, ok bool) {
	if filepath.Ext(file) != ".json" {
		return s, false
	}
	data, err := statefile.ReadBytes(host.OS(), file)
	if err != nil || json.Unmarshal(data, &s) != nil {
		return Server{}, false
	}
	return s, OnLoopback(s.URL)
}

// OnLoopback reports whether an address is certainly on this machine. List ignores servers with
// other addresses, so that the token of a local server is never sent to another machine.
func OnLoopback(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.User != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}
