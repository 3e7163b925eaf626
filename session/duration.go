package session

import (
	"fmt"
	"math"
	"time"
)

// Elapsed returns how long the agent ran or, if it is still running, how long it has run until now.
// It returns false if that is unknown. The result is never negative, even if the clock was set
// back.
func (a Agent) Elapsed(now time.Time) (time.Duration, bool) {
	if a.DurationSeconds != nil {
		// Another program may have written any number into the document, so limit the number to a
		// range that fits into a time.Duration.
		seconds := min(max(*a.DurationSeconds, 0), math.MaxInt64/float64(2*time.Second))
		return time.Duration(seconds * float64(time.Second)), true
	}
	if a.StartedAt.IsZero() {
		return 0, false
	}
	switch {
	case a.Status == Running:
		return max(now.Sub(a.StartedAt.Time), 0), true
	case !a.CompletedAt.IsZero():
		return max(a.CompletedAt.Sub(a.StartedAt.Time), 0), true
	}
	return 0, false
}

// FormatElapsed formats a duration for users, in a form such as 42s, 2m 34s or 1h 05m.
func FormatElapsed(d time.Duration) string {
	s := int64(max(d, 0) / time.Second)
	switch {
	case s < 60:
		return fmt.Sprintf("%ds", s)
	case s < 3600:
		return fmt.Sprintf("%dm %02ds", s/60, s%60)
	}
	return fmt.Sprintf("%dh %02dm", s/3600, s/60%60)
}
