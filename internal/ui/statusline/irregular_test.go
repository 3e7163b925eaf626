package statusline

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// idle is the second row if the state contains no information.
const idle = "→ /fctry:evolve to refine, or /fctry:execute to build"

// irregular maps states that real programs leave behind to the expected second row.
var irregular = map[string]string{
	"01-nothing.json":                         idle,
	"02-space.json":                           idle,
	"03-null.json":                            idle,
	"04-array.json":                           idle,
	"05-object.json":                          idle,
	"06-array-with-content.json":              idle,
	"07-string.json":                          idle,
	"08-number.json":                          idle,
	"09-half-written.json":                    idle,
	"10-half-a-character.json":                idle,
	"11-two-documents.json":                   idle,
	"12-conflict-markers.json":                idle,
	"13-comments-and-commas.json":             idle,
	"14-nan.json":                             idle,
	"15-byte-order-mark.json":                 "evolve",
	"16-utf-16.json":                          idle,
	"17-binary.json":                          idle,
	"18-zeros.json":                           idle,
	"19-not-utf-8.json":                       "#caf� │ → go �� on",
	"20-deep-arrays.json":                     idle,
	"21-deep-within-limits.json":              "→ go on",
	"22-deep-and-open.json":                   idle,
	"23-long-text.json":                       "#" + strings.Repeat("x", 298) + "… │ → " + strings.Repeat("go on and on ", 23) + "…",
	"24-many-chunks.json":                     "▸ 899/1200 │ " + idle,
	"25-escapes.json":                         "evolve�[2J │ #a�b │ → �]0;title� clear second line third",
	"26-lines-and-tabs.json":                  "evolve review │ → one two three",
	"27-surrogates.json":                      "� │ → lone � here",
	"28-name-twice.json":                      "evolve │ ✓ 1/8",
	"29-unknown-fields.json":                  "execute │ → water",
	"30-everything-null.json":                 idle,
	"31-every-type-wrong.json":                "5 (2.2) │ " + idle,
	"32-booleans.json":                        idle,
	"33-empty-text.json":                      idle,
	"34-numbers-as-text.json":                 "▸ 2/4 │ ✓ 5/8 │ ◆ 28/35 │ → /fctry:execute to satisfy remaining scenarios",
	"35-counts-as-text.json":                  "▸ 2/4 │ ✓ 5/8 │ ◆ 28/40 │ → /fctry:execute to build spec-ahead sections",
	"36-fractions.json":                       "▸ 1/4 │ ◆ 0/2 │ → /fctry:evolve to flesh out draft sections",
	"37-huge-numbers.json":                    idle,
	"38-negative-numbers.json":                "◆ 0/3 │ → /fctry:evolve to flesh out draft sections",
	"39-more-than-all.json":                   "▸ 5/4 │ ✓ 9/8 │ → All scenarios satisfied! /fctry:review to confirm",
	"40-zero-of-zero.json":                    idle,
	"41-half-of-a-pair.json":                  "2.2 │ " + idle,
	"42-readiness-forms.json":                 "◆ 31/38 │ → /fctry:execute to build spec-ahead sections",
	"43-readiness-objects-without-count.json": "◆ 2/2 │ " + idle,
	"44-readiness-with-remarks.json":          "◆ 4/6 │ → /fctry:evolve to flesh out draft sections",
	"45-readiness-as-list.json":               idle,
	"46-section-readiness.json":               "◆ 1/2 │ → /fctry:execute to build spec-ahead sections",
	"47-chunk-ids-as-text.json":               "▸ 1+1/3 │ " + idle,
	"48-chunk-ids-missing.json":               "▸ 1+1(r2)/3 │ " + idle,
	"49-chunk-ids-odd.json":                   "▸ 1+1/5 1✗ │ " + idle,
	"50-chunks-under-plan.json":               "▸ 1+1(r3)/4 │ " + idle,
	"51-chunks-as-map.json":                   "▸ 2/2 │ " + idle,
	"52-chunks-of-other-types.json":           "▸ 1+1/7 │ " + idle,
	"53-deps-and-blocked-by.json":             "▸ 1/4 1✗ │ " + idle,
	"54-dependencies-in-a-circle.json":        "▸ 0/4 1✗ │ " + idle,
	"55-chunk-statuses-unknown.json":          "▸ 1/7 │ " + idle,
	"56-run-paused.json":                      "▸ 1/2 │ " + idle,
	"57-run-awaiting-user.json":               "▸ 1+1/2 │ → Answer the question",
	"58-run-partial.json":                     "▸ 2/3 1✗ │ " + idle,
	"59-run-completed-and-kept.json":          idle,
	"60-run-without-anything.json":            idle,
	"61-run-progress-as-text.json":            "▸ 2/4 │ " + idle,
	"62-run-plan-odd.json":                    "▸ 1/7 │ " + idle,
	"63-run-times-odd.json":                   "▸ 1+1/2 │ " + idle,
	"64-feed-and-changes-odd.json":            "△ 3 │ → /fctry:evolve to update spec with recent changes",
}

func TestAnIrregularStateIsShownAsFarAsItCanBeRead(t *testing.T) {
	files, err := filepath.Glob("../../../workflow/testdata/irregular/*.json")
	if err != nil || len(files) != len(irregular) {
		t.Fatalf("%d files, want the %d of the table: %v", len(files), len(irregular), err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		want, ok := irregular[filepath.Base(file)]
		if got := second(string(data)); !ok || got != want {
			t.Errorf("%s: %q, want %q", filepath.Base(file), got, want)
		}
		check(t, Read(Documents{Project: "p", State: data, Config: data, Spec: data, Head: data, Agent: data}))
	}
}
