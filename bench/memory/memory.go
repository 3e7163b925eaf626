// Package memory measures the memory of processes.
package memory

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// PSS returns the sum of the proportional set sizes of processes, in MB. Memory that n processes
// share counts one n-th in the size of each, so the sum never counts it twice. A process that has
// ended counts nothing.
func PSS(pids ...int) (sum float64, err error) {
	for _, pid := range pids {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
		if errors.Is(err, syscall.ESRCH) || errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return 0, err
		}
		for line := range strings.Lines(string(text)) {
			if kb, ok := strings.CutPrefix(line, "Pss:"); ok {
				n, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(kb), " kB"), 64)
				if err != nil {
					return 0, err
				}
				sum += n / 1024
			}
		}
	}
	return sum, nil
}
