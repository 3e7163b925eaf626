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

// GroupsVar is the environment variable that says whether attempts get control
// groups: "off" for none, "v1" or "v2" for those of one version alone.
const GroupsVar = "GAFFER_CGROUPS"

// group is the control group of an attempt. A process leaves its group neither by
// forking nor with another session, environment or parent, so the group knows
// everything that the attempt has started, also when the supervisor is dead.
type group struct {
	Version int    `json:"version"` // of control groups: 1 or 2
	Kind    string `json:"kind,omitempty"`
	Dir     string `json:"dir"`
	// Mount is where the hierarchy is mounted. Its device and inode tell whether
	// another process sees the same hierarchy there.
	Mount string `json:"mount"`
	Dev   uint64 `json:"dev"`
	Ino   uint64 `json:"ino"`
}

// groupPrefix begins the name of every group whose attempt has its folder below
// home.
func groupPrefix(home string) string {
	if target, err := filepath.EvalSymlinks(home); err == nil {
		home = target
	}
	sum := sha256.Sum256([]byte(home))
	return "gaffer-" + hex.EncodeToString(sum[:6]) + "-"
}

// groupName is the name of an attempt's group without the supervisor's part, or
// empty if it shall have none.
func groupName(home, attempt string) string {
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
	return groupPrefix(home) + attempt
}

// suffix ends the name of a group: whose it is.
func suffix(pid int, start uint64) string { return fmt.Sprintf("-%d.%d", pid, start) }

// supervisorOf reads which process has made a group from its name.
func supervisorOf(name string) (pid int, start uint64, ok bool) {
	at := strings.LastIndexByte(name, '-')
	first, second, found := strings.Cut(name[at+1:], ".")
	pid, err1 := strconv.Atoi(first)
	start, err2 := strconv.ParseUint(second, 10, 64)
	return pid, start, at >= 0 && found && err1 == nil && err2 == nil
}
