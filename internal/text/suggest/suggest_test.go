package suggest

import "testing"

func TestNearestFindsTheMisspelledWord(t *testing.T) {
	keys := []string{"paths.session", "paths.workflow", "lock_timeout", "color"}
	for word, want := range map[string]string{
		"colour":        "color",
		"path.session":  "paths.session",
		"lock-timeout":  "lock_timeout",
		"lokc_timeout":  "lock_timeout",
		"PATHS.SESSION": "paths.session",
		"color":         "color",
		"banana":        "",
		"x":             "",
		"":              "",
	} {
		if got := Nearest(word, keys); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", word, got, want)
		}
	}
}

func TestDistanceCountsEdits(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0},
		{"", "abc", 3},
		{"abc", "", 3},
		{"abc", "acb", 1},
		{"kitten", "sitting", 3},
		{"same", "same", 0},
	} {
		if got := distance(c.a, c.b); got != c.want {
			t.Errorf("distance(%q, %q) = %d, want %d", c.a, c.b, got, c.want)
		}
	}
}
