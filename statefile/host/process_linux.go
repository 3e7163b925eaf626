package host

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"syscall"
)

func bootID() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return string(bytes.TrimSpace(id))
}

func pidSpace() string {
	space, _ := os.Readlink("/proc/self/ns/pid")
	return space
}

// startTime returns the start time of a process, in clock ticks since boot. The error wraps
// os.ErrNotExist if the process does not exist or is a zombie.
func startTime(pid int) (uint64, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if errors.Is(err, os.ErrNotExist) && syscall.Kill(pid, 0) != syscall.ESRCH {
		return 0, os.ErrPermission // the process exists but /proc hides it, so we cannot read its start time
	}
	if err != nil {
		return 0, err
	}
	// The program's name is in parentheses and may itself contain spaces and parentheses. The first
	// field after it is the state of the process, and the 20th field after it is the start time.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 20 {
		return 0, fmt.Errorf("/proc/%d/stat: %d fields after the name", pid, len(fields))
	}
	// The state is that of the main thread. A process whose main thread has ended still runs if it
	// has other threads. fields[17] is the number of threads.
	if state := fields[0][0]; (state == 'Z' || state == 'X') && string(fields[17]) <= "1" {
		return 0, os.ErrNotExist
	}
	return strconv.ParseUint(string(fields[19]), 10, 64)
}
