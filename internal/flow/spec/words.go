package spec

import (
	"strings"
	"unicode"
)

// stopWords holds words that say nothing about the topic of a text.
var stopWords = wordSet(`a about add all also an and any are as at be been but by can could do does each every for from get
had has have how i if in into is it its just like make may me more most my new no not of on one only or our out should
so some such than that the their them then there these they this to too up us use used user users using very want was
we were what when where which while who why will with would you your`)

func wordSet(words string) map[string]bool {
	set := map[string]bool{}
	for word := range strings.FieldsSeq(words) {
		set[word] = true
	}
	return set
}

// eachWord calls yield for each significant word of a text, with its stem. Words of less than 3 or
// more than 40 bytes, and stop words, are not significant. "flow", "flows" and "Flowing" have the
// same stem.
func eachWord(text string, yield func(stem, word string)) {
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		if len(word) < 3 || len(word) > 40 {
			continue
		}
		if word = strings.ToLower(word); !stopWords[word] {
			yield(stem(word), word)
		}
	}
}

// stem returns a word without its suffix and without a final e: "flow" for "flows", "stor" for
// "store" and "stored". A suffix stays if fewer than four bytes would remain.
func stem(word string) string {
	for _, end := range []string{"ing", "ers", "er", "est", "ed", "es", "s"} {
		if bare, ok := strings.CutSuffix(word, end); ok && len(bare) >= 4 {
			return strings.TrimSuffix(bare, "e")
		}
	}
	return strings.TrimSuffix(word, "e")
}
