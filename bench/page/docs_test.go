package main

import (
	"path/filepath"
	"slices"
	"testing"
)

// TestThePagesAreWhatTheGeneratorMakesOfTheirFigures fails if a page or a plot was edited by hand,
// or if the generator was changed and the pages were not written again:
//
//	go run ./bench/page write -page benchmarks
func TestThePagesAreWhatTheGeneratorMakesOfTheirFigures(t *testing.T) {
	const docs = "../../docs"
	for _, p := range pages() {
		r, err := load(filepath.Join(docs, p.name+".json"))
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Sections) == 0 {
			t.Errorf("docs/%s.json has no figures", p.name)
		}
		text, plots := render(p, r)
		same(t, filepath.Join(docs, p.name+".md"), text)
		for name, plot := range plots {
			same(t, filepath.Join(docs, imageDir, name), plot)
		}
		found, err := filepath.Glob(filepath.Join(docs, imageDir, p.name+"-*.svg"))
		if err != nil {
			t.Fatal(err)
		}
		if len(found) != len(plots) {
			t.Errorf("docs/%s has %d plots of the page %s, want %d", imageDir, len(found), p.name, len(plots))
		}
	}
}

func TestEveryKnownFigureIsOnThePage(t *testing.T) {
	for _, p := range pages() {
		r, err := load("../../docs/" + p.name + ".json")
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range r.Sections {
			i := slices.Index(p.order(), m.Name)
			if i < 0 {
				t.Errorf("page %s has no section %s", p.name, m.Name)
				continue
			}
			for _, f := range m.Figures {
				if !slices.ContainsFunc(p.sections[i].measures, func(k measure) bool { return k.id == f.Measure }) {
					t.Errorf("section %s does not show the measure %s", m.Name, f.Measure)
					break
				}
			}
		}
	}
}
