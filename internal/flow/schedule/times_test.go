package schedule

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// upcoming returns the next count planned times after a time, as texts in the time zone.
func upcoming(t *testing.T, expr, zone, after string, count int) (list []string) {
	t.Helper()
	times, err := Parse(expr, zone)
	if err != nil {
		t.Fatal(err)
	}
	from, err := time.ParseInLocation("2006-01-02 15:04:05", after, times.Zone())
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range times.Upcoming(from, count) {
		list = append(list, at.In(times.Zone()).Format("Mon 2006-01-02 15:04 -0700"))
	}
	return list
}

func TestPlannedTimes(t *testing.T) {
	for name, c := range map[string]struct {
		expr, zone, after string
		want              []string
	}{
		"weekdays":                            {"0 2 * * 1-5", "UTC", "2026-11-20 02:00:00", []string{"Mon 2026-11-23 02:00 +0000", "Tue 2026-11-24 02:00 +0000"}},
		"a second before":                     {"0 2 * * *", "UTC", "2026-11-20 01:59:59", []string{"Fri 2026-11-20 02:00 +0000"}},
		"names":                               {"30 4 1 JAN,jul Mon-wed", "UTC", "2026-07-01 05:00:00", []string{"Mon 2026-07-06 04:30 +0000", "Tue 2026-07-07 04:30 +0000"}},
		"the day of the month or of the week": {"0 0 13 * 5", "UTC", "2026-11-01 00:00:00", []string{"Fri 2026-11-06 00:00 +0000", "Fri 2026-11-13 00:00 +0000", "Fri 2026-11-20 00:00 +0000"}},
		"seven is Sunday":                     {"0 0 * * 7", "UTC", "2026-11-20 00:00:00", []string{"Sun 2026-11-22 00:00 +0000", "Sun 2026-11-29 00:00 +0000"}},
		"a range up to seven":                 {"0 0 * * 6-7", "UTC", "2026-11-20 00:00:00", []string{"Sat 2026-11-21 00:00 +0000", "Sun 2026-11-22 00:00 +0000", "Sat 2026-11-28 00:00 +0000"}},
		"steps":                               {"*/20 8-10/2 * * *", "UTC", "2026-11-20 08:30:00", []string{"Fri 2026-11-20 08:40 +0000", "Fri 2026-11-20 10:00 +0000"}},
		"a word":                              {"@daily", "Asia/Tokyo", "2026-11-20 08:30:00", []string{"Sat 2026-11-21 00:00 +0900"}},
		"a leap day":                          {"0 12 29 2 *", "UTC", "2026-11-20 08:30:00", []string{"Tue 2028-02-29 12:00 +0000", "Sun 2032-02-29 12:00 +0000"}},
		"an hour that does not exist runs at the change": {"30 2 * * *", "Europe/Berlin", "2026-03-28 12:00:00", []string{
			"Sun 2026-03-29 03:00 +0200", "Mon 2026-03-30 02:30 +0200",
		}},
		"several times that do not exist run once": {"0,15,45 2 * * *", "Europe/Berlin", "2026-03-29 01:00:00", []string{
			"Sun 2026-03-29 03:00 +0200", "Mon 2026-03-30 02:00 +0200",
		}},
		"a time that does not exist and the time of the change run once": {"0 2,3 * * *", "Europe/Berlin", "2026-03-29 00:00:00", []string{
			"Sun 2026-03-29 03:00 +0200", "Mon 2026-03-30 02:00 +0200",
		}},
		"an hour that exists twice runs once": {"30 2 * * *", "Europe/Berlin", "2026-10-24 12:00:00", []string{
			"Sun 2026-10-25 02:30 +0200", "Mon 2026-10-26 02:30 +0100",
		}},
		"every quarter of an hour when the clocks go back": {"*/30 * * * *", "Europe/Berlin", "2026-10-25 01:30:00", []string{
			"Sun 2026-10-25 02:00 +0200", "Sun 2026-10-25 02:30 +0200", "Sun 2026-10-25 02:00 +0100", "Sun 2026-10-25 02:30 +0100", "Sun 2026-10-25 03:00 +0100",
		}},
		"every half hour when the clocks go forward": {"*/30 * * * *", "Europe/Berlin", "2026-03-29 01:00:00", []string{
			"Sun 2026-03-29 01:30 +0100", "Sun 2026-03-29 03:00 +0200", "Sun 2026-03-29 03:30 +0200",
		}},
		"the clocks change by half an hour": {"15 2 * * *", "Australia/Lord_Howe", "2026-10-03 12:00:00", []string{
			"Sun 2026-10-04 02:30 +1100", "Mon 2026-10-05 02:15 +1100",
		}},
		"a midnight that does not exist": {"@daily", "America/Sao_Paulo", "2018-11-03 12:00:00", []string{
			"Sun 2018-11-04 01:00 -0200", "Mon 2018-11-05 00:00 -0200",
		}},
		"every hour of a day without midnight": {"0 * 4 11 *", "America/Sao_Paulo", "2018-11-03 12:00:00", []string{
			"Sun 2018-11-04 01:00 -0200", "Sun 2018-11-04 02:00 -0200",
		}},
		"west of Greenwich": {"30 1 * * *", "America/New_York", "2026-10-31 12:00:00", []string{
			"Sun 2026-11-01 01:30 -0400", "Mon 2026-11-02 01:30 -0500",
		}},
		"a day that does not exist": {"0 9 30 12 *", "Pacific/Apia", "2011-12-01 00:00:00", []string{
			"Sat 2011-12-31 00:00 +1400", "Sun 2012-12-30 09:00 +1400",
		}},
	} {
		if diff := cmp.Diff(c.want, upcoming(t, c.expr, c.zone, c.after, len(c.want))); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
}

// During the second of two equal hours, the planned time of the first one must not come again.
func TestTheSecondOfTwoEqualHoursHasNoPlannedTime(t *testing.T) {
	times, err := Parse("30 2 * * *", "Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	second := time.Date(2026, 10, 25, 1, 10, 0, 0, time.UTC) // 02:10 +0100
	if got := times.Next(second).UTC().Format(time.RFC3339); got != "2026-10-26T01:30:00Z" {
		t.Errorf("the next time is %s", got)
	}
}

// For many expressions, zones and moments, each planned time must come after the one before, and
// asking from any moment in between must give the same planned time.
func TestPlannedTimesAreTheSameFromEveryMoment(t *testing.T) {
	for _, zone := range []string{"UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Sao_Paulo", "Asia/Kathmandu", "Africa/Casablanca"} {
		for _, expr := range []string{"*/15 * * * *", "30 2 * * *", "0 0 * * *", "5 1,2,3 * * *", "0 */2 * * *", "17 * * * 0", "0 3 25 10 0"} {
			times, err := Parse(expr, zone)
			if err != nil {
				t.Fatal(err)
			}
			for _, day := range []string{"2018-11-03", "2018-02-17", "2026-03-28", "2026-10-24", "2026-11-01", "2026-04-04", "2026-10-03"} {
				at, _ := time.Parse(time.DateOnly, day)
				for range 60 {
					next := times.Next(at)
					if !next.After(at) {
						t.Fatalf("%q in %s: %s comes after %s", expr, zone, next, at)
					}
					for _, between := range []time.Time{at.Add(next.Sub(at) / 3), at.Add(next.Sub(at) / 2), next.Add(-time.Nanosecond)} {
						if again := times.Next(between); !again.Equal(next) {
							t.Fatalf("%q in %s: after %s comes %s, and after %s comes %s", expr, zone, at, next, between, again)
						}
					}
					if at = next; at.Sub(next) > 72*time.Hour {
						break
					}
				}
			}
		}
	}
}

func TestABadExpressionNamesTheField(t *testing.T) {
	for expr, want := range map[string]string{
		"":                 "has 0 of the five fields",
		"0 2 * *":          "has 4 of the five fields",
		"0 0 2 * * *":      "has 6 of the five fields",
		"60 2 * * *":       `field 1 (minute): "60": value (60) above maximum (59)`,
		"0 24 * * *":       "field 2 (hour)",
		"0 2 0 * *":        "field 3 (day of the month)",
		"0 2 * foo *":      `field 4 (month): "foo": is neither a number nor a name of this field`,
		"0 2 * * 8":        "field 5 (day of the week)",
		"0 2 * * fri-mon":  "field 5 (day of the week)",
		"0 5-2 * * *":      "field 2 (hour)",
		"*/0 * * * *":      "field 1 (minute)",
		"@fortnightly":     "is not one of the words",
		"@every 90m":       "is not one of the words",
		"TZ=UTC 0 2 * * *": "names a time zone",
		"0 0 30 2 *":       "this day never comes",
		"1-2-3 * * * *":    "field 1 (minute)",
		"0 2 * * 5-7/0":    "field 5 (day of the week)",
	} {
		_, err := Parse(expr, "UTC")
		var usage interface{ Usage() bool }
		if err == nil || !strings.Contains(err.Error(), want) || !errors.As(err, &usage) {
			t.Errorf("%q: %v, want %q", expr, err, want)
		}
	}
}

func TestATimeZoneHasAName(t *testing.T) {
	for _, zone := range []string{"", "Local", "Mars/Olympus", "../etc/passwd", "+02:00"} {
		var wrong *ZoneError
		if _, err := Parse("@daily", zone); !errors.As(err, &wrong) {
			t.Errorf("%q: %v", zone, err)
		}
	}
}

func TestTimesForSystemd(t *testing.T) {
	for expr, want := range map[string][]string{
		"0 2 * * 1-5":    {"Mon,Tue,Wed,Thu,Fri *-*-* 02:00:00 Europe/Berlin"},
		"@daily":         {"*-*-* 00:00:00 Europe/Berlin"},
		"*/30 * 1 1,7 *": {"*-01,07-01 *:00,30:00 Europe/Berlin"},
		"0 12 13 * 5":    {"*-*-13 12:00:00 Europe/Berlin", "Fri *-*-* 12:00:00 Europe/Berlin"},
		"0 12 */10 * 0":  {"*-*-01,11,21,31 12:00:00 Europe/Berlin", "Sun *-*-* 12:00:00 Europe/Berlin"},
		"15 3 1-31 * *":  {"*-*-* 03:15:00 Europe/Berlin"},
		"15 3 * * sun,1": {"Sun,Mon *-*-* 03:15:00 Europe/Berlin"},
	} {
		times, err := Parse(expr, "Europe/Berlin")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, times.OnCalendar()); diff != "" {
			t.Errorf("%q (-want +got)\n%s", expr, diff)
		}
	}
}
