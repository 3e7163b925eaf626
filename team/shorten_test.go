package team

import (
	"strings"
	"testing"
)

func TestATextInAMessageHasSixtyCharactersAtMost(t *testing.T) {
	for _, character := range []string{"a", "ä", "😀"} {
		if got, want := shorten(strings.Repeat(character, 61)), `"`+strings.Repeat(character, 60)+`…"`; got != want {
			t.Errorf("%s, want %s", got, want)
		}
		if got, want := shorten(strings.Repeat(character, 60)), `"`+strings.Repeat(character, 60)+`"`; got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
