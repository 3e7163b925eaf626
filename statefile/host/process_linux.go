package host

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
)

func bootID() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(id))
}

func pidSpace() string {
	space, _ := os.Readlink("/proc/self/ns/pid")
	return space
}

// startTime returns when a process started, in clock ticks since boot.
func startTime(pid int) (uint64, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	// The program's name stands in brackets and may itself hold spaces and
	// brackets; the start time is the 20th field after it.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 20 {
		return 0, fmt.Errorf("/proc/%d/stat: %d fields after the name", pid, len(fields))
	}
	return strconv.ParseUint(string(fields[19]), 10, 64)
}
