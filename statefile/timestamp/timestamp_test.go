package timestamp_test

import (
	"errors"
	"testing"
	"time"

	"gaffer/statefile/timestamp"
)

// zone is two hours ahead of UTC, so that a test notices if a time without a zone is not read as
// local time.
var zone = time.FixedZone("two ahead", 2*60*60)

func TestParseReadsEveryFormFoundInPractice(t *testing.T) {
	for _, c := range []struct {
		text   string
		want   time.Time
		strict bool
	}{
		{"2026-02-01T14:30:25Z", at(14, 30, 25, 0), true},
		{"2026-02-01T14:30:25.5Z", at(14, 30, 25, 500_000_000), true},
		{"2026-02-01T14:30:25.123456+00:00", at(14, 30, 25, 123_456_000), true},
		{"2026-02-01T14:30:25.123456789Z", at(14, 30, 25, 123_456_789), true},
		{"2026-02-01T14:30:25-00:00", at(14, 30, 25, 0), true},
		{"2026-02-01T14:30:25+05:30", at(9, 0, 25, 0), true},
		{"2026-02-01T14:30:25-08:00", at(22, 30, 25, 0), true},
		{"2026-02-01T14:30:25.25+0530", at(9, 0, 25, 250_000_000), false},
		{"2026-02-01 14:30:25Z", at(14, 30, 25, 0), false},
		{"2026-02-01 14:30:25.123456+00:00", at(14, 30, 25, 123_456_000), false},
		{"2026-02-01T14:30Z", at(14, 30, 0, 0), false},
		{"2026-02-01T14:30+02:00", at(12, 30, 0, 0), false},
		{"2026-02-01T14:30:25", at(12, 30, 25, 0), false},
		{"2026-02-01T14:30:25.123456", at(12, 30, 25, 123_456_000), false},
		{"2026-02-01 14:30:25", at(12, 30, 25, 0), false},
		{"2026-02-01 14:30:25.5", at(12, 30, 25, 500_000_000), false},
		{"2026-02-01", at(-2, 0, 0, 0), false},
	} {
		got, err := timestamp.Parse(c.text, zone)
		if err != nil || !got.Equal(c.want) {
			t.Errorf("%s is %s (%v), should be %s", c.text, got, err, c.want)
		}
		if got := timestamp.Strict(c.text); got != c.strict {
			t.Errorf("%s: strict is %v", c.text, got)
		}
	}
}

func at(hour, minute, second, nano int) time.Time {
	return time.Date(2026, 2, 1, hour, minute, second, nano, time.UTC)
}

func TestParseRefusesWhatIsNotATime(t *testing.T) {
	for text, want := range map[string]string{
		"'$START'":                      `"'$START'" is a shell variable that was never filled in, not a time`,
		"$START":                        `"$START" is a shell variable that was never filled in, not a time`,
		"":                              `"" is not a time; write it as 2026-02-12T17:08:00Z`,
		"yesterday":                     `"yesterday" is not a time; write it as 2026-02-12T17:08:00Z`,
		"1770000000":                    `"1770000000" is not a time; write it as 2026-02-12T17:08:00Z`,
		"2026-02-30T00:00:00Z":          `"2026-02-30T00:00:00Z" is not a time; write it as 2026-02-12T17:08:00Z`,
		"2026-02-01T25:00:00Z":          `"2026-02-01T25:00:00Z" is not a time; write it as 2026-02-12T17:08:00Z`,
		"2026-02-01T14:30:25Z trailing": `"2026-02-01T14:30:25Z trailing" is not a time; write it as 2026-02-12T17:08:00Z`,
	} {
		_, err := timestamp.Parse(text, zone)
		var notATime *timestamp.Error
		if !errors.As(err, &notATime) || notATime.Text != text || err.Error() != want {
			t.Errorf("%q: %v, should be %s", text, err, want)
		}
		if timestamp.Strict(text) {
			t.Errorf("%q is taken as RFC 3339", text)
		}
	}
}

// time.Parse accepts some forms that are not RFC 3339 and that other programs refuse.
func TestStrictAcceptsOnlyRFC3339(t *testing.T) {
	for _, text := range []string{
		"2026-02-01T4:30:25Z", "2026-02-01T14:30:25,5Z", "2026-02-01T14:30:25+24:00", "2026-02-01T14:30:25+00:60",
	} {
		if timestamp.Strict(text) {
			t.Errorf("%s is taken as RFC 3339", text)
		}
	}
}

func TestFormatIsUTCToTheSecond(t *testing.T) {
	for want, given := range map[string]time.Time{
		"2026-02-01T14:30:25Z": time.Date(2026, 2, 1, 14, 30, 25, 999_999_999, time.UTC),
		"2026-02-01T23:00:00Z": time.Date(2026, 2, 2, 1, 0, 0, 0, zone),
		"0001-01-01T00:00:00Z": {},
	} {
		if got := timestamp.Format(given); got != want || !timestamp.Strict(got) {
			t.Errorf("%s is written as %s, should be %s", given, got, want)
		}
	}
}

func TestUTCIsUTCInBothSpellings(t *testing.T) {
	for text, want := range map[string]bool{
		"2026-02-01T14:30:25Z": true, "2026-02-01T14:30:25.123456Z": true, "2026-02-01T14:30:25+00:00": true,
		"2026-02-01T14:30:25.123456+00:00": true, "2026-02-01t14:30:25z": true,
		"2026-02-01T14:30:25+01:00": false, "2026-02-01T14:30:25-00:30": false, "2026-02-01T14:30:25": false,
	} {
		if got := timestamp.UTC(text); got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"2026-02-01T14:30:25Z", "2026-02-01T14:30:25.123456+00:00", "2026-02-01T14:30:25", "2026-02-01", "'$START'", "",
		"9999-12-31T23:59:59-23:59", "0000-01-01",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := timestamp.Parse(text, zone)
		if err != nil {
			if timestamp.Strict(text) {
				t.Fatalf("%q is RFC 3339 and was not read: %v", text, err)
			}
			return
		}
		if year := got.UTC().Year(); year < 0 || year > 9999 {
			return // the time cannot be written as RFC 3339
		}
		again, err := timestamp.Parse(timestamp.Format(got), time.UTC)
		if err != nil || !again.Equal(got.Truncate(time.Second)) {
			t.Fatalf("%q is %s, and read again %s (%v)", text, got, again, err)
		}
	})
}
