package spec_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gaffer/internal/flow/spec"
)

func TestSectionsAreSimilarByWordsThatFewHave(t *testing.T) {
	s := spec.Parse([]byte("## Contents\n\ncat feeds dog walks\n\n## A\n\nThe cat feeds on fish.\n\n## B\n\nFeeding the cat with fish.\n\n## C\n\nA dog walks.\n\n## D\n\n"))
	if diff := cmp.Diff([]spec.Pair{{From: "a", To: "b", Similarity: 1}}, s.Similar(0.25)); diff != "" {
		t.Error(diff)
	}
	if got := (spec.Spec{}).Similar(0.25); len(got) != 0 {
		t.Errorf("%v", got)
	}
}

func TestTheSynopsisOfASpecIsTheShortOneInItsFrontMatter(t *testing.T) {
	for front, want := range map[string]string{
		"synopsis:\n  short: \"One: a # b\" # c\n":                   "One: a # b",
		"synopsis:\n  long: x\n  short: 'One'\n":                     "One",
		"synopsis:\n  short: plain words # c\n":                      "plain words",
		"other:\n  short: \"One\"\n":                                 "",
		"short: \"One\"\n":                                           "",
		"synopsis:\n  short: >\n    folded\n":                        "",
		"synopsis:\n  short: \"no end\n":                             "",
		"synopsis: \"One\"\n":                                        "",
		"synopsis:\n  short: \"" + strings.Repeat("x", 300) + "\"\n": "",
	} {
		for _, text := range []string{"---\nstatus: draft\n" + front + "---\n# P\n", "# P\n\n```yaml\n---\nstatus: draft\n" + front + "---\n```\n"} {
			if s := spec.Parse([]byte(text)); s.Synopsis != want || s.Status != "draft" {
				t.Errorf("%q: %q, status %q", text, s.Synopsis, s.Status)
			}
		}
	}
}

func TestScenariosAreReadWithTheirFeatureAndSections(t *testing.T) {
	got := spec.ParseScenarios([]byte("# Scenarios\r\n\n```\n#### Scenario: of an example\n```\n\n# Core\n\n## Feature: Login\n\n> I log in.\n\nCategory: Access | Depends on: Setup\n\n" +
		"### Critical\n\n#### Scenario: A person comes back\n\n> **Given** a person\n> who was here\n> **When** they come\n> **Then** they are in\n\n" +
		"**Satisfied when:** it is quick\n\nValidates: `#login` (2.1), #start\n\n## Feature: Logout\n\n#### Scenario: Bye\n\n# Build\n\n#### Scenario: Alone\n"))
	critical := "Critical"
	want := []spec.Scenario{
		{
			Title: "A person comes back", Feature: &spec.Feature{Name: "Login", Description: "I log in.", Category: "Access", DependsOn: "Setup"}, Tier: &critical,
			Given: "a person who was here", When: "they come", Then: "they are in", SatisfiedWhen: "it is quick",
			Validates: []spec.Validated{{Alias: "login", Number: "2.1"}, {Alias: "start"}},
		},
		{Title: "Bye", Feature: &spec.Feature{Name: "Logout", Category: "Core"}, Validates: []spec.Validated{}},
		{Title: "Alone", Validates: []spec.Validated{}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestSecurityHostileFilesGiveListsOfBoundedLength(t *testing.T) {
	long := strings.Repeat("é", 10_000)
	many := spec.ParseScenarios([]byte("## Feature: " + long + "\n> " + long + "\n" + strings.Repeat("#### Scenario: x\nValidates: "+strings.Repeat("`#a` ", 100)+"\n", 3000)))
	if len(many) != 2000 || len(many[0].Validates) != 50 || len([]rune(many[0].Feature.Name)) != 500 || len([]rune(many[0].Feature.Description)) != 500 {
		t.Errorf("%d scenarios, %+.100v", len(many), many[0])
	}
	var text strings.Builder
	for i := range 600 {
		fmt.Fprintf(&text, "## S {#s%d}\n\nsame word%d", i, i%300)
		for j := range 50 {
			fmt.Fprintf(&text, " `#s%d`", (i+j)%600)
		}
		text.WriteString("\n\n")
	}
	s := spec.Parse([]byte(text.String()))
	if refs, pairs := len(s.References()), len(s.Similar(0.0001)); refs != 10_000 || pairs != 1000 {
		t.Errorf("%d references, %d pairs", refs, pairs)
	}
}
