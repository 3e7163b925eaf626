package env

import (
	"testing"
	"time"
)

func TestSinceParsesAnAgeATimeOfDayOrADate(t *testing.T) {
	zone := time.FixedZone("here", 2*60*60)
	now := time.Date(2026, 2, 11, 14, 30, 0, 0, zone)
	for text, want := range map[string]time.Time{
		"":                     {},
		"10m":                  now.Add(-10 * time.Minute),
		"7d":                   now.Add(-7 * 24 * time.Hour),
		"18:00":                time.Date(2026, 2, 10, 18, 0, 0, 0, zone), // it is not yet 18:00
		"today":                time.Date(2026, 2, 11, 0, 0, 0, 0, zone),
		"yesterday":            time.Date(2026, 2, 10, 0, 0, 0, 0, zone),
		"14:02":                time.Date(2026, 2, 11, 14, 2, 0, 0, zone),
		"09:00:05":             time.Date(2026, 2, 11, 9, 0, 5, 0, zone),
		"2026-02-01":           time.Date(2026, 2, 1, 0, 0, 0, 0, zone),
		"2026-02-01T09:00:00Z": time.Date(2026, 2, 1, 9, 0, 0, 0, time.UTC),
	} {
		if got, err := Since(text, now); err != nil || !got.Equal(want) {
			t.Errorf("%q is %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"last week", "25:00", "-5m", "3"} {
		if got, err := Since(text, now); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
}
