package supervisor

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"gaffer/statefile/host"
)

// The controllers of cgroup version 1 that gaffer uses: pids can prevent the processes of a control
// group from forking, and freezer can freeze these processes.
const (
	pidsKind    = "pids"
	freezerKind = "freezer"
)

// hierarchy is a mounted cgroup hierarchy, with the control group that this process belongs to.
type hierarchy struct {
	version int
	kind    string
	mount   string
	own     string // path of the folder of this process's control group
}

// hierarchies lists the cgroup hierarchies that attempts may use, in the order of preference. This
// process may lack the permission to create a group in them.
func hierarchies() (list []hierarchy) {
	mounts, err1 := os.ReadFile("/proc/self/mountinfo")
	groups, err2 := os.ReadFile("/proc/self/cgroup")
	if err1 != nil || err2 != nil {
		return nil
	}
	wanted := os.Getenv(GroupsVar)
	for _, want := range []hierarchy{{version: 2}, {version: 1, kind: pidsKind}, {version: 1, kind: freezerKind}} {
		if wanted == "off" || wanted == "v1" && want.version != 1 || wanted == "v2" && want.version != 2 {
			continue
		}
		path, ok := pathIn(groups, want.kind)
		if !ok {
			continue
		}
		for line := range bytes.Lines(mounts) {
			root, mount, ok := want.mountedAt(string(line))
			if !ok {
				continue
			}
			below, err := filepath.Rel(root, path)
			if err != nil || !filepath.IsLocal(below) { // skip: the process's control group is outside the mounted subtree
				continue
			}
			h := want
			h.mount, h.own = mount, filepath.Join(mount, below)
			list = append(list, h)
		}
	}
	return list
}

// pathIn returns the path of a process's control group, from the text of /proc/PID/cgroup. The
// parameter kind is the name of a controller of cgroup version 1; empty means cgroup version 2.
func pathIn(groups []byte, kind string) (path string, ok bool) {
	for line := range bytes.Lines(groups) {
		parts := strings.SplitN(strings.TrimSuffix(string(line), "\n"), ":", 3)
		if len(parts) != 3 {
			continue
		}
		if kind == "" && parts[0] == "0" || kind != "" && slices.Contains(strings.Split(parts[1], ","), kind) {
			return parts[2], true
		}
	}
	return "", false
}

// mountedAt parses a line of /proc/PID/mountinfo. The result root is the path of the control group
// that is mounted, and the result mount is the folder where it is mounted. ok is false if the line
// is not about the hierarchy h. In each line a dash follows the mount point and some optional
// fields. The file system's type, source and options come after the dash.
func (h hierarchy) mountedAt(line string) (root, mount string, ok bool) {
	before, after, found := strings.Cut(line, " - ")
	first, last := strings.Fields(before), strings.Fields(after)
	if !found || len(first) < 5 || len(last) < 3 {
		return "", "", false
	}
	switch {
	case h.version == 2 && last[0] == "cgroup2":
	case h.version == 1 && last[0] == "cgroup" && slices.Contains(strings.Split(last[2], ","), h.kind):
	default:
		return "", "", false
	}
	unescape := strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace
	return unescape(first[3]), unescape(first[4]), true
}

// ownHierarchies does the same as hierarchies, but reads the mounts of this process only once: they
// are not expected to change while a supervisor runs.
var ownHierarchies = sync.OnceValue(hierarchies)

// makeCgroup creates a control group below that of this process. It returns nil if name is empty or
// if no group can be created.
func makeCgroup(name string) *cgroup {
	if name == "" {
		return nil
	}
	for _, h := range ownHierarchies() {
		if g := h.makeCgroup(name); g != nil {
			return g
		}
	}
	return nil
}

// maxCgroupTries is how many control groups can exist for the same attempt and the same supervisor.
// A second group is needed if a supervisor starts an attempt again while the first group still
// exists. The names of further groups contain a number.
const maxCgroupTries = 100

func (h hierarchy) makeCgroup(name string) *cgroup {
	var at syscall.Stat_t
	if syscall.Stat(h.mount, &at) != nil {
		return nil
	}
	// In version 1, the thread that forks moves into the new control group. It must be allowed to
	// move back to the group of this process.
	if h.version == 1 && unix.Access(filepath.Join(h.own, "tasks"), unix.W_OK) != nil {
		return nil
	}
	g := &cgroup{Version: h.version, Kind: h.kind, Mount: h.mount, Dev: at.Dev, Ino: at.Ino}
	self := host.OS().Self()
	suffix := cgroupSuffix(self.PID, self.Start)
	for try := range maxCgroupTries {
		g.Dir = filepath.Join(h.own, name+suffix)
		if try > 0 {
			g.Dir = filepath.Join(h.own, fmt.Sprintf("%s_%d%s", name, try, suffix))
		}
		err := os.Mkdir(g.Dir, 0o755)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return nil
		}
		if unix.Access(g.path(g.procs()), unix.W_OK) != nil {
			_ = os.Remove(g.Dir) // ignore the error: an empty group can always be removed
			return nil
		}
		return g
	}
	return nil
}

func (g *cgroup) path(name string) string { return filepath.Join(g.Dir, name) }

// procs returns the name of the file in the control group's folder that accepts pids: a process
// whose pid is written to the file moves into the group.
func (g *cgroup) procs() string {
	if g.Version == 1 {
		return "tasks"
	}
	return "cgroup.procs"
}

// startInside calls the function fork so that the new process is in the control group from its
// first instruction.
func (g *cgroup) startInside(attr syscall.SysProcAttr, fork func(*syscall.SysProcAttr) (int, error)) (pid int, err error) {
	if g.Version == 2 {
		dir, err := os.Open(g.Dir)
		if err != nil {
			return 0, err
		}
		defer dir.Close()
		attr.UseCgroupFD, attr.CgroupFD = true, int(dir.Fd())
		return fork(&attr)
	}
	in, err := os.OpenFile(g.path(g.procs()), os.O_WRONLY, 0)
	if err != nil {
		return 0, err
	}
	defer in.Close()
	back, err := os.OpenFile(filepath.Join(filepath.Dir(g.Dir), g.procs()), os.O_WRONLY, 0)
	if err != nil {
		return 0, err
	}
	defer back.Close()
	done := make(chan struct{})
	go func() { // version 1: a thread moves into the group, forks there, and moves back
		defer close(done)
		runtime.LockOSThread()
		if _, err = in.WriteString("0"); err == nil {
			pid, err = fork(&attr)
		}
		// If the thread cannot move back, it stays locked to this goroutine and exits with it. So
		// no other goroutine runs in the control group.
		if _, backErr := back.WriteString("0"); backErr == nil {
			runtime.UnlockOSThread()
		}
	}()
	<-done
	return pid, err
}

// visible reports whether this process sees the control group's hierarchy at the recorded mount.
func (g *cgroup) visible() bool {
	var at syscall.Stat_t
	return syscall.Stat(g.Mount, &at) == nil && at.Dev == g.Dev && at.Ino == g.Ino
}

// folders lists the group and its subgroups, parents before children. If it returns an error, the
// list may be incomplete.
func (g *cgroup) folders() (list []string, err error) {
	_ = filepath.WalkDir(g.Dir, func(path string, d fs.DirEntry, unread error) error {
		switch {
		case unread == nil && d.IsDir():
			list = append(list, path)
		case isShortage(unread):
			err = unread
		}
		return nil // ignore other errors: the folder was removed during the walk
	})
	return list, err
}

// members lists the live processes in the group and its subgroups, except this process. If it
// returns an error, the list may be incomplete.
func (g *cgroup) members() (list []process, err error) {
	before, err := g.pids()
	for _, pid := range before {
		p, unread := readProcess(pid)
		switch {
		case unread == nil && !p.ended:
			list = append(list, p)
		case isShortage(unread):
			err = unread
		}
	}
	// Read the group's pids again. If a pid is missing now, its process has left the group, and
	// readProcess may have read another process that got the same pid.
	again, unread := g.pids()
	list = slices.DeleteFunc(list, func(p process) bool { return !slices.Contains(again, p.pid) || p.pid == os.Getpid() })
	return list, errors.Join(err, unread)
}

// pids lists the pids in the group and its subgroups. If it returns an error, the list may be
// incomplete.
func (g *cgroup) pids() (list []int, err error) {
	folders, err := g.folders()
	for _, dir := range folders {
		text, unread := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
		// If cgroup.procs cannot be read, the group may be a threaded group, in which only thread
		// ids can be read.
		if unread != nil {
			text, unread = os.ReadFile(filepath.Join(dir, "cgroup.threads"))
		}
		if isShortage(unread) {
			err = unread
		}
		for word := range strings.FieldsSeq(string(text)) {
			if pid, err := strconv.Atoi(word); err == nil && pid > 0 {
				list = append(list, pid)
			}
		}
	}
	slices.Sort(list)
	return slices.Compact(list), err
}

// populated reports whether the group or one of its subgroups contains a process. It returns an
// error if that is unknown. A group that was removed contains none.
func (g *cgroup) populated() (bool, error) {
	if g.Version != 2 {
		members, err := g.members()
		return len(members) > 0, err
	}
	text, err := os.ReadFile(g.path("cgroup.events"))
	if isShortage(err) {
		return false, err
	}
	return err == nil && bytes.Contains(text, []byte("populated 1")), nil
}

// kill kills all processes in the group, including those that are just being forked. It does not
// wait until they have ended.
func (g *cgroup) kill() {
	if g.Version == 2 && writeCgroupFile(g.path("cgroup.kill"), "1") == nil {
		return
	}
	switch { // prevent forks while the processes are killed one after the other
	case g.Version == 2:
		_ = writeCgroupFile(g.path("cgroup.freeze"), "1")
	case g.Kind == pidsKind:
		_ = writeCgroupFile(g.path("pids.max"), "0")
	case g.Kind == freezerKind:
		_ = writeCgroupFile(g.path("freezer.state"), "FROZEN")
		defer func() { _ = writeCgroupFile(g.path("freezer.state"), "THAWED") }() // SIGKILL ends frozen processes only after they are thawed
	}
	members, _ := g.members() // ignore the error: callers repeat the call until the group is empty
	signalEach(members, syscall.SIGKILL)
}

func writeCgroupFile(file, text string) error {
	f, err := os.OpenFile(file, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// remove removes the group and its subgroups. It fails while a process is in one of them.
func (g *cgroup) remove() error {
	err := os.Remove(g.Dir)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	folders, _ := g.folders() // ignore the error: if a subgroup is not listed, the Remove below fails
	for _, dir := range slices.Backward(folders) {
		_ = os.Remove(dir) // ignore the error: if a subgroup remains, the Remove below fails
	}
	if err = os.Remove(g.Dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// leaveCgroupTimeout is how long a killed process may take to leave its group.
const leaveCgroupTimeout = 5 * time.Second

// killAndRemove kills the processes in the control group and removes the group. The result left has
// the pids that are still in the group after leaveCgroupTimeout. The result removed is false if the
// group is still there. If removed is false and left is empty, processes that could not be listed
// may be alive.
func (g *cgroup) killAndRemove() (left []int, removed bool) {
	for begin := time.Now(); g.remove() != nil; time.Sleep(sweepPause) {
		if time.Since(begin) > leaveCgroupTimeout {
			members, _ := g.members() // ignore the error: the list may be incomplete
			return pids(members), false
		}
		if populated, err := g.populated(); populated || err != nil {
			g.kill()
		}
	}
	return nil, true
}

// SweepGroups ends the processes in abandoned control groups, and removes these groups. It returns
// the pids of processes that it could not end. A group is abandoned if three conditions hold: its
// name has the prefix that cgroupPrefix returns for home; the supervisor that created it is dead;
// and gaffer does not need it to recover an attempt below home. SweepGroups only searches below the
// control group of this process.
func SweepGroups(home string) (left []int) {
	for _, g := range abandonedCgroups(home) {
		alive, _ := g.killAndRemove()
		left = append(left, alive...)
	}
	return left
}

// ListAbandoned lists the processes in abandoned control groups. [SweepGroups] says which groups
// are abandoned. [Marked.Attempt] is taken from the group's name, in which a hash may replace the
// attempt's id.
func ListAbandoned(home string) (list []Marked) {
	for _, g := range abandonedCgroups(home) {
		name := strings.TrimPrefix(filepath.Base(g.Dir), cgroupPrefix(home))
		members, _ := g.members() // ignore the error: the list is only for display
		for _, p := range members {
			list = append(list, Marked{PID: p.pid, Attempt: name[:strings.LastIndexByte(name, '-')], Command: commandOf(p.pid)})
		}
	}
	return list
}

// abandonedCgroups lists the groups that [SweepGroups] removes.
func abandonedCgroups(home string) (list []*cgroup) {
	prefix, claimed := cgroupPrefix(home), map[string]bool(nil)
	for _, h := range hierarchies() {
		_ = filepath.WalkDir(h.own, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.IsDir() || !strings.HasPrefix(d.Name(), prefix) {
				return nil
			}
			pid, start, ok := parseCgroupName(d.Name())
			p, err := readProcess(pid)
			if supervises := err == nil && p.start == start && !p.ended; !ok || supervises || isShortage(err) {
				return nil
			}
			if claimed == nil {
				claimed = neededGroups(home)
			}
			if !claimed[path] {
				list = append(list, &cgroup{Version: h.version, Kind: h.kind, Dir: path, Mount: h.mount})
			}
			return nil
		})
	}
	return list
}

// GroupMethod says how this machine finds the processes of an attempt: by control groups, or only
// by marks such as an environment variable that the processes inherit. To find out, it tries to
// fork a process in a new control group. It does this in each cgroup hierarchy until it succeeds.
func GroupMethod() string {
	for _, h := range hierarchies() {
		g := h.makeCgroup("gaffer-doctor")
		if g == nil {
			continue
		}
		_, err := g.startInside(syscall.SysProcAttr{}, func(attr *syscall.SysProcAttr) (int, error) {
			return syscall.ForkExec("/dev/null/none", []string{"none"}, &syscall.ProcAttr{Sys: attr}) // only the fork matters; exec fails with ENOTDIR
		})
		_ = g.remove() // ignore the error: no process was started in the group
		if errors.Is(err, syscall.ENOTDIR) {
			return fmt.Sprintf("control groups v%d", g.Version)
		}
	}
	return marksOnly
}
