package cells

import "testing"

func TestWidthCountsColumnsAndNotBytes(t *testing.T) {
	for text, want := range map[string]int{
		"":           0,
		"abc":        3,
		"élan":       4,
		"e\u0301":    1,
		"日本":         4,
		"⠋ …":        3,
		"🙂":          2,
		"a\u200bb":   2,
		"\ufffd[31m": 5,
	} {
		if got := Width(text); got != want {
			t.Errorf("Width(%q) = %d, want %d", text, got, want)
		}
	}
}

func TestTruncateNeverExceedsItsColumns(t *testing.T) {
	for _, c := range []struct {
		text    string
		columns int
		want    string
	}{
		{"hello", 5, "hello"},
		{"hello", 4, "hel…"},
		{"hello", 1, "…"},
		{"hello", 0, ""},
		{"hello", -3, ""},
		{"日本語", 6, "日本語"},
		{"日本語", 5, "日本…"},
		{"日本語", 4, "日…"},
		{"日本語", 2, "…"},
	} {
		if got := Truncate(c.text, c.columns); got != c.want {
			t.Errorf("Truncate(%q, %d) = %q, want %q", c.text, c.columns, got, c.want)
		}
	}
}

func TestFillIsExactlyAsWideAsItsColumn(t *testing.T) {
	for _, text := range []string{"", "a", "hello world", "日本語", "e\u0301"} {
		for columns := range 12 {
			if got := Width(Fill(text, columns)); got != columns {
				t.Errorf("Fill(%q, %d) is %d wide", text, columns, got)
			}
			if got := Width(FillLeft(text, columns)); got != columns {
				t.Errorf("FillLeft(%q, %d) is %d wide", text, columns, got)
			}
		}
	}
}

func TestEndKeepsTheEndOfATextThatIsTooWide(t *testing.T) {
	for _, c := range []struct {
		text    string
		columns int
		want    string
	}{
		{"hello", 5, "hello"},
		{"hello", 2, "lo"},
		{"hello", 0, ""},
		{"hello", -1, ""},
		{"日本語", 4, "本語"},
		{"日本語", 3, "語"},
	} {
		if got := End(c.text, c.columns); got != c.want {
			t.Errorf("End(%q, %d) = %q, want %q", c.text, c.columns, got, c.want)
		}
	}
}
