// Package worddiff finds the words in which an old and a new line differ.
package worddiff

import (
	"unicode"
	"unicode/utf8"
)

// Piece is a part of a line. Changed means that the piece has no counterpart in the other line.
type Piece struct {
	Text    string
	Changed bool
}

// maxCompared limits the time that a comparison takes. Lines are not compared if the number of
// words in the old line times the number of words in the new line is larger.
const maxCompared = 40_000

// Compare splits an old and a new line into pieces that both lines contain and pieces that have
// changed. If the lines have little in common or are very long, Compare returns each line as one
// piece that is not marked as changed.
func Compare(oldLine, newLine string) (olds, news []Piece) {
	a, b := wordsOf(oldLine), wordsOf(newLine)
	if len(a)*len(b) > maxCompared {
		return []Piece{{oldLine, false}}, []Piece{{newLine, false}}
	}
	// length[i][j] is the length of the longest common subsequence of a[i:] and b[j:].
	length := make([][]int, len(a)+1)
	for i := range length {
		length[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				length[i][j] = length[i+1][j+1] + 1
			} else {
				length[i][j] = max(length[i+1][j], length[i][j+1])
			}
		}
	}
	common := 0 // number of bytes in the words that both lines contain, without white space
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			olds, news = join(olds, a[i], false), join(news, b[j], false)
			if first, _ := utf8.DecodeRuneInString(a[i]); !unicode.IsSpace(first) {
				common += len(a[i])
			}
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && length[i+1][j] >= length[i][j+1]:
			olds = join(olds, a[i], true)
			i++
		default:
			news = join(news, b[j], true)
			j++
		}
	}
	if common*3 < min(len(oldLine), len(newLine)) {
		return []Piece{{oldLine, false}}, []Piece{{newLine, false}}
	}
	return olds, news
}

// join appends a word to the last piece of list if the field Changed of that piece equals the
// parameter changed. Otherwise it appends a new piece with the word.
func join(list []Piece, word string, changed bool) []Piece {
	if last := len(list) - 1; last >= 0 && list[last].Changed == changed {
		list[last].Text += word
		return list
	}
	return append(list, Piece{word, changed})
}

// wordsOf splits a line into words, sequences of white space, and single characters of other kinds,
// such as punctuation marks.
func wordsOf(line string) (list []string) {
	class := func(c rune) int {
		switch {
		case c == '_' || unicode.IsLetter(c) || unicode.IsDigit(c):
			return 1
		case unicode.IsSpace(c):
			return 2
		}
		return 0
	}
	start, before := 0, 0
	for at, c := range line {
		if now := class(c); at > start && (now != before || now == 0) {
			list, start = append(list, line[start:at]), at
		}
		before = class(c)
	}
	if start < len(line) {
		list = append(list, line[start:])
	}
	return list
}
