package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Facts say which sandboxes work on a machine.
type Facts struct {
	System       string // operating system, as in runtime.GOOS
	Bwrap        string // path of the program bwrap
	NoBubblewrap string // why bubblewrap cannot be used; empty if it works
	Nested       bool   // a program inside bubblewrap can make a sandbox of its own
	Engine       string // path of podman or docker
	NoContainer  string // why containers cannot be used; empty if they work
	Socat        bool   // the program socat is installed
}

// Machine describes this machine, as far as gaffer must know it to make sandboxes on it.
type Machine struct {
	Environ []string // environment of gaffer, as NAME=value
	Self    string   // path of gaffer's program
	// Hidden are files and folders that no agent may read: gaffer's state, database and settings.
	// The common folders with credentials, such as ~/.ssh, are hidden too, without being listed
	// here.
	Hidden []string

	mu    sync.Mutex
	facts Facts
	// looked says that all facts are known except those about containers. asked says that the facts
	// about containers are known.
	looked, asked bool
}

// Facts returns which sandboxes work on the machine. It examines the machine only once. It runs the
// container engine, which may take long, only if containers is true.
func (m *Machine) Facts(containers bool) Facts {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.looked {
		m.looked, m.facts = true, lookLocal(context.Background(), m.Environ)
	}
	if containers && !m.asked {
		m.asked = true
		m.facts.Engine, m.facts.NoContainer = lookEngine(context.Background(), m.Environ)
	}
	return m.facts
}

// SetFacts makes Facts return f, for tests.
func (m *Machine) SetFacts(f Facts) { m.looked, m.asked, m.facts = true, true, f }

// lookTimeout is the time limit for a program that is run to find out whether it works.
const lookTimeout = 10 * time.Second

// Look finds out which sandboxes work on this machine. It runs bwrap and the container engine,
// because an installed program may still not work: a kernel may forbid namespaces, an engine may be
// stopped.
func Look(ctx context.Context, environ []string) Facts {
	f := lookLocal(ctx, environ)
	f.Engine, f.NoContainer = lookEngine(ctx, environ)
	return f
}

// lookLocal does the same as Look, but does not examine container engines, which may take long.
func lookLocal(ctx context.Context, environ []string) Facts {
	f := Facts{System: runtime.GOOS, NoContainer: "no container engine was asked"}
	_, err := find("socat", environ)
	f.Socat = err == nil
	f.Bwrap, f.NoBubblewrap = lookBubblewrap(ctx, environ)
	if f.NoBubblewrap == "" {
		_, err := try(ctx, environ, f.Bwrap, append(append(probe[:len(probe):len(probe)], f.Bwrap), append(probe, "true")...)...)
		f.Nested = err == nil
	}
	return f
}

// probe has arguments of bwrap for a test run. The caller appends the program to run. The test run
// shows whether bwrap works on this machine.
var probe = []string{"--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp", "--unshare-user-try", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-net", "--die-with-parent", "--cap-drop", "ALL", "--as-pid-1"}

func lookBubblewrap(ctx context.Context, environ []string) (path, reason string) {
	if runtime.GOOS != "linux" {
		return "", "bubblewrap needs Linux"
	}
	path, err := find("bwrap", environ)
	if err != nil {
		return "", "the program bwrap is not in PATH; install the package bubblewrap"
	}
	if text, err := try(ctx, environ, path, append(probe[:len(probe):len(probe)], "true")...); err != nil {
		return path, fmt.Sprintf("%s does not work here: %s; the kernel may forbid user namespaces", path, text)
	}
	return path, ""
}

func lookEngine(ctx context.Context, environ []string) (path, reason string) {
	if runtime.GOOS != "linux" {
		return "", "containers need Linux: gaffer's own program runs in them"
	}
	var reasons []string
	for _, name := range []string{"podman", "docker"} {
		path, err := find(name, environ)
		if err != nil {
			continue
		}
		text, err := try(ctx, environ, path, "info")
		if err == nil {
			return path, ""
		}
		reasons = append(reasons, fmt.Sprintf("%s has no running engine: %s", path, text))
	}
	if len(reasons) == 0 {
		return "", "neither podman nor docker is in PATH"
	}
	return "", strings.Join(reasons, "; ")
}

// try runs a program. If that fails, text is the last line that the program printed to stderr, or
// the error if it printed none.
func try(ctx context.Context, environ []string, program string, args ...string) (text string, err error) {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	var stderr strings.Builder
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env, cmd.Dir, cmd.Stderr, cmd.WaitDelay = environ, "/", &stderr, time.Second
	if err = cmd.Run(); err == nil {
		return "", nil
	}
	lines := strings.Split(strings.TrimSpace(stderr.String()), "\n")
	if text = strings.TrimSpace(lines[len(lines)-1]); text == "" {
		text = err.Error()
	}
	return text[:min(len(text), 200)], err
}

// find returns the path of a program. It searches the absolute folders of PATH. A name that
// contains a slash is returned unchanged, even if there is no such file.
func find(name string, environ []string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil
	}
	for _, dir := range filepath.SplitList(lookup(environ, "PATH")) {
		file := filepath.Join(dir, name)
		info, err := os.Stat(file)
		if filepath.IsAbs(dir) && err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return file, nil
		}
	}
	return "", &os.PathError{Op: "find", Path: name, Err: syscall.ENOENT}
}

// lookup returns the value of a variable. If it occurs twice, the last value counts.
func lookup(environ []string, name string) (value string) {
	for _, v := range environ {
		if text, ok := strings.CutPrefix(v, name+"="); ok {
			value = text
		}
	}
	return value
}

// realPath returns a path without symbolic links, or the path itself if it does not exist.
func realPath(path string) string {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		return target
	}
	return filepath.Clean(path)
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, os.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR)
}

// within reports whether path is folder, or below it.
func within(path, folder string) bool {
	rel, err := filepath.Rel(folder, path)
	return err == nil && filepath.IsLocal(rel)
}
