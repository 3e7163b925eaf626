// Package trust stores which programs of each project the user allows gaffer to run.
//
// A cloned project can name programs in its gaffer.yaml and in the settings of its git repository.
// gaffer runs none of them until the user has trusted them. The package stores a hash of each
// trusted setting. So if a setting changes, the user must trust it again.
package trust

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gaffer/internal/project/statedir"
)

// Variable is the name of an environment variable. If its value is "all", gaffer trusts the
// programs of all projects. That value is meant for disposable machines and for tests.
const Variable = "GAFFER_TRUST"

// Program is a setting in a project that makes gaffer run a program.
type Program struct {
	Setting string `json:"setting"` // name of the setting, for example agents.codex or git filter.lfs.clean
	Value   string `json:"value"`
}

func (p Program) hash() string {
	sum := sha256.Sum256([]byte(p.Setting + "\x00" + p.Value))
	return hex.EncodeToString(sum[:])
}

// Entry is a project whose programs the user has trusted.
type Entry struct {
	Root     string    `json:"root"`
	Programs []Program `json:"programs"` // the trusted programs, only for display
	Hashes   []string  `json:"hashes"`   // hashes of the trusted settings; [Check] compares them
	At       time.Time `json:"at"`
}

// Error reports that a project has programs which the user has not trusted.
type Error struct {
	Root     string
	Programs []Program
}

func (e *Error) Error() string {
	names := make([]string, len(e.Programs))
	for i, p := range e.Programs {
		names[i] = p.Setting
	}
	return fmt.Sprintf("%s names programs that you have not trusted: %s", e.Root, strings.Join(names, ", "))
}

// Conflict returns true, so that commands exit with code 4 and the server answers with status 409.
func (*Error) Conflict() bool { return true }

// Hint returns advice for the user.
func (e *Error) Hint() string {
	return fmt.Sprintf("'gaffer trust --project %s' shows them and asks you", quoted(e.Root))
}

func quoted(path string) string {
	if strings.Trim(path, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-") == "" {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}

// Check returns nil if the user has trusted all the given programs of the project at root, or if
// the environment variable [Variable] is "all". Otherwise it returns an [*Error] with the programs
// that are not trusted.
func Check(getenv func(string) string, root string, programs []Program) error {
	if len(programs) == 0 || getenv(Variable) == "all" {
		return nil
	}
	var known Entry
	if file, err := entryFile(getenv, root); err == nil {
		known, _ = readEntry(file) // if the file cannot be read, no program is trusted
	}
	missing := slices.DeleteFunc(slices.Clone(programs), func(p Program) bool { return slices.Contains(known.Hashes, p.hash()) })
	if len(missing) == 0 {
		return nil
	}
	return &Error{Root: root, Programs: missing}
}

// Add stores that the user trusts these programs of the project at root. It replaces the programs
// that were trusted before.
func Add(getenv func(string) string, root string, programs []Program, now time.Time) error {
	file, err := entryFile(getenv, root)
	if err != nil {
		return err
	}
	e := Entry{Root: resolved(root), Programs: programs, At: now.UTC()}
	for _, p := range programs {
		e.Hashes = append(e.Hashes, p.hash())
	}
	data, err := json.MarshalIndent(e, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	temp, err := os.CreateTemp(filepath.Dir(file), ".new-*")
	if err != nil {
		return err
	}
	_, err = temp.Write(append(data, '\n'))
	err = errors.Join(err, temp.Sync(), temp.Close())
	if err == nil {
		err = os.Rename(temp.Name(), file)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temp.Name()))
	}
	return nil
}

// Remove deletes the entry of the project at root, so that the programs of this project are no
// longer trusted. If there is no entry, the error wraps [fs.ErrNotExist].
func Remove(getenv func(string) string, root string) error {
	file, err := entryFile(getenv, root)
	if err != nil {
		return err
	}
	err = os.Remove(file)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is not trusted: %w", root, fs.ErrNotExist)
	}
	return err
}

// List returns the entries of all trusted projects, sorted by root folder. The error names files
// that cannot be read; the projects in these files are not trusted.
func List(getenv func(string) string) (list []Entry, err error) {
	dir, err := storeFolder(getenv)
	if err != nil {
		return nil, err
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		e, wrong := readEntry(file)
		if wrong != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", file, wrong))
			continue
		}
		list = append(list, e)
	}
	slices.SortFunc(list, func(a, b Entry) int { return strings.Compare(a.Root, b.Root) })
	return list, err
}

func readEntry(file string) (e Entry, err error) {
	data, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(data, &e)
	}
	return e, err
}

func storeFolder(getenv func(string) string) (string, error) {
	state, err := statedir.Path(getenv)
	return filepath.Join(state, "trust"), err
}

func entryFile(getenv func(string) string, root string) (string, error) {
	dir, err := storeFolder(getenv)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(resolved(root)))
	return filepath.Join(dir, hex.EncodeToString(sum[:16])+".json"), nil
}

// resolved returns the path of a folder, with symbolic links resolved. If that fails, for example
// because the folder no longer exists, resolved only cleans the path.
func resolved(root string) string {
	if target, err := filepath.EvalSymlinks(root); err == nil {
		return target
	}
	return filepath.Clean(root)
}
