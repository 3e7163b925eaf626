package supervisor

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// GroupsVar is the environment variable that says which control groups attempts may use: "off" for
// none, "v1" or "v2" for only that version. If it is unset, attempts may use both versions.
const GroupsVar = "GAFFER_CGROUPS"

// cgroup is the control group of an attempt. A process stays in its group when it changes its
// session, environment or parent, and the processes that it forks are in the same group. So the
// group normally contains all processes of the attempt, even after the supervisor has died.
type cgroup struct {
	Version int    `json:"version"` // cgroup version: 1 or 2
	Kind    string `json:"kind,omitempty"`
	Dir     string `json:"dir"`
	// Mount is the path where the cgroup hierarchy is mounted. Dev and Ino are the device and inode
	// of this folder. With them, another process checks that it sees the same hierarchy.
	Mount string `json:"mount"`
	Dev   uint64 `json:"dev"`
	Ino   uint64 `json:"ino"`
}

// cgroupPrefix returns the first part of a control group's name. It is the same for all attempts
// with the same home, which is a folder above the attempts' folders.
func cgroupPrefix(home string) string {
	if target, err := filepath.EvalSymlinks(home); err == nil {
		home = target
	}
	sum := sha256.Sum256([]byte(home))
	return "gaffer-" + hex.EncodeToString(sum[:6]) + "-"
}

// cgroupName returns the name of an attempt's control group, without the suffix that cgroupSuffix
// returns. The name is empty if control groups are off.
func cgroupName(home, attempt string) string {
	if os.Getenv(GroupsVar) == "off" {
		return ""
	}
	odd := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_'
	}
	if len(attempt) > 100 || strings.ContainsFunc(attempt, odd) {
		sum := sha256.Sum256([]byte(attempt))
		attempt = hex.EncodeToString(sum[:12])
	}
	return cgroupPrefix(home) + attempt
}

// cgroupSuffix returns the last part of a control group's name: the pid and start time of the
// supervisor that created the group.
func cgroupSuffix(pid int, start uint64) string { return fmt.Sprintf("-%d.%d", pid, start) }

// parseCgroupName parses the last part of a control group's name. It returns the pid and start time
// of the supervisor that created the group.
func parseCgroupName(name string) (pid int, start uint64, ok bool) {
	at := strings.LastIndexByte(name, '-')
	first, second, found := strings.Cut(name[at+1:], ".")
	pid, err1 := strconv.Atoi(first)
	start, err2 := strconv.ParseUint(second, 10, 64)
	return pid, start, at >= 0 && found && err1 == nil && err2 == nil
}
