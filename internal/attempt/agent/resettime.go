package agent

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// resetPattern matches the words in which a program says when a rate limit ends: a date and time,
// or only a time of day, with an optional time zone.
var resetPattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(?:try again at|resets?(?: at)?) +` +
		`(?:([a-z]{3})[a-z]* (\d{1,2})(?:st|nd|rd|th)?,?(?: (\d{4}))?,?(?: at)? +)?` +
		`(\d{1,2})(?::(\d\d))? ?([ap])m(?: \(([A-Za-z0-9_+/-]+)\))?`)
})

// resetTime finds in text the time at which a rate limit ends. It returns the zero time if text has
// no such time. If the date or the year is missing in text, resetTime chooses the first matching
// time that is not before the minute of now; if now is zero, it returns the zero time instead. If
// text names no time zone, resetTime uses the time zone of now.
func resetTime(text string, now time.Time) time.Time {
	text = firstChars(text, 4000)
	if at := exactTime(text); !at.IsZero() {
		return at
	}
	m := resetPattern().FindStringSubmatch(text)
	if m == nil || now.IsZero() && (m[1] == "" || m[3] == "") {
		return time.Time{}
	}
	zone := now.Location()
	if m[7] != "" {
		if z, err := time.LoadLocation(m[7]); err == nil {
			zone = z
		}
	}
	hour, _ := strconv.Atoi(m[4])
	minute, _ := strconv.Atoi(m[5])
	if hour < 1 || hour > 12 || minute > 59 {
		return time.Time{}
	}
	hour %= 12
	if strings.EqualFold(m[6], "p") {
		hour += 12
	}
	return nextTime(m[1], m[2], m[3], hour, minute, now.In(zone))
}

// nextTime returns the first time that matches the arguments and is not before the minute of now.
// If month is empty, every day matches. If year is not empty, nextTime returns the time in that
// year, even if it is before now.
func nextTime(month, day, year string, hour, minute int, now time.Time) time.Time {
	if month == "" {
		at := time.Date(now.Year(), now.Month(), now.Day(), hour, minute, 0, 0, now.Location())
		if at.Before(now.Truncate(time.Minute)) {
			at = time.Date(now.Year(), now.Month(), now.Day()+1, hour, minute, 0, 0, now.Location())
		}
		return at
	}
	date, err := time.Parse("Jan 2", strings.ToUpper(month[:1])+strings.ToLower(month[1:])+" "+day)
	if err != nil {
		return time.Time{}
	}
	y, given := now.Year(), year != ""
	if given {
		y, _ = strconv.Atoi(year)
	}
	at := time.Date(y, date.Month(), date.Day(), hour, minute, 0, 0, now.Location())
	if !given && at.Before(now.Truncate(time.Minute)) {
		at = at.AddDate(1, 0, 0)
	}
	return at
}

var (
	epochPattern = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?:\||reset\w*(?: at)? ?[:=]? ?|^)(\d{10})\b`)
	})
	rfc3339Pattern = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)`)
	})
)

// exactTime finds a complete time in text, in RFC 3339 or else as Unix seconds. It returns zero if
// there is none.
func exactTime(text string) time.Time {
	if m := rfc3339Pattern().FindString(text); m != "" {
		if at, err := time.Parse(time.RFC3339, strings.Replace(m, " ", "T", 1)); err == nil {
			return at
		}
	}
	if m := epochPattern().FindStringSubmatch(text); m != nil {
		seconds, _ := strconv.ParseInt(m[1], 10, 64)
		return time.Unix(seconds, 0)
	}
	return time.Time{}
}

// unixTime converts Unix seconds from a program's output. It returns zero for values out
// of range.
func unixTime(seconds float64) time.Time {
	const farthest = 1 << 40
	if seconds >= 1 && seconds < farthest {
		return time.Unix(int64(seconds), 0)
	}
	return time.Time{}
}
