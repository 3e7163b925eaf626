package schedule

import (
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/robfig/cron/v3"
)

// field is one of the five fields of a cron expression.
type field struct {
	name    string
	allowed string // the values that the field may have, as text for messages
	flag    cron.ParseOption
}

var fields = []field{
	{"minute", "0-59", cron.Minute},
	{"hour", "0-23", cron.Hour},
	{"day of the month", "1-31", cron.Dom},
	{"month", "1-12 or jan-dec", cron.Month},
	{"day of the week", "0-7 or sun-sat; 0 and 7 are Sunday", cron.Dow},
}

// weekdays is the index of the field "day of the week" in fields.
const weekdays = 4

// shortcuts maps each word that users may write instead of a cron expression to that expression.
var shortcuts = map[string]string{
	"@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0", "@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@hourly": "0 * * * *",
}

// CronError says what is wrong with a cron expression.
type CronError struct {
	Expr  string
	Field int // number of the wrong field, starting at 1; 0 for the whole expression
	Why   string
	Next  string // what to write instead; empty if unknown
}

func (e *CronError) Error() string {
	if e.Field == 0 {
		return fmt.Sprintf("cron expression %q: %s", e.Expr, e.Why)
	}
	return fmt.Sprintf("cron expression %q: field %d (%s): %s", e.Expr, e.Field, fields[e.Field-1].name, e.Why)
}

// Usage returns true, so that commands exit with code 2: wrong usage.
func (e *CronError) Usage() bool { return true }

// Hint returns advice for the user.
func (e *CronError) Hint() string { return e.Next }

// parseCron parses a cron expression: five fields, or a word such as @daily. It returns a
// [*CronError] if the expression is not valid.
func parseCron(expr string) (*cron.SpecSchedule, error) {
	text := strings.TrimSpace(expr)
	if strings.HasPrefix(text, "@") {
		full, ok := shortcuts[strings.ToLower(text)]
		if !ok {
			return nil, &CronError{expr, 0, "is not one of the words that stand for an expression", "use @hourly, @daily, @weekly, @monthly, @yearly, or five fields such as \"0 2 * * 1-5\""}
		}
		text = full
	}
	if strings.HasPrefix(text, "TZ=") || strings.HasPrefix(text, "CRON_TZ=") {
		return nil, &CronError{expr, 0, "names a time zone", "use --tz for the time zone"}
	}
	parts := strings.Fields(text)
	if len(parts) != len(fields) {
		return nil, &CronError{expr, 0, fmt.Sprintf("has %d of the five fields", len(parts)), "write minute, hour, day of the month, month and day of the week: \"0 2 * * 1-5\" is 02:00 from Monday to Friday"}
	}
	for i, part := range parts {
		if i == weekdays {
			part = sundayIsZero(part)
			parts[i] = part
		}
		if _, err := cron.NewParser(fields[i].flag).Parse(part); err != nil {
			return nil, &CronError{expr, i + 1, fmt.Sprintf("%q: %s", strings.Fields(text)[i], fieldProblem(err)), fmt.Sprintf("it may have %s, lists such as 1,3, ranges such as 1-3 and steps such as */2", fields[i].allowed)}
		}
	}
	parsed, err := cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow).Parse("TZ=UTC " + strings.Join(parts, " "))
	if err != nil {
		return nil, &CronError{expr, 0, fieldProblem(err), ""}
	}
	// This type assertion cannot fail: the parser returns another type only for @every, which was
	// rejected above.
	return parsed.(*cron.SpecSchedule), nil
}

// fieldProblem returns a short text for an error of the cron parser. It drops the part after the
// first colon, in which the parser repeats the field's text, because the error message of the
// caller already contains that text.
func fieldProblem(err error) string {
	text, _, _ := strings.Cut(err.Error(), ": ")
	switch {
	case strings.HasPrefix(text, "failed to parse int"):
		return "is neither a number nor a name of this field"
	case strings.HasPrefix(text, "end of range"), strings.HasPrefix(text, "beginning of range"):
		return strings.Replace(text, "end of range", "value", 1)
	}
	return text
}

// sundayIsZero replaces 7 by 0 in the field for the day of the week. Both mean Sunday, but the
// parser does not accept 7. A range that ends with 7 becomes a list of days.
func sundayIsZero(part string) string {
	items := strings.Split(part, ",")
	for i, item := range items {
		span, step, hasStep := strings.Cut(item, "/")
		low, high, isRange := strings.Cut(span, "-")
		by, err := strconv.Atoi(step)
		if !hasStep {
			by, err = 1, nil
		}
		first, bad := strconv.Atoi(low)
		switch {
		case span == "7" && !hasStep:
			items[i] = "0"
		case isRange && high == "7" && err == nil && bad == nil && by > 0 && first >= 0 && first <= 7:
			var days []string
			for day := first; day <= 7; day += by {
				days = append(days, strconv.Itoa(day%7))
			}
			items[i] = strings.Join(days, ",")
		}
	}
	return strings.Join(items, ",")
}

// starBit is the bit that the parser sets in a field that contains *. If * has a step above 1, as
// in */2, the parser does not set the bit.
const starBit = 1 << 63

// values returns the values of a field of a cron expression in ascending order. The parameter set
// is the field as the parser returns it: bit n is set if the field has the value n.
func values(set uint64) (list []int) {
	for set &^= starBit; set != 0; set &= set - 1 {
		list = append(list, bits.TrailingZeros64(set))
	}
	return list
}

// everyHour reports whether a cron expression matches at least one minute in every hour of the day.
func everyHour(spec *cron.SpecSchedule) bool { return len(values(spec.Hour)) == 24 }

// OnCalendar returns the planned times as values for the setting OnCalendar= of a systemd timer.
// There are two values if the cron expression restricts both the day of the month and the day of
// the week. The reason is that cron then selects all days that match at least one of the two,
// whereas a single OnCalendar value selects only the days that match both.
func (t Times) OnCalendar() []string {
	clock := fmt.Sprintf("%s:%s:00 %s", calendarList(t.spec.Hour, 24), calendarList(t.spec.Minute, 60), t.zone)
	month := calendarList(t.spec.Month, 12)
	days := "*-" + month + "-" + calendarList(t.spec.Dom, 31)
	var names []string
	for _, day := range values(t.spec.Dow) {
		names = append(names, []string{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"}[day])
	}
	week := strings.Join(names, ",")
	switch {
	case t.spec.Dom&starBit == 0 && t.spec.Dow&starBit == 0:
		return []string{days + " " + clock, week + " *-" + month + "-* " + clock}
	case len(names) == 7:
		return []string{days + " " + clock}
	}
	return []string{week + " " + days + " " + clock}
}

// calendarList returns the values of a field of a cron expression as a systemd timer writes them,
// such as "02,14". The parameter count is the number of possible values. If the field has all of
// them, calendarList returns "*".
func calendarList(set uint64, count int) string {
	list := values(set)
	if len(list) == count {
		return "*"
	}
	texts := make([]string, len(list))
	for i, v := range list {
		texts[i] = fmt.Sprintf("%02d", v)
	}
	return strings.Join(slices.Compact(texts), ",")
}
