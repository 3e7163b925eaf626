package fleet

import "testing"

func TestATypedNumberChoosesAnOptionOrIsRefused(t *testing.T) {
	for _, c := range []struct {
		typed   string
		options []string
		want    string
		refused bool
	}{
		{"2", []string{"80", "8080"}, "8080", false},
		{"7", []string{"80", "8080"}, "", true},
		{"0", []string{"80", "8080"}, "", true},
		{"-1", []string{"80", "8080"}, "", true},
		{"80", []string{"80", "8080"}, "80", false}, // an option's own text
		{"neither", []string{"80", "8080"}, "neither", false},
		{"7", nil, "7", false},
	} {
		got, err := Question{Options: c.options}.Choose(c.typed)
		if got != c.want || (err != nil) != c.refused {
			t.Errorf("%q of %q is %q, %v; want %q", c.typed, c.options, got, err, c.want)
		}
	}
}
