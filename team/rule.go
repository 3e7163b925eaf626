package team

import "gaffer/statefile/jsontree"

// form is what sort of value a rule asks for, in the words of JSON Schema.
type form string

const (
	text       form = "string"
	integer    form = "integer"
	number     form = "number"
	boolean    form = "boolean"
	list       form = "array"
	object     form = "object"
	moment     form = "date-time" // a string that is a time
	dictionary form = "dictionary"
)

// rule is what a document's protocol asks of one value. Validation and the JSON
// Schemas are both made from rules.
type rule struct {
	form    form
	null    bool
	words   []string // the only strings allowed, if any
	unknown string   // the finding's name for another string
	fields  []field  // of an object, in the protocol's order
	each    *rule    // an item of a list, a member of a dictionary
	keys    []string // the members that tell the items of a list apart; none: their places do
	open    bool     // others add to the list, and what they added stays
	sticky  bool     // what is true stays true, whoever said so
	sent    bool     // a list of texts that stays as it was when its message was sent

	wild    map[jsontree.Kind]string // names of findings for forms found in the wild
	aliases map[string]string        // members found in the wild for what a field says
	alias   string                   // the finding's name for those
}

// field is a known member of an object.
type field struct {
	name  string
	rule  *rule
	must  bool
	about string
}

func opt(name string, r *rule) field      { return field{name: name, rule: r} }
func must(name string, r *rule) field     { return field{name: name, rule: r, must: true} }
func (f field) saying(about string) field { f.about = about; return f }
func a(f form) *rule                      { return &rule{form: f} }
func objectOf(fields ...field) *rule      { return &rule{form: object, fields: fields} }
func listOf(each *rule) *rule             { return &rule{form: list, each: each} }
func oneOf(unknown string, words ...string) *rule {
	return &rule{form: text, words: words, unknown: unknown}
}
func only(word string) *rule                         { return oneOf("wrong-value", word) }
func (r rule) orNull() *rule                         { r.null = true; return &r }
func (r rule) by(keys ...string) *rule               { r.keys = keys; return &r }
func (r rule) toAll() *rule                          { r.open = true; return &r }
func (r rule) forGood() *rule                        { r.sticky = true; return &r }
func (r rule) asSent() *rule                         { r.sent = true; return &r }
func (r rule) named(k jsontree.Kind, n string) *rule { r.wild = with(r.wild, k, n); return &r }

func with(m map[jsontree.Kind]string, k jsontree.Kind, name string) map[jsontree.Kind]string {
	out := map[jsontree.Kind]string{k: name}
	for key, value := range m {
		out[key] = value
	}
	return out
}

// field returns the rule of a member, or nil.
func (r *rule) field(name string) *rule {
	for _, f := range r.fields {
		if f.name == name {
			return f.rule
		}
	}
	return nil
}
