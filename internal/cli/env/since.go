package env

import (
	"fmt"
	"time"

	"gaffer/statefile/timestamp"
)

// Since parses a point in time: an age such as 10m or 7d, a time of day such as 14:02, a date, a
// date with a time, or the word today or yesterday, which means the start of that day. now is the
// current time. A time of day that is later than now means that time yesterday. If text names no
// time zone, Since uses that of now. If text is empty, it returns the zero time.
func Since(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	y, m, d := now.Date()
	switch text {
	case "today":
		return time.Date(y, m, d, 0, 0, 0, 0, now.Location()), nil
	case "yesterday":
		return time.Date(y, m, d-1, 0, 0, 0, 0, now.Location()), nil
	}
	for _, layout := range []string{"15:04", "15:04:05"} {
		if clock, err := time.Parse(layout, text); err == nil {
			at := time.Date(y, m, d, clock.Hour(), clock.Minute(), clock.Second(), 0, now.Location())
			if at.After(now) {
				at = time.Date(y, m, d-1, clock.Hour(), clock.Minute(), clock.Second(), 0, now.Location())
			}
			return at, nil
		}
	}
	var age Age
	if age.Set(text) == nil {
		return now.Add(-time.Duration(age)), nil
	}
	at, err := timestamp.Parse(text, now.Location())
	if err != nil {
		return at, fmt.Errorf("--since %q: want such as 10m, 7d, 14:02, yesterday, 2026-02-11 or 2026-02-11T09:00:00Z", text)
	}
	return at, nil
}
