package team

// Schemas returns the JSON Schema of each document. The key is the document's name, such as pm_state.
func Schemas() map[string][]byte {
	schemas := map[string][]byte{}
	for _, d := range Documents() {
		s := rules(d).schema()
		s.Schema, s.Title = "http://json-schema.org/draft-07/schema#", filePurpose[d]
		data, err := newDocument(s)
		if err != nil {
			panic("team: schema of " + string(d) + ": " + err.Error()) // cannot happen: JSON can express every value in a schema
		}
		schemas[string(d)] = data
	}
	return schemas
}

var filePurpose = map[Document]string{
	PMStateDoc:       "The project manager's memory",
	GroupStatusDoc:   "How each group of tasks stands",
	OrchestratorDoc:  "What was started and decided, and how far the session is",
	DevToQADoc:       "What developers hand to QA",
	QAToTechLeadDoc:  "What QA hands to the tech lead",
	TechLeadToDevDoc: "What the tech lead tells developers",
}

// schema is the part of JSON Schema that gaffer's rules need.
type schema struct {
	Schema      string     `json:"$schema,omitempty"`
	Title       string     `json:"title,omitempty"`
	Description string     `json:"description,omitempty"`
	Type        any        `json:"type"`
	Format      string     `json:"format,omitempty"`
	Const       string     `json:"const,omitempty"`
	Enum        []any      `json:"enum,omitempty"`
	Properties  properties `json:"properties,omitempty"`
	Required    []string   `json:"required,omitempty"`
	Items       *schema    `json:"items,omitempty"`
	Additional  *schema    `json:"additionalProperties,omitempty"`
}

func (r *rule) schema() *schema {
	s := &schema{Type: string(r.form)}
	switch r.form {
	case moment:
		s.Type, s.Format = string(text), string(moment)
	case list:
		s.Items = r.each.schema()
	case dictionary:
		s.Type, s.Additional = string(object), r.each.schema()
	}
	if r.null {
		s.Type = []any{s.Type, "null"}
	}
	r.addWords(s)
	for _, f := range r.fields {
		member := f.rule.schema()
		member.Description = f.about
		s.Properties = append(s.Properties, property{f.name, member})
		if f.must {
			s.Required = append(s.Required, f.name)
		}
	}
	return s
}

func (r *rule) addWords(s *schema) {
	if len(r.words) == 1 {
		s.Const = r.words[0]
		return
	}
	for _, w := range r.words {
		s.Enum = append(s.Enum, w)
	}
	if r.null && len(r.words) > 0 {
		s.Enum = append(s.Enum, nil)
	}
}

// properties is a JSON object whose members keep their order.
type properties []property

type property struct {
	name   string
	schema *schema
}

// MarshalJSON writes the properties as one object.
func (ps properties) MarshalJSON() ([]byte, error) {
	return marshalObject(len(ps), func(i int) (string, any) { return ps[i].name, ps[i].schema })
}
