package project

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// gitCore holds the settings in the section [core] of a git configuration that say where the main
// worktree is.
type gitCore struct {
	bare     bool
	worktree string // path of the worktree, absolute or relative to the git folder; set in submodules
}

// readCore reads the section [core] in the configuration of a git folder. Settings in the file
// config.worktree take precedence. That file exists if git's extension worktreeConfig is on.
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
