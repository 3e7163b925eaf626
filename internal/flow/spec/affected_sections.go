package spec

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"
	"strings"
)

// MaxAffected is the maximum number of sections that [Spec.Affected] returns.
const MaxAffected = 5

// Match is a section of the spec that an idea affects. An idea is a user's text about a change to
// the project.
type Match struct {
	Section Section
	Score   int    // higher is a closer match
	Why     string // explanation of the match for the user
}

// The scores that a section of the spec gets for an idea. mentionScore is added if the idea
// mentions the section. titleScore is added for each significant word of the idea that occurs in
// the section's title or alias, and textScore for each one that occurs only in its text. Both are
// multiplied by a factor, which is higher for rare words. leastScore is the minimum total score of
// a match.
const (
	mentionScore = 1000
	titleScore   = 3
	textScore    = 1
	leastScore   = 3
)

// Affected returns the sections that an idea affects: sections that the idea mentions by alias or
// number, and sections that share significant words with the idea. The closest match comes first.
// The result depends only on the idea and the spec.
func (s Spec) Affected(idea string) []Match {
	wanted := wordsOf(idea)
	mentioned := mentions(idea)
	sightings := s.look(wanted)
	spread := map[string]int{}
	for _, seen := range sightings {
		for word := range seen.all() {
			spread[word]++
		}
	}
	var found []Match
	for i, seen := range sightings {
		if s.Sections[i].isContents() {
			continue
		}
		m := Match{Section: s.Sections[i]}
		m.count(mentioned, seen, func(word string) int { return bits.Len(uint(len(s.Sections) / spread[word])) })
		if m.Score >= leastScore {
			found = append(found, m)
		}
	}
	slices.SortStableFunc(found, func(a, b Match) int { return cmp.Compare(b.Score, a.Score) })
	return found[:min(len(found), MaxAffected)]
}

// wordsOf returns the significant words of an idea as a map from stems to words. Of several words
// with the same stem, it returns the first.
func wordsOf(idea string) map[string]string {
	words := map[string]string{}
	eachWord(idea, func(stem, word string) {
		if words[stem] == "" {
			words[stem] = word
		}
	})
	return words
}

// wordHits holds the significant words of an idea that occur in a section's title or text.
type wordHits struct{ title, text map[string]bool }

func (s wordHits) all() map[string]bool {
	words := map[string]bool{}
	for _, part := range []map[string]bool{s.title, s.text} {
		for word := range part {
			words[word] = true
		}
	}
	return words
}

func (s Spec) look(wanted map[string]string) []wordHits {
	seen := make([]wordHits, len(s.Sections))
	for i, section := range s.Sections {
		seen[i] = wordHits{map[string]bool{}, map[string]bool{}}
		eachWord(section.Title+" "+section.bare(), func(stem, _ string) {
			if word, ok := wanted[stem]; ok {
				seen[i].title[word] = true
			}
		})
		eachWord(section.Text, func(stem, _ string) {
			if word, ok := wanted[stem]; ok && !seen[i].title[word] {
				seen[i].text[word] = true
			}
		})
	}
	return seen
}

// count sets the score and the explanation of a match. The parameter mentioned has the aliases and
// numbers that the idea mentions (see the function mentions), and seen has the words of the idea
// that occur in the section. The function rarity returns the factor for the rarity of a word.
func (m *Match) count(mentioned map[string]bool, seen wordHits, rarity func(string) int) {
	var why []string
	for _, name := range []string{m.Section.Alias, m.Section.bare(), m.Section.Number} {
		if mentioned[strings.ToLower(name)] {
			m.Score += mentionScore
			why = append(why, "it mentions "+name)
			break
		}
	}
	for _, part := range []struct {
		words map[string]bool
		score int
		where string
	}{{seen.title, titleScore, "title"}, {seen.text, textScore, "text"}} {
		for word := range part.words {
			m.Score += part.score * rarity(word)
		}
		if len(part.words) > 0 {
			why = append(why, fmt.Sprintf("its %s has %s", part.where, quote(part.words)))
		}
	}
	m.Why = strings.Join(why, "; ")
}

func quote(words map[string]bool) string {
	const most = 8
	var all []string
	for word := range words {
		all = append(all, word)
	}
	slices.Sort(all)
	if len(all) > most {
		all = append(all[:most], "…")
	}
	return strings.Join(all, ", ")
}

// mentions returns the words in an idea that could be the alias or number of a section: #viewer,
// core-flow, 2.2, and the 2 in "section 2".
func mentions(idea string) map[string]bool {
	found := map[string]bool{}
	before := ""
	for word := range strings.FieldsFuncSeq(idea, betweenPaths) {
		if len(word) > 200 {
			continue
		}
		bare := strings.ToLower(strings.Trim(word, ".:!?*_"))
		number, marked := strings.CutPrefix(bare, "§")
		switch {
		case strings.HasPrefix(bare, "#"), strings.Contains(bare, "-"), strings.Contains(bare, "."):
			found[bare] = true
		case marked, before == "section", before == "sections", before == "§":
			found[number] = true
		}
		before = bare
	}
	delete(found, "") // remove "", so that sections without an alias or number do not match
	return found
}
