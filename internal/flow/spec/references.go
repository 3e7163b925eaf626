package spec

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"gaffer/statefile/lazyregexp"
)

// Limits of the memory and time that a malicious spec can use.
const (
	maxReferences = 10_000
	maxMentions   = 1000 // maximum number of mentions in the text of one section
	maxCompared   = 500  // maximum number of sections that are compared with each other
	maxPairs      = 1000
)

// Reference says that the text of section From mentions section To. Both are aliases without #.
type Reference struct{ From, To string }

// mention matches {#alias}, `#alias`, (#alias), "#alias (2.2)" or "section 2.2".
var mention = lazyregexp.New("[{`(]#([\\pL\\pN_-]+)[}`)]|#([\\pL\\pN_-]+)[ \t]*\\(\\d|(?i:\\bsections?)[ \t]+(\\d{1,3}(?:\\.\\d{1,3})+)")

// References returns the references between the sections of a spec, each once, in the order of the
// file. It ignores the table of contents, and returns at most maxReferences references.
func (s Spec) References() []Reference {
	known := map[string]string{} // maps the alias and the number of each section to its alias
	for _, section := range s.Sections {
		for _, name := range []string{"#" + section.bare(), section.Number} {
			if _, twice := known[name]; !twice && name != "" {
				known[name] = section.bare()
			}
		}
	}
	var all []Reference
	seen := map[Reference]bool{}
	for _, section := range s.Sections {
		if section.isContents() {
			continue
		}
		for _, m := range mention().FindAllStringSubmatch(section.Text, maxMentions) {
			to := known["#"+m[1]+m[2]]
			if m[3] != "" {
				to = known[m[3]]
			}
			r := Reference{section.bare(), to}
			if to == "" || r.From == to || seen[r] {
				continue
			}
			if len(all) == maxReferences {
				return all
			}
			seen[r] = true
			all = append(all, r)
		}
	}
	return all
}

// Pair is a pair of sections, named by their aliases without #, and the similarity of their words.
// Similarity is at most 1, for identical words, and is rounded to hundredths.
type Pair struct {
	From       string  `json:"from"`
	To         string  `json:"to"`
	Similarity float64 `json:"similarity"`
}

// Similar compares the words of all sections. It returns the pairs whose similarity is at least
// minSimilarity, the most similar pair first. Rare words count more than common words; a word that
// occurs in every section does not count. Similar ignores the sections after the first maxCompared,
// and returns at most maxPairs pairs.
func (s Spec) Similar(minSimilarity float64) []Pair {
	type use struct {
		section int
		share   float64 // fraction of the section's words that are this word
	}
	var names []string
	uses := map[string][]use{} // maps each word to its uses, one per section with the word
	seen := map[string]bool{}
	for _, section := range s.Sections {
		if seen[section.Alias] || section.isContents() || len(names) == maxCompared {
			continue
		}
		seen[section.Alias] = true
		counts, total := map[string]int{}, 0
		eachWord(section.Text, func(stem, _ string) { counts[stem]++; total++ })
		for word, n := range counts {
			uses[word] = append(uses[word], use{len(names), float64(n) / float64(total)})
		}
		names = append(names, section.bare())
	}
	n := len(names)
	// For i < j, common[i*n+j] is the dot product of the word vectors of the sections i and j.
	// common[i*n+i] is the squared norm of the word vector of section i.
	common := make([]float64, n*n)
	for _, word := range slices.Sorted(maps.Keys(uses)) {
		weight := math.Log(float64(n) / float64(len(uses[word])))
		for i, a := range uses[word] {
			for _, b := range uses[word][i:] {
				common[a.section*n+b.section] += weight * weight * a.share * b.share
			}
		}
	}
	var pairs []Pair
	for i := range n {
		for j := i + 1; j < n; j++ {
			both := math.Sqrt(common[i*n+i] * common[j*n+j])
			if alike := common[i*n+j] / both; both > 0 && alike >= minSimilarity {
				pairs = append(pairs, Pair{names[i], names[j], math.Round(alike*100) / 100})
			}
		}
	}
	slices.SortStableFunc(pairs, func(a, b Pair) int { return cmp.Compare(b.Similarity, a.Similarity) })
	return pairs[:min(len(pairs), maxPairs)]
}
