package project

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// gitCore holds the settings of git's section [core] that decide the main worktree.
type gitCore struct {
	bare     bool
	worktree string // set in submodules; relative to the git folder
}

// readCore reads the section [core] of a git folder's own configuration. If git's
// extension worktreeConfig is on, config.worktree contains these keys instead.
func readCore(gitDir string) (gitCore, error) {
	var c gitCore
	for _, name := range []string{"config", "config.worktree"} {
		data, err := os.ReadFile(filepath.Join(gitDir, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return gitCore{}, err
		}
		c.read(string(data))
	}
	return c, nil
}

func (c *gitCore) read(config string) {
	inCore := false
	for line := range strings.Lines(config) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			inCore = strings.EqualFold(line, "[core]")
			continue
		}
		if key, value, ok := strings.Cut(line, "="); ok && inCore {
			c.set(strings.ToLower(strings.TrimSpace(key)), strings.TrimSpace(value))
		}
	}
}

func (c *gitCore) set(key, value string) {
	switch key {
	case "bare":
		c.bare = strings.EqualFold(value, "true")
	case "worktree":
		if plain, err := strconv.Unquote(value); err == nil {
			value = plain
		}
		c.worktree = value
	}
}
