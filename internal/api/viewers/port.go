package viewers

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"

	"gaffer/statefile"
	"gaffer/statefile/host"
)

const opDropPort host.Op = "remove port file"

// Port is the content of the port file, which tells other programs on this machine the viewer's
// address.
type Port struct {
	Port int    `json:"port"`
	PID  int    `json:"pid"`
	URL  string `json:"url"`
}

// PortFile returns the path of the file in which other programs look for the viewer's port.
func PortFile(home string) string { return filepath.Join(home, folder, "viewer.port.json") }

// pidFile is the name of a file beside the port file. It contains only the viewer's process id.
const pidFile = "viewer.pid"

// WritePortFile writes the port file and viewer.pid. It replaces existing files. The returned
// function remove deletes the two files, but does not delete a file that another process has
// changed meanwhile.
func WritePortFile(file string, p Port) (remove func() error, err error) {
	data, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	h := host.OS()
	if err := statefile.MkdirAll(h, filepath.Dir(file)); err != nil {
		return nil, fmt.Errorf("port file: %w", err)
	}
	files := map[string][]byte{file: append(data, '\n'), filepath.Join(filepath.Dir(file), pidFile): []byte(strconv.Itoa(p.PID))}
	remove = func() error {
		var all []error
		for name, data := range files {
			all = append(all, drop(h, name, data))
		}
		return errors.Join(all...)
	}
	for name, data := range files {
		if err := put(h, name, data); err != nil {
			return nil, errors.Join(fmt.Errorf("port file: %w", err), remove())
		}
	}
	return remove, nil
}

func put(h host.Host, file string, data []byte) error {
	const tries = 10
	var err error
	for range tries {
		var old []byte
		old, err = statefile.ReadBytes(h, file)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			err = statefile.WriteNew(h, file, data, 0o644)
		case err == nil:
			err = statefile.Replace(h, file, old, data)
		}
		if !errors.Is(err, fs.ErrExist) && !errors.Is(err, statefile.ErrChanged) && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return err
}

func drop(h host.Host, file string, data []byte) error {
	found, err := statefile.ReadBytes(h, file)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !bytes.Equal(found, data) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("port file: %w", err)
	}
	return h.Remove(opDropPort, file)
}
