package verify

import (
	"crypto/rand"
	"path/filepath"

	"gaffer/statefile"
	"gaffer/statefile/host"
)

// Names of the steps of writeFile, at which tests can inject errors.
const (
	opCreate host.Op = "create temp"
	opWrite  host.Op = "write temp"
	opSync   host.Op = "sync temp"
	opRename host.Op = "rename"
	opFolder host.Op = "sync folder"
	opRemove host.Op = "remove temp"
)

// writeFile writes a file atomically and syncs it to disk. It replaces an existing file. It also
// replaces a symbolic link, and never writes to the link's target.
func writeFile(h host.Host, path string, data []byte) error {
	dir := filepath.Dir(path)
	if err := statefile.MkdirAll(h, dir); err != nil {
		return err
	}
	temp := filepath.Join(dir, "."+filepath.Base(path)+".new-"+rand.Text())
	step, err := writeTemp(h, temp, data)
	if err == nil {
		step, err = opRename, h.Rename(opRename, temp, path)
	}
	if err != nil {
		_ = h.Remove(opRemove, temp) // ignore the error of Remove: writeFile returns the earlier error
		return &statefile.StepError{Step: step, Path: path, Err: err}
	}
	if err := h.SyncDir(opFolder, dir); err != nil {
		return &statefile.StepError{Step: opFolder, Path: path, Replaced: true, Err: err}
	}
	return nil
}

func writeTemp(h host.Host, temp string, data []byte) (host.Op, error) {
	f, err := h.Create(opCreate, temp, 0o666)
	if err != nil {
		return opCreate, err
	}
	step, err := opWrite, f.Write(opWrite, data)
	if err == nil {
		step, err = opSync, f.Sync(opSync)
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	return step, err
}
