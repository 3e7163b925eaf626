package viewers

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"gaffer/internal/flow/spec"
	"gaffer/statefile/jsontree"
)

// Scenarios are the scenarios of a project, in the order of the scenarios file. A scenario
// describes in the form "given, when, then" what the finished program does.
type Scenarios struct {
	Scenarios []spec.Scenario `json:"scenarios"`
}

// Scenarios returns the scenarios of a project.
func (v *specReader) Scenarios(ctx context.Context, ref string) (Scenarios, error) {
	list := Scenarios{[]spec.Scenario{}}
	l, err := v.projects.find(ctx, ref)
	if err != nil {
		return list, err
	}
	data, _, err := v.document(l, spec.ScenariosFile)
	return Scenarios{append(list.Scenarios, spec.ParseScenarios(data)...)}, err
}

// StoryMap contains the numbered sections of a spec and the links between them.
type StoryMap struct {
	Sections []MapSection `json:"sections"`
	Edges    []MapEdge    `json:"edges"`
}

// MapSection is one section of a story map.
type MapSection struct {
	Number     string `json:"number"`
	Heading    string `json:"heading"`
	Alias      string `json:"alias"` // without the leading #
	Readiness  string `json:"readiness"`
	Level      int    `json:"level"`
	TopSection string `json:"topSection"` // the first part of Number, such as "2" of "2.1"
}

// MapEdge links two sections, given by their aliases. Its type is cross-ref if one section mentions
// the other, and scenario-overlap if both are listed as validated by the same scenario.
type MapEdge struct {
	From string `json:"from"`
	To   string `json:"to"`
	Type string `json:"type"`
}

// maxOverlaps is the maximum number of edges of type scenario-overlap in a story map.
const maxOverlaps = 10_000

// StoryMap returns the numbered sections of a project's spec and the links between them.
func (v *specReader) StoryMap(ctx context.Context, ref string) (StoryMap, error) {
	list := StoryMap{[]MapSection{}, []MapEdge{}}
	text, words, err := v.specWithReadiness(ctx, ref)
	if err != nil {
		return list, err
	}
	scenarios, err := v.Scenarios(ctx, ref)
	if err != nil {
		return list, err
	}
	shown := map[string]bool{}
	for _, s := range text.Sections {
		if s.Number == "" {
			continue
		}
		top, _, _ := strings.Cut(s.Number, ".")
		list.Sections = append(list.Sections, MapSection{s.Number, s.Title, s.Alias[1:], words(s), s.Level, top})
		shown[s.Alias[1:]] = true
	}
	for _, r := range text.References() {
		if shown[r.From] && shown[r.To] {
			list.Edges = append(list.Edges, MapEdge{r.From, r.To, "cross-ref"})
		}
	}
	overlaps := map[MapEdge]bool{}
	for _, s := range scenarios.Scenarios {
		for i, a := range s.Validates {
			for _, b := range s.Validates[i+1:] {
				e := MapEdge{a.Alias, b.Alias, "scenario-overlap"}
				back := MapEdge{b.Alias, a.Alias, e.Type}
				if e == back || !shown[e.From] || !shown[e.To] || overlaps[e] || overlaps[back] || len(overlaps) == maxOverlaps {
					continue
				}
				overlaps[e] = true
				list.Edges = append(list.Edges, e)
			}
		}
	}
	return list, nil
}

// Similarity lists the pairs of sections of a spec that use similar words.
type Similarity struct {
	Pairs []spec.Pair `json:"pairs"`
}

// Similarity returns the pairs of sections of a project's spec that use similar words. The
// parameter least is the minimum similarity of a pair, a number from 0 to 1.
func (v *specReader) Similarity(ctx context.Context, ref string, least float64) (Similarity, error) {
	list := Similarity{[]spec.Pair{}}
	l, err := v.projects.find(ctx, ref)
	if err != nil {
		return list, err
	}
	text, err := v.spec(l)
	return Similarity{append(list.Pairs, text.Similar(least)...)}, err
}

// Diagrams contains the diagrams of a spec. The first key is the alias of the section that a
// diagram shows, the second is the type of the diagram.
type Diagrams struct {
	Diagrams map[string]map[string]Diagram `json:"diagrams"`
}

// Diagram is one diagram in Mermaid syntax.
type Diagram struct {
	Type   string `json:"type"`
	Source string `json:"source"`
}

// Diagrams returns a diagram for each section of a project's spec that mentions other sections or
// is mentioned by others. The diagram shows the section together with these other sections.
func (v *specReader) Diagrams(ctx context.Context, ref string) (Diagrams, error) {
	all := Diagrams{map[string]map[string]Diagram{}}
	l, err := v.projects.find(ctx, ref)
	if err != nil {
		return all, err
	}
	text, err := v.spec(l)
	if err != nil {
		return all, err
	}
	const kind = "dependencies"
	names, drawn := map[string]int{}, map[string]*strings.Builder{}
	// node returns the Mermaid source of the node for a section. It replaces or removes double
	// quotes and angle brackets, which have a meaning in Mermaid.
	node := func(alias string) string {
		if _, ok := names[alias]; !ok {
			names[alias] = len(names)
		}
		return fmt.Sprintf("s%d[\"#%s\"]", names[alias], strings.NewReplacer(`"`, "'", "<", "", ">", "").Replace(alias))
	}
	for _, r := range text.References() {
		for _, alias := range []string{r.From, r.To} {
			if drawn[alias] == nil {
				drawn[alias] = &strings.Builder{}
				fmt.Fprintf(drawn[alias], "graph LR\n  %s:::center\n", node(alias))
			}
			fmt.Fprintf(drawn[alias], "  %s --> %s\n", node(r.From), node(r.To))
		}
	}
	for alias, source := range drawn {
		all.Diagrams[alias] = map[string]Diagram{kind: {kind, source.String()}}
	}
	return all, nil
}

// Priority contains the JSON object priority from a project's config file.
type Priority struct {
	Priority json.RawMessage `json:"priority"`
}

// Priority returns the value of the member "priority" of a project's config file, unchanged, or an
// empty object if there is none. If ref is empty, the request is about the priority that the user has set for
// all projects. The result is then empty: that priority is stored in the user's home folder, which
// gaffer does not read.
func (v *specReader) Priority(ctx context.Context, ref string) (Priority, error) {
	none := Priority{json.RawMessage("{}")}
	if ref == "" {
		return none, nil
	}
	l, err := v.projects.find(ctx, ref)
	if err != nil {
		return none, err
	}
	data, found, err := v.document(l, spec.ConfigFile)
	if err != nil || !found {
		return none, err
	}
	doc, err := jsontree.Parse(data)
	if err != nil {
		return none, refuse(conflict, "invalid_document", "%s of project %s: %s", spec.ConfigFile, l.name, err.Error())
	}
	if stated := doc.Value().Get("priority"); stated.Kind() == jsontree.Object {
		return Priority{raw(stated)}, nil
	}
	return none, nil
}
