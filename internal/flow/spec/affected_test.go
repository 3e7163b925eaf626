package spec_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gaffer/internal/flow/spec"
)

const shop = `# Shop
## 1. Vision
A shop that people like.
### 2.1 First Run / Onboarding {#first-run}
The first screen asks for a name. It takes a minute.
### 2.2 Core Flow {#core-flow}
People put things into a basket and pay.
### 2.3 Search {#search}
Results appear while typing. Filters narrow the results by price.
### 2.4 Errors {#error-handling}
A payment that fails says why.
### 3.5 Performance Expectations {#performance}
Pages appear at once. Search results appear within a moment.
### 3.6 Details {#details}
Things.
`

func TestAnIdeaFindsTheSectionsThatItTouches(t *testing.T) {
	s := spec.Parse([]byte(shop))
	for idea, want := range map[string][]string{
		"Make onboarding faster":                        {"#first-run"},
		"Filter the search results by colour":           {"#search", "#performance"},
		"#core-flow needs a wish list":                  {"#core-flow"},
		"error-handling: say it in plain words":         {"#error-handling"},
		"Like 2.2, but without the basket, see 2.4.":    {"#core-flow", "#error-handling"},
		"Rework section 1":                              {"#vision"},
		"Rework §1 (and 2.3)":                           {"#vision", "#search"},
		"Failing payments should be tried again":        {"#error-handling"},
		"Add a dark mode":                               nil,
		"the and of it":                                 nil,
		"":                                              nil,
		strings.Repeat("x", 100_000) + " " + "\x00\xff": nil,
	} {
		var got []string
		for _, m := range s.Affected(idea) {
			if m.Why == "" || m.Score < 1 {
				t.Errorf("%q: no reason for %+v", idea, m)
			}
			got = append(got, m.Section.Alias)
		}
		if len(idea) > 100 {
			idea = idea[:100]
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q: %s", idea, diff)
		}
	}
}

func TestAMatchSaysWhy(t *testing.T) {
	got := spec.Parse([]byte(shop)).Affected("2.3: filters for the searches")[0]
	if want := "it mentions 2.3; its title has searches; its text has filters"; got.Why != want {
		t.Errorf("got %q, want %q", got.Why, want)
	}
}

func TestAnIdeaThatTouchesEverythingNamesTheFiveClosest(t *testing.T) {
	s := spec.Parse([]byte(shop))
	first := s.Affected(shop)
	if len(first) != spec.MaxAffected {
		t.Errorf("%d sections", len(first))
	}
	for range 20 {
		if diff := cmp.Diff(first, s.Affected(shop)); diff != "" {
			t.Fatalf("not the same again: %s", diff)
		}
	}
}
