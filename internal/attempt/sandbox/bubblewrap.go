package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"gaffer/internal/plan"
)

// Names of the hidden gaffer commands that run [EnterMain] and [InitMain].
const (
	EnterCommand = "sandbox-enter"
	InitCommand  = "sandbox-init"
)

// copiesFolder is a folder inside a sandbox. The originals of the files in layout.copies are
// mounted there read-only. The first process in the sandbox copies them from there to the paths
// where the agent program expects them.
const copiesFolder = "/run/gaffer-copies"

// enter returns the first part of the command line that runs a program in a sandbox: gaffer's own
// program, the command name EnterCommand, and the arguments of [EnterMain].
func (l *layout) enter(self string, s Spec, c Command) []string {
	argv := []string{self, EnterCommand, "--scratch=" + c.Scratch}
	for _, path := range l.remove {
		argv = append(argv, "--remove="+path)
	}
	if s.Network == plan.NetworkList {
		for _, host := range s.Hosts {
			argv = append(argv, "--host="+host)
		}
	}
	return append(argv, "--")
}

// bubblewrap returns the command line for a program inside bubblewrap.
func (l *layout) bubblewrap(self, bwrap string, s Spec, c Command) []string {
	argv := append(l.enter(self, s, c), bwrap,
		"--die-with-parent", "--unshare-user-try", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try", "--cap-drop", "ALL", "--as-pid-1")
	if s.Network == plan.NetworkOff || s.Network == plan.NetworkList {
		argv = append(argv, "--unshare-net")
	}
	for i, m := range l.mounts {
		switch m.kind {
		case readOnly:
			argv = append(argv, "--ro-bind", m.from, m.to)
		case writable, private:
			argv = append(argv, "--bind", m.from, m.to)
		case empty:
			argv = append(argv, "--tmpfs", m.to)
		case masked:
			argv = append(argv, "--ro-bind", "/dev/null", m.to)
		}
		// The first mount is the root folder. Directly after it, give the sandbox its own /dev and
		// /proc.
		if i == 0 {
			argv = append(argv, "--dev", "/dev", "--proc", "/proc")
		}
	}
	init := []string{self, InitCommand}
	for i, f := range l.copies {
		shown := filepath.Join(copiesFolder, string(rune('a'+i)))
		argv = append(argv, "--ro-bind", f.from, shown)
		init = append(init, "--copy="+shown+":"+f.to)
	}
	argv = append(argv, "--bind", filepath.Join(c.Scratch, socketName), socketInside, "--chdir", realPath(c.Dir), "--")
	init = append(init, "--socket="+socketInside)
	if s.Network == plan.NetworkList {
		init = append(init, "--proxy")
	}
	return append(append(append(argv, init...), "--"), c.Argv...)
}

// container returns the command line for a program inside a container. The image must contain the
// program. It need not contain gaffer: the machine's gaffer program, which is linked statically, is
// mounted into the container.
func (l *layout) container(self, engine string, s Spec, c Command) []string {
	const inside = "/run/gaffer"
	argv := append(l.enter(self, s, c), engine, "run", "--rm", "--interactive", "--read-only", "--cap-drop=ALL", "--security-opt=no-new-privileges", "--pids-limit=4096", "--ipc=private",
		"--workdir="+realPath(c.Dir))
	if strings.HasSuffix(engine, "podman") {
		argv = append(argv, "--userns=keep-id")
	} else {
		argv = append(argv, "--user="+currentUser())
	}
	if s.Network == plan.NetworkOff || s.Network == plan.NetworkList {
		argv = append(argv, "--network=none")
	}
	for _, v := range containerVariables(l.env) {
		// Pass only the name, because other users can read a command line. The container engine
		// takes the value from its own environment, which other users cannot read.
		argv = append(argv, "--env="+v)
	}
	for i, m := range l.mounts {
		// Skip a mount that a later mount in the list covers: the container engine refuses two
		// mounts at one path, and it may not mount in the order of the list.
		if slices.ContainsFunc(l.mounts[i+1:], func(later mount) bool { return within(m.to, later.to) }) {
			continue
		}
		switch m.kind {
		case readOnly:
			argv = append(argv, "--volume="+m.from+":"+m.to+":ro")
		case writable, private:
			argv = append(argv, "--volume="+m.from+":"+m.to)
		case empty:
			argv = append(argv, "--tmpfs="+m.to)
		case masked:
			argv = append(argv, "--volume=/dev/null:"+m.to+":ro")
		}
	}
	init := []string{inside, InitCommand}
	argv = append(argv, "--volume="+self+":"+inside+":ro")
	for i, f := range l.copies {
		shown := filepath.Join(copiesFolder, string(rune('a'+i)))
		argv = append(argv, "--volume="+f.from+":"+shown+":ro")
		init = append(init, "--copy="+shown+":"+f.to)
	}
	argv = append(argv, "--volume="+filepath.Join(c.Scratch, socketName)+":"+socketInside)
	init = append(init, "--socket="+socketInside)
	if s.Network == plan.NetworkList {
		init = append(init, "--proxy")
	}
	argv = append(argv, "--entrypoint="+init[0], s.Image)
	return append(append(append(argv, init[1:]...), "--"), c.Argv...)
}

// socketName is the name of a socket in the sandbox's scratch folder, see [Command.Scratch].
// socketInside is the path of the same socket inside the sandbox. The socket connects the first
// process inside of the sandbox with gaffer's process outside of it.
const (
	socketName   = "socket"
	socketInside = "/run/gaffer-socket"
)

// currentUser returns the numeric ids of this process's user and group, as USER:GROUP.
func currentUser() string { return strconv.Itoa(os.Getuid()) + ":" + strconv.Itoa(os.Getgid()) }

// containerVariables returns the names of the variables that a container gets. It leaves out
// variables that describe the machine outside of the container.
func containerVariables(env []string) (names []string) {
	seen := map[string]bool{"PATH": true, "PWD": true, "OLDPWD": true, "SHLVL": true, "_": true, "HOSTNAME": true, "GAFFER_SELF": true, "LD_LIBRARY_PATH": true, "LD_PRELOAD": true}
	for _, v := range env {
		if name, _, _ := strings.Cut(v, "="); !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
	}
	return names
}
