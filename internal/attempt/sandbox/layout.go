package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gaffer/internal/plan"
)

// Spec says in which sandbox an attempt runs. It is stored with the attempt.
type Spec struct {
	Mode    plan.SandboxMode `json:"mode"`
	Kind    string           `json:"kind"` // name of the built-in agent, such as claude, whose files the program needs
	Network plan.Network     `json:"network,omitempty"`
	Hosts   []string         `json:"hosts,omitempty"`
	Write   []string         `json:"write,omitempty"`
	Read    []string         `json:"read,omitempty"`
	Image   string           `json:"image,omitempty"`
	// Nested says that the program can make a sandbox of its own inside of this sandbox.
	Nested bool `json:"nested,omitempty"`
}

// SpecOf returns the spec of a task's sandbox. The mode is that of c, which was chosen for this
// machine. The other settings are those of want, the sandbox in the task's plan. See Spec.Kind for
// the parameter kind. The field Nested is false; the caller sets it.
func SpecOf(c Choice, want plan.Sandbox, kind string) Spec {
	return Spec{Mode: c.Mode, Kind: kind, Network: want.Network, Hosts: want.Hosts, Write: want.Write, Read: want.Read, Image: want.Image}
}

// Outside reports whether gaffer makes the sandbox, with bubblewrap or as a container. In the other
// modes there is no sandbox, or the program makes it itself.
func (s Spec) Outside() bool {
	return s.Mode == plan.SandboxBubblewrap || s.Mode == plan.SandboxContainer
}

// Command is a program that runs in a sandbox.
type Command struct {
	Argv  []string
	Env   []string // whole environment; if a name occurs twice, the last value counts
	Given []string // names of variables in Env that the user has set for this program; the sandbox never removes them
	Dir   string   // folder to run in; the program may change its content
	// Scratch is the path of a folder for the home folder and the temporary files of the sandbox.
	// It must not exist yet. The sandbox creates it, and deletes it when the program has ended.
	Scratch string
	Files   []string // paths of further files that the program may read
}

// Wrap returns the command line and the environment with which a program runs in a sandbox. If
// [Spec.Outside] is false, Wrap returns those of c unchanged.
func (m *Machine) Wrap(s Spec, c Command) (argv, env []string, err error) {
	if !s.Outside() {
		return c.Argv, c.Env, nil
	}
	facts := m.Facts(s.Mode == plan.SandboxContainer)
	if reason := facts.unavailable(s.Mode, plan.Sandbox{Image: s.Image}, Program{Kind: s.Kind}); reason != "" {
		return nil, nil, &UnavailableError{s.Mode, reason}
	}
	l, err := m.layout(s, c)
	if err != nil {
		return nil, nil, err
	}
	if s.Mode == plan.SandboxContainer {
		return l.container(m.Self, facts.Engine, s, c), l.env, nil
	}
	return l.bubblewrap(m.Self, facts.Bwrap, s, c), l.env, nil
}

// mountKind says what a program sees at a path inside a sandbox.
type mountKind int

const (
	readOnly mountKind = iota
	writable
	private // a writable folder of the sandbox itself, stored in Command.Scratch
	empty   // an empty folder; what is written there is lost
	masked  // a file whose content is hidden
)

// mount is one path inside a sandbox. In a list of mounts, a later mount hides what earlier mounts
// show at its path.
type mount struct {
	kind mountKind
	from string // path outside of the sandbox; not set for the kinds empty and masked
	to   string
}

// copied is a file that is copied into the sandbox. The program can replace the copy, and the
// original does not change. from is the path of the original, to is the path of the copy.
type copied struct{ from, to string }

// layout describes what a program sees inside a sandbox.
type layout struct {
	mounts []mount
	copies []copied
	remove []string // paths that do not exist yet; if the program creates them, they are deleted after it has ended
	env    []string
	home   string
}

func (l *layout) add(kind mountKind, paths ...string) {
	for _, p := range paths {
		p = realPath(p)
		if kind == empty || kind == masked {
			l.mounts = append(l.mounts, mount{kind: kind, to: p})
		} else {
			l.mounts = append(l.mounts, mount{kind, p, p})
		}
	}
}

// addIfThere adds those of the paths that exist. It leaves out symbolic links whose target is
// missing.
func (l *layout) addIfThere(kind mountKind, paths ...string) {
	for _, p := range paths {
		if exists(p) && exists(realPath(p)) {
			l.add(kind, p)
		}
	}
}

// source returns the path outside of the sandbox for a path inside. shown is false if the sandbox
// does not show a file of the machine at that path.
func (l *layout) source(path string) (from string, shown bool) {
	for _, m := range l.mounts {
		if !within(path, m.to) {
			continue
		}
		if shown = m.kind == readOnly || m.kind == writable; shown {
			rel, _ := filepath.Rel(m.to, path) // cannot fail: path is within m.to
			from = filepath.Join(m.from, rel)
		}
	}
	return from, shown
}

// mask hides the paths, and everything below them, if the mounts that were added so far show them.
// Mounts that are added later are not affected.
func (l *layout) mask(paths ...string) {
	for _, p := range paths {
		p = realPath(p)
		l.mounts = slices.DeleteFunc(l.mounts, func(m mount) bool {
			return (m.kind == readOnly || m.kind == writable) && m.to != p && within(m.to, p)
		})
		from, shown := l.source(p)
		if !shown {
			continue
		}
		info, err := os.Stat(from)
		switch {
		case err != nil:
		case info.IsDir():
			l.add(empty, p)
		default:
			l.add(masked, p)
		}
	}
}

// Names of the folders in [Command.Scratch].
const (
	homeFolder = "home"
	tmpFolder  = "tmp"
	varFolder  = "vartmp"
)

// layout returns what a program sees in a sandbox: an almost empty home folder, the folder that it
// works in and, in bubblewrap, the machine's files, which it can only read.
func (m *Machine) layout(s Spec, c Command) (*layout, error) {
	home := lookup(c.Env, "HOME")
	if !filepath.IsAbs(home) || realPath(home) == "/" {
		return nil, fmt.Errorf("sandbox %s: the home folder %q cannot be hidden; set HOME to another folder", s.Mode, home)
	}
	home = realPath(home)
	work := realPath(c.Dir)
	l := &layout{home: home}
	if s.Mode == plan.SandboxBubblewrap {
		l.add(readOnly, "/")
		l.addIfThere(empty, "/run", "/home", "/root", "/media", "/mnt")
		l.addIfThere(readOnly, "/run/current-system", "/run/opengl-driver", "/run/wrappers") // parts of NixOS that programs need
		if file := realPath("/etc/resolv.conf"); within(file, "/run") {
			l.addIfThere(readOnly, file)
		}
		l.mask(systemCredentials()...)
	}
	l.mounts = append(l.mounts, mount{private, filepath.Join(c.Scratch, tmpFolder), "/tmp"})
	if exists("/var/tmp") {
		l.mounts = append(l.mounts, mount{private, filepath.Join(c.Scratch, varFolder), "/var/tmp"})
	}
	l.mounts = append(l.mounts, mount{private, filepath.Join(c.Scratch, homeFolder), home})
	for _, p := range m.Hidden {
		l.mask(p)
	}
	if s.Mode == plan.SandboxBubblewrap {
		l.installation(m.Self, c)
		l.toolchains(c.Env)
	}
	l.addIfThere(readOnly, expand(s.Read, home)...)
	if err := l.addWritable(expand(s.Write, home)); err != nil {
		return nil, err
	}
	l.mask(slices.Concat(credentials(home), systemCredentials(), m.Hidden)...)
	if err := l.agentFiles(s.Kind, c, work); err != nil {
		return nil, err
	}
	l.addIfThere(readOnly, c.Files...)
	if s.Mode == plan.SandboxBubblewrap {
		l.add(readOnly, m.Self)
	}
	l.add(writable, work)
	git := findRepository(work)
	l.repository(git)
	for _, p := range slices.Concat(credentials(home), systemCredentials(), m.Hidden) {
		if p = realPath(p); p != work && within(p, work) {
			l.mask(p)
		}
	}
	l.env = environment(s.Kind, c)
	l.env = append(l.env, gitVariables(m.Environ, l.env, s.Mode)...)
	return l, nil
}

// addWritable adds folders to which the plan lets the program write. It returns an error for a
// folder that does not exist, because there is nothing to mount. It also returns an error for the
// root and for the whole home folder.
func (l *layout) addWritable(paths []string) error {
	for _, p := range paths {
		if !exists(p) {
			return fmt.Errorf("sandbox: write: there is no folder %s", p)
		}
		if realPath(p) == "/" || realPath(p) == l.home {
			return fmt.Errorf("sandbox: write: %s is too much; name the folders that the agent needs", p)
		}
		l.add(writable, p)
	}
	return nil
}

func expand(paths []string, home string) (list []string) {
	for _, p := range paths {
		if p == "~" || strings.HasPrefix(p, "~/") {
			p = filepath.Join(home, p[1:])
		}
		list = append(list, p)
	}
	return list
}

// installation shows programs in the sandbox that would otherwise be hidden: those in the folders
// in PATH, and the agent program with the modules that it needs.
func (l *layout) installation(self string, c Command) {
	hidden := func(path string) bool {
		_, shown := l.source(realPath(path))
		return exists(path) && !shown
	}
	for _, dir := range filepath.SplitList(lookup(c.Env, "PATH")) {
		parent := filepath.Dir(dir)
		switch {
		case !filepath.IsAbs(dir) || !hidden(dir) || realPath(dir) == l.home || within(l.home, realPath(dir)):
		case filepath.Base(dir) == "bin" && isPrefix(parent, l.home):
			l.addIfThere(readOnly, parent)
		default:
			l.addIfThere(readOnly, dir)
		}
	}
	if len(c.Argv) == 0 {
		return
	}
	program, err := find(c.Argv[0], c.Env)
	if err != nil || !filepath.IsAbs(program) {
		return
	}
	for range 16 { // follow symbolic links, such as ~/.local/bin/claude
		folder := filepath.Dir(program)
		if before, _, found := strings.Cut(program, "/node_modules/"); found {
			folder = before + "/node_modules"
		}
		switch {
		case !hidden(program) || within(program, c.Dir):
		case within(l.home, realPath(folder)):
			l.addIfThere(readOnly, program)
		default:
			l.addIfThere(readOnly, folder)
		}
		target, err := os.Readlink(program)
		if err != nil {
			break
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(filepath.Dir(program), target)
		}
		program = target
	}
}

// isPrefix reports whether a folder seems to contain one installation and nothing else, such as
// ~/.nvm/versions/node/v22 or ~/sdk/go. It returns false for ~/.local and ~/.cargo, which contain
// more than programs.
func isPrefix(folder, home string) bool {
	if folder = realPath(folder); within(home, folder) || folder == filepath.Join(home, ".local") || folder == filepath.Join(home, ".cargo") {
		return false
	}
	return slices.ContainsFunc([]string{"lib", "pkg", "libexec"}, func(name string) bool { return exists(filepath.Join(folder, name)) })
}

// toolchains adds compilers and downloaded packages: from well-known folders in the home folder,
// and from the folders that variables such as GOROOT name. They are read-only: a package that an
// agent has changed would later run outside of its sandbox.
func (l *layout) toolchains(env []string) {
	for _, name := range []string{".rustup", ".cargo/bin", ".cargo/registry", ".cargo/git", ".cargo/config.toml", "go/pkg", "sdk", ".nvm", ".pyenv", ".rbenv", ".asdf", ".volta", ".sdkman/candidates", ".local/lib", ".local/share/mise"} {
		l.addIfThere(readOnly, filepath.Join(l.home, name))
	}
	for _, name := range []string{"GOROOT", "GOMODCACHE", "JAVA_HOME", "RUSTUP_HOME", "NVM_DIR", "PYENV_ROOT", "VIRTUAL_ENV", "VOLTA_HOME", "BUN_INSTALL", "ANDROID_HOME"} {
		if dir := lookup(env, name); filepath.IsAbs(dir) && !within(l.home, realPath(dir)) {
			l.addIfThere(readOnly, dir)
		}
	}
	if dir := lookup(env, "GOPATH"); filepath.IsAbs(dir) {
		l.addIfThere(readOnly, filepath.Join(dir, "pkg"))
	}
}

// credentials returns the files and folders in a home folder that contain credentials. The sandbox
// hides them even if a plan names one of them, or a path above or below it, under read or write.
func credentials(home string) (list []string) {
	for _, name := range []string{
		".ssh", ".aws", ".azure", ".config/gcloud", ".config/gh", ".config/glab-cli", ".config/hub", ".docker", ".kube", ".gnupg", ".netrc",
		".git-credentials", ".config/git/credentials", ".npmrc", ".yarnrc.yml", ".pypirc", ".cargo/credentials", ".cargo/credentials.toml", ".gem/credentials",
		".password-store", ".local/share/keyrings", ".config/op", ".config/rclone", ".terraform.d", ".vault-token", ".pgpass", ".my.cnf", ".s3cfg", ".boto",
		".mozilla", ".config/google-chrome", ".config/chromium", ".config/gaffer", ".local/state/gaffer",
	} {
		list = append(list, filepath.Join(home, name))
	}
	return list
}

// systemCredentials returns the files and folders outside of home folders that contain credentials.
// Only root can read most of them, but gaffer may run as root.
func systemCredentials() []string {
	return []string{
		"/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/ssh", "/etc/ssl/private", "/etc/letsencrypt", "/etc/kubernetes", "/etc/wireguard",
		"/etc/NetworkManager/system-connections", "/etc/docker", "/var/lib/docker", "/var/lib/containerd", "/var/lib/kubelet", "/var/run/docker.sock",
	}
}
