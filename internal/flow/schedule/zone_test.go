package schedule

import (
	"os"
	"path/filepath"
	"testing"
)

func TestTheZoneOfTheMachineHasTheNameThatTheMachineGivesIt(t *testing.T) {
	for name, c := range map[string]struct {
		tz, link, file string
		want           string
		wrong          bool
	}{
		"the variable":             {tz: "Asia/Tokyo", link: "/usr/share/zoneinfo/Europe/Berlin", want: "Asia/Tokyo"},
		"the variable as a path":   {tz: ":/usr/share/zoneinfo/Asia/Tokyo", want: "Asia/Tokyo"},
		"a rule instead of a name": {tz: "CET-1CEST,M3.5.0,M10.5.0/3", wrong: true},
		"the link":                 {link: "/usr/share/zoneinfo/Europe/Berlin", file: "Asia/Tokyo", want: "Europe/Berlin"},
		"a relative link":          {link: "../usr/share/zoneinfo/Etc/UTC", want: "Etc/UTC"},
		"a copy and a file":        {link: "copy", file: "Asia/Tokyo\n", want: "Asia/Tokyo"},
		"a copy without a file":    {link: "copy", wrong: true},
		"nothing":                  {want: "UTC"},
	} {
		etc := t.TempDir()
		switch c.link {
		case "":
		case "copy":
			write(t, filepath.Join(etc, "localtime"), "TZif2")
		default:
			if err := os.Symlink(c.link, filepath.Join(etc, "localtime")); err != nil {
				t.Fatal(err)
			}
		}
		if c.file != "" {
			write(t, filepath.Join(etc, "timezone"), c.file)
		}
		got, err := localZone(func(name string) string { return map[string]string{"TZ": c.tz}[name] }, etc)
		if (err != nil) != c.wrong || err == nil && got != c.want {
			t.Errorf("%s: %q, %v, want %q", name, got, err, c.want)
		}
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
