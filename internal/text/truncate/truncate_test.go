package truncate

import (
	"testing"
	"unicode/utf8"
)

func TestAShortenedTextKeepsItsLimitAndItsCharacters(t *testing.T) {
	for _, text := range []string{"", "a", "hello world", "日本語日本語", "a日b本c語", "🙂🙂🙂🙂"} {
		for most := 1; most < 25; most++ {
			if got := Chars(text, most); utf8.RuneCountInString(got) > most || !utf8.ValidString(got) {
				t.Errorf("Chars(%q, %d) = %q", text, most, got)
			}
			if got := Bytes(text, most+2); len(got) > most+2 || !utf8.ValidString(got) {
				t.Errorf("Bytes(%q, %d) = %q", text, most+2, got)
			}
			if head, tail := Head(text, most), Tail(text, most); len(head) > most || len(tail) > most || !utf8.ValidString(head+tail) {
				t.Errorf("Head and Tail of %q, %d: %q, %q", text, most, head, tail)
			}
		}
	}
}

func TestOnlyATextThatIsTooLongIsShortened(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{Chars("日本語", 3), "日本語"},
		{Chars("日本語日", 3), "日本…"},
		{Chars("hello", 1), "…"},
		{Bytes("日本語", 9), "日本語"},
		{Bytes("日本語", 8), "日…"},
		{Head("日本語", 8), "日本"},
		{Tail("日本語", 8), "本語"},
		{Tail("日本語", 9), "日本語"},
		{Head("hello", 0), ""},
		{Tail("hello", 0), ""},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}
