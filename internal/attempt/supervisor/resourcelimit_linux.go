package supervisor

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// rlimitNproc is RLIMIT_NPROC, which package syscall does not have.
const rlimitNproc = 6

// ResourceLimits returns the limits of processes and open files that apply to this process, and how
// much of each is left. It leaves out limits of at least highLimit, which are treated as unlimited.
func ResourceLimits() (list []ResourceLimit) {
	if limit := limitOf(rlimitNproc); limit > 0 && os.Geteuid() != 0 { // the limit does not apply to root
		list = append(list, ResourceLimit{
			What: "processes and threads of this user (ulimit -u)", Max: limit, Left: limit - threadsOfUser(), PerAttempt: processesEach, Err: syscall.EAGAIN,
		})
	}
	if limit := limitOf(syscall.RLIMIT_NOFILE); limit > 0 {
		list = append(list, ResourceLimit{
			What: "open files of gaffer (ulimit -n)", Max: limit, Left: limit - openFiles(limit), PerAttempt: filesEach, Reserve: filesSpare, Err: syscall.EMFILE,
		})
	}
	return list
}

// limitOf returns a limit of this process, or 0 if it is at least highLimit or unknown.
func limitOf(resource int) int {
	var limit syscall.Rlimit
	if syscall.Getrlimit(resource, &limit) != nil || limit.Cur >= highLimit {
		return 0
	}
	return int(limit.Cur)
}

func threadsOfUser() (n int) {
	folders, _ := filepath.Glob("/proc/[0-9]*") // ignore the error: the pattern is valid
	for _, folder := range folders {
		info, err := os.Stat(folder)
		if err != nil || info.Sys().(*syscall.Stat_t).Uid != uint32(os.Getuid()) {
			continue // skip: the process has ended, or belongs to another user
		}
		n += threadsOf(folder)
	}
	return n
}

// threadsOf returns the number of threads of a process, given its folder in /proc.
func threadsOf(folder string) int {
	const index = 17 // index of num_threads, counted from the field after the command's name
	stat, err := os.ReadFile(filepath.Join(folder, "stat"))
	if err != nil {
		return 0
	}
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) <= index {
		return 1
	}
	n, _ := strconv.Atoi(string(fields[index])) // ignore the error: the kernel always writes a number
	return n
}

// openFiles returns how many files this process has open. If it cannot open the folder that lists
// them, the limit on open files is probably reached, so it returns limit.
func openFiles(limit int) int {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return limit
	}
	return len(entries)
}
