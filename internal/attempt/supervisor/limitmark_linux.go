package supervisor

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

// limitMark identifies the descendants of one supervisor by two resource limits that
// they inherit. Linux stores both limits but has not enforced them for twenty years, so
// lowering them has no effect on programs.
//
// A process without CAP_SYS_RESOURCE can lower its hard limits but cannot raise them
// again. Every supervisor lowers its two limits by the same total, which it divides
// between them at random. So of two unrelated supervisors that had equal limits before,
// one ends up with the lower RLIMIT_LOCKS and the other with the lower RLIMIT_RSS. A
// process whose two limits are both at or below those of a supervisor therefore descends
// from that supervisor, unless something else has lowered the limits of the process.
type limitMark struct {
	Locks uint64 `json:"locks"` // hard limit of RLIMIT_LOCKS
	RSS   uint64 `json:"rss"`   // hard limit of RLIMIT_RSS
}

const (
	// limitRange is the sum of the amounts by which a supervisor lowers its two limits.
	limitRange = 1 << 56
	// highestLimit is the value from which a supervisor subtracts if its limit is higher, or
	// "unlimited". It fits into a signed 64-bit integer.
	highestLimit = 1 << 62
)

// markDescendants lowers the hard limits RLIMIT_LOCKS and RLIMIT_RSS of this process and returns
// the new limits. All processes that this process starts later inherit them. Later calls return the
// same value. The result is nil if the limits cannot be read, or are too low to be lowered. It is
// also nil if this process is allowed to raise its limits again, because then its descendants could
// do so too.
var markDescendants = sync.OnceValue(func() *limitMark {
	own, err := limitsOf(os.Getpid())
	if err != nil || own.Locks < 2*limitRange || own.RSS < 2*limitRange {
		return nil
	}
	part := 1 + rand.Uint64N(limitRange-1)
	m := limitMark{Locks: min(own.Locks, highestLimit) - part, RSS: min(own.RSS, highestLimit) - (limitRange - part)}
	if setHardLimit(unix.RLIMIT_LOCKS, m.Locks) != nil || setHardLimit(unix.RLIMIT_RSS, m.RSS) != nil {
		return nil
	}
	if setHardLimit(unix.RLIMIT_LOCKS, m.Locks+1) == nil || setHardLimit(unix.RLIMIT_RSS, m.RSS+1) == nil {
		return nil
	}
	// Check that the limits were set: a 32-bit kernel reads values this high as "unlimited".
	if now, err := limitsOf(os.Getpid()); err != nil || now != m {
		return nil
	}
	return &m
})

func setHardLimit(resource int, value uint64) error {
	return unix.Prlimit(0, resource, &unix.Rlimit{Cur: value, Max: value}, nil)
}

// limitsOf reads the two hard limits of a process from /proc. Unlike the system call prlimit, this
// also works for processes of other users.
func limitsOf(pid int) (m limitMark, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/limits", pid))
	if err != nil {
		return limitMark{}, err
	}
	for name, to := range map[string]*uint64{"Max file locks": &m.Locks, "Max resident set": &m.RSS} {
		_, rest, found := bytes.Cut(text, []byte(name))
		fields := bytes.Fields(rest) // fields[0] is the soft limit, fields[1] the hard limit
		if !found || len(fields) < 2 {
			return limitMark{}, fmt.Errorf("/proc/%d/limits: no %q", pid, name)
		}
		if string(fields[1]) == "unlimited" {
			*to = unix.RLIM_INFINITY
		} else if *to, err = strconv.ParseUint(string(fields[1]), 10, 64); err != nil {
			return limitMark{}, fmt.Errorf("/proc/%d/limits: %w", pid, err)
		}
	}
	return m, nil
}

// covers reports whether a process with the given limits may descend from the supervisor whose
// limits are m.
func (m limitMark) covers(limits limitMark) bool {
	return limits.Locks <= m.Locks && limits.RSS <= m.RSS
}
