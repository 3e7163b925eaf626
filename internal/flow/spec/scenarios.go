package spec

import (
	"bytes"
	"strings"

	"gaffer/statefile/lazyregexp"
)

// ScenariosFile is the name of the file in the workflow folder that describes how to test the
// sections of the spec.
const ScenariosFile = "scenarios.md"

// Limits of the memory that a malicious file can use. They are low, because the JSON of every
// scenario repeats the texts of the feature to which the scenario belongs.
const (
	maxScenarios = 2000
	maxValidates = 50
	maxWords     = 500 // maximum length of a title or another text, in characters
)

// Scenario is one scenario of the file scenarios.md: it describes how to test some sections of the
// spec. Its JSON is sent to viewers, programs that show the spec.
type Scenario struct {
	Title         string      `json:"title"`
	Feature       *Feature    `json:"feature"` // feature that contains the scenario; null if there is none
	Tier          *string     `json:"tier"`    // importance such as Critical; null if the file states none
	Given         string      `json:"given"`
	When          string      `json:"when"`
	Then          string      `json:"then"`
	SatisfiedWhen string      `json:"satisfiedWhen"`
	Validates     []Validated `json:"validates"`
}

// Feature is a feature of the project, described by a heading in scenarios.md and the lines below
// it. The scenarios below this heading belong to the feature.
type Feature struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Category    string `json:"category"`
	DependsOn   string `json:"dependsOn"`
}

// Validated names a section of the spec that a scenario tests.
type Validated struct {
	Alias  string `json:"alias"`  // alias without #
	Number string `json:"number"` // number of the section; empty if the file states none
}

var (
	scenarioStep    = lazyregexp.New(`^>\s*\*\*(Given|When|Then):?\*\*:?\s*(.*)$`)
	scenarioEnd     = lazyregexp.New(`^>?\s*\*\*Satisfied when:?\*\*:?\s*(.*)$`)
	scenarioOf      = lazyregexp.New(`^>?\s*(?:\*\*)?Validates:(?:\*\*)?\s*(.*)$`)
	validated       = lazyregexp.New("`?#([\\pL\\pN_-]+)`?(?:\\s*\\(([\\d.]+)\\))?")
	featureCategory = lazyregexp.New(`^Category:\s*([^|]*?)\s*(?:\|\s*Depends on:\s*(.+?)\s*)?$`)
)

// ParseScenarios parses a file of scenarios. Headings of the first level are categories. Below them
// are headings for features, tiers and scenarios. Parsing cannot fail: lines of any other form are
// ignored.
func ParseScenarios(data []byte) []Scenario {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	var (
		all      []Scenario
		within   blocks
		category string
		feature  *Feature
		tier     *string
		one      *Scenario // the scenario that is being parsed; nil if the current line belongs to none
		// last points to the text of the last Given, When or Then. A quoted line without a keyword
		// of its own continues this text. last is nil if there is no text to continue.
		last *string
	)
	for line := range strings.Lines(strings.ToValidUTF8(string(data), "\ufffd")) {
		line = strings.TrimRight(line, "\r\n")
		if within.inside(line) {
			continue
		}
		if heading, ok := readHeading(line); ok {
			name, isFeature := strings.CutPrefix(heading.Title, "Feature:")
			title, isScenario := strings.CutPrefix(heading.Title, "Scenario:")
			one, last = nil, nil
			switch {
			case isScenario && len(all) == maxScenarios:
				return all
			case isScenario:
				all = append(all, Scenario{Title: short(title), Feature: feature, Tier: tier, Validates: []Validated{}})
				one = &all[len(all)-1]
			case isFeature:
				feature, tier = &Feature{Name: short(name), Category: category}, nil
			case heading.Level == 1:
				feature, tier, category = nil, nil, ""
				if !strings.HasPrefix(heading.Title, "Scenarios") {
					category = short(heading.Title)
				}
			case heading.Level == 2:
				feature, tier = nil, nil
			case heading.Level == 3 && heading.Number == "":
				named := short(heading.Title)
				tier = &named
			}
			continue
		}
		line = strings.TrimSpace(line)
		quote, quoted := strings.CutPrefix(line, ">")
		if one == nil {
			if m := featureCategory().FindStringSubmatch(line); m != nil && feature != nil {
				feature.Category, feature.DependsOn = short(m[1]), short(m[2])
			} else if quoted && feature != nil {
				feature.Description = short(feature.Description + " " + strings.TrimSpace(quote))
			}
			continue
		}
		if m := scenarioStep().FindStringSubmatch(line); m != nil {
			last = map[string]*string{"Given": &one.Given, "When": &one.When, "Then": &one.Then}[m[1]]
			*last = short(m[2])
		} else if m := scenarioEnd().FindStringSubmatch(line); m != nil {
			one.SatisfiedWhen, last = short(m[1]), nil
		} else if m := scenarioOf().FindStringSubmatch(line); m != nil {
			last = nil
			for _, v := range validated().FindAllStringSubmatch(m[1], maxValidates) {
				one.Validates = append(one.Validates, Validated{v[1], v[2]})
			}
			one.Validates = one.Validates[:min(len(one.Validates), maxValidates)]
		} else if quoted && last != nil {
			*last = short(*last + " " + strings.TrimSpace(quote))
		}
	}
	return all
}

// short trims a text and cuts it to at most maxWords characters.
func short(text string) string {
	text = strings.TrimSpace(text)
	if len(text) <= maxWords {
		return text
	}
	if runes := []rune(text); len(runes) > maxWords {
		return string(runes[:maxWords])
	}
	return text
}
