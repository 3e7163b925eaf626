package plan

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// TestTheReferenceHasEveryKeyOfAPlan compares docs/reference/plan.md with the schema of a plan. With
// -update, it writes the page.
func TestTheReferenceHasEveryKeyOfAPlan(t *testing.T) {
	const file = "../../docs/reference/plan.md"
	root := objectSchema(planKeys())
	p := &planReference{t: t, names: map[string]string{}}
	p.b.WriteString("# Keys of a plan\n\nEvery key of gaffer's own plan format. This page is generated from the program; " +
		"[plans](../plans.md) explains plans and the other formats, and `gaffer schema plan` prints the same as a JSON Schema. " +
		"Keys that begin with `" + ignoredKeyPrefix + "` are ignored.\n")
	p.section("Plan", root)
	for i := 0; i < len(p.waiting); i++ {
		p.section(p.waiting[i].name, p.waiting[i].schema)
	}
	if *update {
		if err := os.WriteFile(file, []byte(p.b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	page, err := os.ReadFile(file)
	if err != nil || string(page) != p.b.String() {
		t.Errorf("docs/reference/plan.md differs from the keys of a plan (%v): go test ./internal/plan -run Reference -update", err)
	}
}

// planReference writes the page. Each mapping has a section; equal mappings share one.
type planReference struct {
	t       *testing.T
	b       strings.Builder
	names   map[string]string // title of the section of each mapping, by its JSON Schema
	waiting []property
}

func (p *planReference) section(title string, s schema) {
	fmt.Fprintf(&p.b, "\n## %s\n\n| key | type | what it is | example |\n| --- | --- | --- | --- |\n", title)
	for _, key := range s.Properties {
		doc := key.schema.Description
		if strings.TrimSpace(doc) == "" || strings.TrimSpace(key.schema.example) == "" {
			p.t.Errorf("the key %s of %s has no text or no example", key.name, title)
		}
		if slices.Contains(s.Required, key.name) {
			doc += "; required"
		}
		fmt.Fprintf(&p.b, "| `%s` | %s | %s | `%s` |\n", key.name, p.typeOf(key.name, key.schema), escapePipes(doc), escapePipes(oneLine(p.t, key.schema.example)))
	}
}

// typeOf describes the type of a value, with links to the sections of mappings.
func (p *planReference) typeOf(key string, s schema) string {
	switch {
	case len(s.Properties) > 0:
		return "[mapping](#" + p.sectionOf(key, s) + ")"
	case len(s.Enum) > 0:
		return strings.Join(s.Enum, ", ")
	case len(s.AnyOf) > 0:
		var all []string
		for _, one := range s.AnyOf {
			if name := p.typeOf(key, one); !slices.Contains(all, name) {
				all = append(all, name)
			}
		}
		return strings.Join(all, " or ")
	case s.Items != nil:
		return "list of " + p.typeOf(key, *s.Items)
	case s.Names != nil:
		if value, ok := s.Additional.(*schema); ok {
			return "mapping from names to " + p.typeOf(key, *value)
		}
	case s.Minimum != nil && s.Maximum != nil && *s.Minimum == *s.Maximum:
		return strconv.Itoa(*s.Minimum)
	case s.Minimum != nil && s.Maximum != nil:
		return fmt.Sprintf("number, %d to %d", *s.Minimum, *s.Maximum)
	}
	switch s.Type {
	case "integer", "number":
		return "number"
	case "boolean":
		return "true or false"
	}
	return "text"
}

// sectionOf returns the title of the section of a mapping, which is written later.
func (p *planReference) sectionOf(key string, s schema) string {
	s.Description = "" // it describes the key, not the mapping
	data, err := json.Marshal(s)
	if err != nil {
		p.t.Fatal(err)
	}
	if title, ok := p.names[string(data)]; ok {
		return title
	}
	for _, other := range p.waiting {
		if other.name == key {
			p.t.Errorf("two different mappings are called %s", key)
		}
	}
	p.names[string(data)] = key
	p.waiting = append(p.waiting, property{key, s})
	return key
}

// oneLine writes an example of several lines of YAML in one line for each key.
func oneLine(t *testing.T, example string) string {
	if !strings.Contains(example, "\n") {
		return example
	}
	var value yaml.MapSlice
	if err := yaml.UnmarshalWithOptions([]byte(example), &value, yaml.UseOrderedMap()); err != nil {
		t.Fatalf("%q: %v", example, err)
	}
	var pairs []string
	for _, pair := range value {
		if text, ok := pair.Value.(string); ok && strings.Contains(text, "\n") {
			pairs = append(pairs, fmt.Sprintf("%v: %q", pair.Key, text))
			continue
		}
		text, err := yaml.MarshalWithOptions(pair.Value, yaml.Flow(true))
		if err != nil {
			t.Fatal(err)
		}
		pairs = append(pairs, fmt.Sprintf("%v: %s", pair.Key, bytes.TrimSpace(text)))
	}
	return strings.Join(pairs, "` and `")
}

func escapePipes(text string) string { return strings.ReplaceAll(text, "|", `\|`) }
