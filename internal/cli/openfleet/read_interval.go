package openfleet

import "time"

// ReadInterval returns how long to wait between two reads of a run with this number of tasks. The
// more tasks a run has, the longer a read takes, and the longer the interval is.
func ReadInterval(tasks int) time.Duration {
	switch {
	case tasks < 200:
		return 100 * time.Millisecond
	case tasks < 2000:
		return 500 * time.Millisecond
	case tasks < 20_000:
		return 2 * time.Second
	}
	return 5 * time.Second
}
