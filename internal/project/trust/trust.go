// Package trust remembers which programs of a project its user lets gaffer run.
//
// A project that was cloned can name programs: in gaffer.yaml, and in the settings
// of its git repository. None of them runs before the user has trusted it. What was
// trusted is kept by the hash of each setting, so a setting that changes must be
// trusted again.
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

// Variable is the environment variable that trusts every project if it is "all":
// for machines that are thrown away, and for tests.
const Variable = "GAFFER_TRUST"

// Program is a setting of a project that makes gaffer run something.
type Program struct {
	Setting string `json:"setting"` // such as agents.codex or git filter.lfs.clean
	Value   string `json:"value"`
}

func (p Program) hash() string {
	sum := sha256.Sum256([]byte(p.Setting + "\x00" + p.Value))
	return hex.EncodeToString(sum[:])
}

// Entry is a project that the user trusts.
type Entry struct {
	Root     string    `json:"root"`
	Programs []Program `json:"programs"` // for people
	Hashes   []string  `json:"hashes"`   // what counts
	At       time.Time `json:"at"`
}

// Error is a project whose programs the user has not trusted.
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

// Conflict marks the error as a refusal.
func (*Error) Conflict() bool { return true }

// Hint says what to do next.
func (e *Error) Hint() string {
	return fmt.Sprintf("'gaffer trust --project %s' shows them and asks you", quoted(e.Root))
}

func quoted(path string) string {
	if strings.Trim(path, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-") == "" {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}

// Check returns an [*Error] unless all of the programs are trusted.
func Check(getenv func(string) string, root string, programs []Program) error {
	if len(programs) == 0 || getenv(Variable) == "all" {
		return nil
	}
	var known Entry
	if file, err := fileOf(getenv, root); err == nil {
		known, _ = read(file) // one that cannot be read trusts nothing
	}
	missing := slices.DeleteFunc(slices.Clone(programs), func(p Program) bool { return slices.Contains(known.Hashes, p.hash()) })
	if len(missing) == 0 {
		return nil
	}
	return &Error{Root: root, Programs: missing}
}

// Add trusts these programs of a project, and no others that it had before.
func Add(getenv func(string) string, root string, programs []Program, now time.Time) error {
	file, err := fileOf(getenv, root)
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

// Remove trusts a project no longer. It is not found if the project was not trusted.
func Remove(getenv func(string) string, root string) error {
	file, err := fileOf(getenv, root)
	if err != nil {
		return err
	}
	err = os.Remove(file)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is not trusted: %w", root, fs.ErrNotExist)
	}
	return err
}

// List returns the projects that are trusted, by their folders. Files that cannot be
// read are in the error; they trust nothing.
func List(getenv func(string) string) (list []Entry, err error) {
	dir, err := folder(getenv)
	if err != nil {
		return nil, err
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		e, wrong := read(file)
		if wrong != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", file, wrong))
			continue
		}
		list = append(list, e)
	}
	slices.SortFunc(list, func(a, b Entry) int { return strings.Compare(a.Root, b.Root) })
	return list, err
}

func read(file string) (e Entry, err error) {
	data, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(data, &e)
	}
	return e, err
}

func folder(getenv func(string) string) (string, error) {
	state, err := statedir.Path(getenv)
	return filepath.Join(state, "trust"), err
}

func fileOf(getenv func(string) string, root string) (string, error) {
	dir, err := folder(getenv)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(resolved(root)))
	return filepath.Join(dir, hex.EncodeToString(sum[:16])+".json"), nil
}

// resolved is a folder's name without links.
func resolved(root string) string {
	if target, err := filepath.EvalSymlinks(root); err == nil {
		return target
	}
	return filepath.Clean(root)
}
