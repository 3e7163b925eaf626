package plan

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// schema is a JSON Schema. The order of its fields is the order in the JSON.
type schema struct {
	Schema      string     `json:"$schema,omitempty"`
	Title       string     `json:"title,omitempty"`
	Description string     `json:"description,omitempty"`
	Type        any        `json:"type,omitempty"`
	Enum        []string   `json:"enum,omitempty"`
	Pattern     string     `json:"pattern,omitempty"`
	MinLength   int        `json:"minLength,omitempty"`
	Minimum     *int       `json:"minimum,omitempty"`
	Maximum     *int       `json:"maximum,omitempty"`
	Items       *schema    `json:"items,omitempty"`
	MinItems    int        `json:"minItems,omitempty"`
	Required    []string   `json:"required,omitempty"`
	Properties  properties `json:"properties,omitempty"`
	Patterns    properties `json:"patternProperties,omitempty"`
	Names       *schema    `json:"propertyNames,omitempty"`
	Additional  any        `json:"additionalProperties,omitempty"`
	AnyOf       []schema   `json:"anyOf,omitempty"`
	AllOf       []schema   `json:"allOf,omitempty"`
	Not         *schema    `json:"not,omitempty"`

	example string // example of the key in YAML, for docs/reference/plan.md
}

type property struct {
	name   string
	schema schema
}

type properties []property

func (p properties) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	for i, prop := range p {
		text, err := json.Marshal(prop.schema)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, "%c%q:%s", "{,"[min(i, 1)], prop.name, text)
	}
	return append(b.Bytes(), '}'), nil
}

// objectSchema returns the schema of a mapping. Two kinds of keys are valid in the mapping: the
// given keys, and keys that begin with ignoredKeyPrefix.
func objectSchema[T any](keys []keySpec[T]) schema {
	s := schema{Type: "object", Patterns: properties{{"^" + ignoredKeyPrefix, schema{}}}, Additional: false}
	for _, f := range keys {
		described := f.schema
		described.Description, described.example = f.doc, f.example
		s.Properties = append(s.Properties, property{f.name, described})
		if f.required {
			s.Required = append(s.Required, f.name)
		}
	}
	return s
}

// Schema returns the JSON Schema (draft 2020-12) of gaffer's own plan format. The schema does not
// check that ids are unique, that references are valid, or that there are no cycles.
func Schema() []byte {
	s := objectSchema(planKeys())
	s.Required, s.AnyOf = nil, []schema{{Required: []string{"tasks"}}, {Required: []string{"source"}}}
	s.Schema, s.Title = "https://json-schema.org/draft/2020-12/schema", "gaffer plan"
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(s); err != nil {
		panic("plan: the schema is no JSON: " + err.Error())
	}
	return b.Bytes()
}

// exclusiveKeys returns schemas that each task must match. They say which keys of a task require or
// exclude each other.
func exclusiveKeys() []schema {
	has := func(names ...string) schema { return schema{Required: names} }
	never := func(s schema) schema { return schema{Not: &s} }
	return []schema{
		{AnyOf: []schema{has("prompt"), has("prompt_file"), has("command"), has("shell")}},
		never(has("prompt", "prompt_file")),
		never(has("command", "shell")),
	}
}
