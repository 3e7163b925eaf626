// Package suggest finds the word that a user most likely meant by a misspelt word.
package suggest

import "strings"

// Nearest returns the candidate closest to word, ignoring case. It returns "" if no candidate is
// close enough. If several candidates are equally close, it returns the first.
func Nearest(word string, candidates []string) string {
	best, limit := "", limitFor(word)
	for _, c := range candidates {
		if d := distance(strings.ToLower(word), strings.ToLower(c)); d < limit {
			best, limit = c, d
		}
	}
	return best
}

// limitFor returns the smallest edit distance at which a candidate is too different from word. Up
// to a third of the letters of word may be wrong, and in short words up to two letters.
func limitFor(word string) int { return max(len(word)/3, 2) + 1 }

// distance returns the edit distance of a and b: the number of insertions, deletions, substitutions
// and swaps of neighbouring letters that turn a into b.
func distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(last[j]+cost, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
