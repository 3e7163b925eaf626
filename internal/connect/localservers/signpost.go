// Package localservers notes which servers of this user run on this machine, so that
// other commands find them.
//
// Each has a file of its own, which only its owner can read: it may hold a token.
// It is removed when the server ends. What a server leaves that was killed names a
// process that is gone, and counts for nothing.
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

// Server is a server that runs on this machine.
type Server struct {
	Process host.Process `json:"process"`
	URL     string       `json:"url"`               // where it is, without a path
	Project string       `json:"project,omitempty"` // the root of the project that it was started in
	Run     string       `json:"run,omitempty"`     // the run that it lives as long as
	Token   string       `json:"token,omitempty"`   // one that it knows, unless it knows that of the state folder
}

// folder is where the notes are, below the folder of gaffer's state.
func folder(state string) string { return filepath.Join(state, "servers") }

// Put notes that this process has a server, until remove is called.
func Put(state string, s Server) (remove func() error, err error) {
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
	temp, err := os.CreateTemp(dir, ".server-") // made with 0600
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
	return func() error { return gone(os.Remove(file)) }, nil
}

func gone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// List returns the servers that run, the latest first. It takes away what those
// have left that were killed, and passes over what it cannot make sense of.
func List(state string) ([]Server, error) {
	entries, err := os.ReadDir(folder(state))
	if err := gone(err); err != nil {
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
			_ = os.Remove(file) // or the next time
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

// OnLoopback reports whether an address can only be of this machine. A token that
// is meant for this machine is sent to no other.
func OnLoopback(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.User != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}
