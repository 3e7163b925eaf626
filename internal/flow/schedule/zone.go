package schedule

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
	_ "time/tzdata" // embeds the time zone database, because the machine may have none
)

// ZoneError reports that a time zone is unknown.
type ZoneError struct{ Zone, Why string }

func (e *ZoneError) Error() string { return fmt.Sprintf("time zone %q: %s", e.Zone, e.Why) }

// Usage returns true, so that commands exit with code 2: wrong usage.
func (e *ZoneError) Usage() bool { return true }

// Hint returns advice for the user.
func (e *ZoneError) Hint() string {
	return "use a name of the IANA time zone database: --tz Europe/Berlin, --tz UTC"
}

func loadZone(name string) (*time.Location, error) {
	// [time.LoadLocation] also accepts two names that are not in the time zone database: "" for
	// UTC, and "Local" for the zone of this process. Reject both, because "Local" may mean another
	// zone in another process.
	if name == "" || name == "Local" {
		return nil, &ZoneError{name, "is not a name of a time zone"}
	}
	loc, err := time.LoadLocation(name)
	if err != nil {
		return nil, &ZoneError{name, "is unknown"}
	}
	return loc, nil
}

// LocalZone returns the IANA name of this machine's time zone. If the environment variable TZ is
// set, the name comes from TZ. If TZ is not set and /etc/localtime does not exist, the zone is UTC.
// Otherwise the name comes from /etc/localtime or, if that is not a link to a known zone, from the
// file /etc/timezone. LocalZone returns a [*ZoneError] if it finds no name of a zone.
func LocalZone(getenv func(string) string) (string, error) { return localZone(getenv, "/etc") }

func localZone(getenv func(string) string, etc string) (string, error) {
	if tz := strings.TrimPrefix(getenv("TZ"), ":"); tz != "" {
		if _, name, ok := strings.Cut(tz, "zoneinfo/"); ok {
			tz = name
		}
		_, err := loadZone(tz)
		return tz, err
	}
	if target, err := os.Readlink(filepath.Join(etc, "localtime")); err == nil {
		if _, name, ok := strings.Cut(target, "zoneinfo/"); ok {
			name = strings.TrimPrefix(strings.TrimPrefix(name, "posix/"), "right/")
			if _, err := loadZone(name); err == nil {
				return name, nil
			}
		}
	} else if errors.Is(err, fs.ErrNotExist) {
		return "UTC", nil // without /etc/localtime, the C library also uses UTC
	}
	if text, err := os.ReadFile(filepath.Join(etc, "timezone")); err == nil {
		name := strings.TrimSpace(string(text))
		if _, err := loadZone(name); err == nil {
			return name, nil
		}
	}
	return "", &ZoneError{"local", "this machine's time zone has no name in /etc/localtime and /etc/timezone"}
}
