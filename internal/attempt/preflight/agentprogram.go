package preflight

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"gaffer/internal/attempt/supervisor"
	"gaffer/internal/text/suggest"
)

// knownPrograms are the programs that Ask may run.
var knownPrograms = []string{"claude", "codex", "gemini", "opencode"}

// askTimeout is the time limit for a call of Ask. Some programs take seconds to start.
const askTimeout = 10 * time.Second

// Ask runs an installed agent program, such as opencode, and returns its output. It must not run or
// read anything in the project at root, because the user may not trust that project. So it runs
// only known programs that are found in the user's PATH and outside the project, and runs them in
// the home folder.
func Ask(ctx context.Context, program, root string, environ []string, args ...string) (string, error) {
	path, err := supervisor.FindProgram(program, environ)
	if err != nil {
		return "", err
	}
	home := lookupEnv(environ, "HOME")
	if !slices.Contains(knownPrograms, program) || inside(path, root) || home == "" {
		return "", fmt.Errorf("%s is not asked: %w", path, fs.ErrPermission)
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Dir, cmd.Env = home, environ
	// Kill the whole process group at the timeout: the program is often a script that starts
	// another program.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	return string(out), err
}

// inside reports whether a file is in a folder, after resolving symbolic links. If it cannot find
// out, it returns true.
func inside(file, folder string) bool {
	if target, err := filepath.EvalSymlinks(file); err == nil {
		file = target
	}
	if target, err := filepath.EvalSymlinks(folder); err == nil {
		folder = target
	}
	rel, err := filepath.Rel(folder, file)
	return err != nil || filepath.IsLocal(rel)
}

// checkModel reports a problem if the program opencode does not have the task's language model. It
// does not check other agent programs, because they cannot list their models.
func (c *checker) checkModel(ctx context.Context, kind string, u *agentUse) {
	model := u.first.Model
	if kind != "opencode" || model == "" {
		return
	}
	if !strings.Contains(model, "/") {
		c.addMissing("name it as PROVIDER/MODEL; 'opencode models' lists them", "%s: opencode has no model %q", u.describe(), model)
		return
	}
	// The project's settings, and environment variables of the agent or of the task, may add
	// models. 'opencode models' does not list those, because gaffer runs it outside the project and
	// without these variables. So skip the check if there are such settings or variables.
	if len(c.Agents[u.agent].Env) > 0 || len(u.first.Env) > 0 || c.configuresOpencode() {
		return
	}
	if c.models == nil {
		c.models = map[string]bool{}
		text, err := Ask(ctx, "opencode", c.Root, append(slices.Clone(c.Environ), "OPENCODE_DISABLE_AUTOUPDATE=1"), "models")
		if err == nil {
			for line := range strings.Lines(text) {
				if name := strings.TrimSpace(line); strings.Contains(name, "/") && !strings.Contains(name, " ") {
					c.models[name] = true
				}
			}
		}
	}
	if len(c.models) == 0 || c.models[model] {
		return
	}
	names := make([]string, 0, len(c.models))
	for name := range c.models {
		names = append(names, name)
	}
	slices.Sort(names)
	next := "'opencode models' lists them"
	if near := suggest.Nearest(model, names); near != "" {
		next = fmt.Sprintf("did you mean %q? %s", near, next)
	}
	c.addMissing(next, "%s: opencode has no model %q", u.describe(), model)
}

// configuresOpencode reports whether the project has opencode settings, which may add models.
func (c *checker) configuresOpencode() bool {
	return slices.ContainsFunc([]string{"opencode.json", "opencode.jsonc", ".opencode"}, func(name string) bool {
		_, err := os.Lstat(filepath.Join(c.Root, name))
		return err == nil
	})
}
