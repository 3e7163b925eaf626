package supervisor

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// describeDescendants sets the fields that help to find the processes of an attempt after its
// supervisor was killed. It also lowers two resource limits of this process. The descendants
// inherit these limits and can be found by them, see [limitMark].
func (s *supervisorRecord) describeDescendants() {
	groups, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return
	}
	s.Place, s.Since, s.Limits = string(groups), ticks(), markDescendants()
	for p, err := readProcess(os.Getppid()); err == nil && p.pid > 1 && len(s.Above) < maxAncestors; p, err = readProcess(p.parent) {
		s.Above = append(s.Above, ancestor{p.pid, p.start})
	}
}

// maxAncestors is the maximum number of ancestors of a process that are recorded or examined.
const maxAncestors = 64

// ticks returns the time since boot in clock ticks, the unit of start times in /proc.
func ticks() uint64 {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &now); err != nil {
		return 0
	}
	const perSecond = 100 // USER_HZ, which is 100 on all architectures that Go supports
	return uint64(now.Sec)*perSecond + uint64(now.Nsec)*perSecond/1e9
}

// remainsOf looks for processes of an attempt whose supervisor is dead. [supervisorRecord.owned]
// finds the processes that certainly belong to the attempt, and [supervisorRecord.suspects] those
// that may belong to it.
func remainsOf(attempt string, by supervisorRecord) Remains {
	list, err := by.owned(attempt)
	switch {
	case len(list) > 0:
		return Remains{Proof: Remaining, Processes: leftOf(list)}
	case err != nil:
		return notListed(err)
	}
	if by.Group != nil {
		populated, err := by.Group.populated()
		switch {
		case !by.Group.visible():
			return Remains{Why: fmt.Sprintf("its control group %s cannot be seen from here", by.Group.Dir)}
		case err != nil:
			return notListed(err)
		case populated:
			return Remains{Why: fmt.Sprintf("its control group %s has processes that cannot be seen from here", by.Group.Dir)}
		case by.Limits == nil:
			// The control group is empty. That counts as proof that no process of the attempt is
			// alive, although a privileged agent could have left the group. See docs/security.md.
			return Remains{Proof: Gone}
		}
	}
	list, err = by.suspects()
	switch {
	case len(list) > 0:
		left := leftOf(list)
		return Remains{Processes: left, Why: describe(left) + " started after it and may be of it"}
	case err != nil:
		return notListed(err)
	}
	return Remains{Proof: Gone}
}

// notListed returns the result of a search that could not see all processes.
func notListed(err error) Remains {
	return Remains{Why: fmt.Sprintf("the processes of this machine cannot be listed: %v", err)}
}

// owned lists the live processes that certainly belong to an attempt. A process belongs to it in
// three cases: the process, or one of its ancestors, has the attempt's id in its environment; it is
// in the attempt's control group; or it has the same unusual resource limits as the attempt's
// supervisor, see [limitMark]. If owned returns an error, the list may be incomplete.
func (s supervisorRecord) owned(attempt string) ([]process, error) {
	list, err := marked([]byte(Mark + "=" + attempt))
	if s.Group != nil {
		members, unread := s.Group.members()
		list, err = append(list, members...), errors.Join(err, unread)
	}
	if s.Limits == nil {
		return list, err
	}
	all, unread := processes()
	for _, p := range all {
		if p.ended || p.start < s.Since || p.pid == os.Getpid() {
			continue
		}
		if limits, err := limitsOf(p.pid); err == nil && limits == *s.Limits {
			list = append(list, p)
		}
	}
	return list, errors.Join(err, unread)
}

// ContainsAncestorOf reports whether the process pid, or one of its ancestors, is among
// r.Processes.
func (r Remains) ContainsAncestorOf(pid int) bool {
	for range maxAncestors {
		p, err := readProcess(pid)
		if err != nil {
			return false
		}
		if slices.ContainsFunc(r.Processes, func(l Left) bool { return l.PID == p.pid }) {
			return true
		}
		pid = p.parent
	}
	return false
}

func leftOf(list []process) (left []Left) {
	slices.SortFunc(list, func(a, b process) int { return a.pid - b.pid })
	list = slices.CompactFunc(list, func(a, b process) bool { return a.pid == b.pid })
	for _, p := range list {
		left = append(left, Left{p.pid, commandOf(p.pid)})
	}
	return left
}

// suspects lists the processes that an attempt may have left behind, besides those that
// certainly belong to it. To escape all other searches, a process of the attempt must have
// cleared its environment, started a session, left its control group, and lost its parent
// when the supervisor was killed. Such a process still has these properties:
//
//   - The process and the leader of its session started after the attempt began.
//   - It belongs to the supervisor's user. If that user is root, it may belong to any user.
//   - Its parent is init or another ancestor of the supervisor.
//   - Its resource limits are not above those of the supervisor. If s.Limits is nil, another
//     property is checked instead: the process is in the supervisor's control groups, or
//     below them.
//
// A process that the user has started after the attempt began can have the same
// properties. So the user must decide whether a listed process belongs to the attempt.
// suspects leaves out processes that run the gaffer program. If it returns an error, the
// list may be incomplete.
func (s supervisorRecord) suspects() (list []process, err error) {
	if s.Place == "" { // an older version of gaffer, which did not set Place, wrote the record
		return nil, nil
	}
	gaffer, _ := os.Stat("/proc/self/exe")
	all, err := processes()
	starts := map[int]uint64{}
	for _, p := range all {
		starts[p.pid] = p.start
	}
	for _, p := range all {
		if p.ended || p.start < s.Since || p.pid == os.Getpid() {
			continue
		}
		if leader, ok := starts[p.session]; ok && leader < s.Since {
			continue
		}
		if !s.mayAdoptOrphans(p.parent, starts[p.parent]) || !s.mayOwn(p.pid) {
			continue
		}
		if s.Limits == nil {
			inside, unread := s.groupsContain(p.pid)
			if isShortage(unread) {
				err = unread
			}
			if !inside {
				continue
			}
		}
		if limits, err := limitsOf(p.pid); s.Limits != nil && (err != nil || !s.Limits.covers(limits)) {
			continue
		}
		if exe, err := os.Stat(fmt.Sprintf("/proc/%d/exe", p.pid)); err == nil && gaffer != nil && os.SameFile(exe, gaffer) {
			continue
		}
		list = append(list, p)
	}
	return list, err
}

// mayAdoptOrphans reports whether the process with this pid and start time may have become the
// parent of the supervisor's children when the supervisor died. Only init and those ancestors of
// the supervisor that are subreapers can become the parent. /proc does not show whether a process
// is a subreaper, so mayAdoptOrphans excludes only ancestors whose programs are known not to be
// subreapers.
func (s supervisorRecord) mayAdoptOrphans(parent int, start uint64) bool {
	if parent <= 1 {
		return true
	}
	if !slices.Contains(s.Above, ancestor{parent, start}) {
		return false
	}
	program, _, _ := strings.Cut(commandOf(parent), " ")
	switch strings.Trim(filepath.Base(program), "-:") {
	case "sh", "bash", "dash", "zsh", "fish", "ksh", "tmux", "screen", "SCREEN", "sshd", "sshd-session", "login", "su", "sudo":
		return false
	}
	return true
}

// mayOwn reports whether the process pid may belong to an attempt, judged only by its user. A
// supervisor and its descendants normally have the same user as the process that calls mayOwn. If
// that user is root, every process may belong to the attempt, because the agent may have changed
// its user.
func (s supervisorRecord) mayOwn(pid int) bool {
	me := os.Getuid()
	info, err := os.Stat(fmt.Sprintf("/proc/%d", pid))
	if err != nil {
		return false // the process has ended
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	return me == 0 || !ok || int(stat.Uid) == me
}

// groupsContain reports whether, in each cgroup hierarchy, a process is in the supervisor's control
// group or in a group below it. It returns an error if, for example, the process has ended.
func (s supervisorRecord) groupsContain(pid int) (bool, error) {
	now, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	if err != nil {
		return false, err
	}
	paths := map[string]string{}
	for line := range bytes.Lines(now) {
		if parts := strings.SplitN(strings.TrimSpace(string(line)), ":", 3); len(parts) == 3 {
			paths[parts[0]] = parts[2]
		}
	}
	for line := range strings.Lines(s.Place) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		below, err := filepath.Rel(parts[2], paths[parts[0]])
		if err != nil || !filepath.IsLocal(below) {
			return false, nil
		}
	}
	return true, nil
}
