package team

import "gaffer/statefile/jsontree"

// form is the type of value that a rule requires. Most forms are types of JSON Schema.
type form string

const (
	text       form = "string"
	integer    form = "integer"
	number     form = "number"
	boolean    form = "boolean"
	list       form = "array"
	object     form = "object"
	moment     form = "date-time"  // a string with a time
	dictionary form = "dictionary" // an object with arbitrary members, which all follow the same rule
)

// rule defines which values a field or a list item in the team's JSON documents may have. The
// validation and the JSON Schemas are both derived from rules.
type rule struct {
	form    form
	null    bool
	words   []string // the allowed strings; if empty, all are allowed
	unknown string   // name of the finding for a string that is not in words
	fields  []field  // members of an object, in the protocol's order
	each    *rule    // rule for each item of a list or member of a dictionary
	// keys lists the names of the members that together identify an item of a list. If keys is
	// empty, an item is identified by its index.
	keys   []string
	open   bool // other programs may add items to this list, and gaffer keeps their items
	sticky bool // if the value is true, gaffer never sets it to false
	// sent is set for a list that belongs to a message. gaffer does not change such a list after it
	// has sent the message.
	sent bool

	// wild lists the kinds of values that some programs wrongly write instead of the required form.
	// It maps each kind to the name of the finding that reports it.
	wild map[jsontree.Kind]string
	// aliases lists wrong names that some programs use for a field. It maps each of them to the
	// name that the protocol defines.
	aliases map[string]string
	alias   string // name of the finding for a field with a name from aliases
}

// field is a member of a JSON object that the protocol defines.
type field struct {
	name  string
	rule  *rule
	must  bool   // the object must have the member
	about string // description of the member in the JSON Schema; may be empty
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
func (r rule) othersMayAdd() *rule                   { r.open = true; return &r }
func (r rule) staysTrue() *rule                      { r.sticky = true; return &r }
func (r rule) fixedWhenSent() *rule                  { r.sent = true; return &r }
func (r rule) named(k jsontree.Kind, n string) *rule { r.wild = with(r.wild, k, n); return &r }

func with(m map[jsontree.Kind]string, k jsontree.Kind, name string) map[jsontree.Kind]string {
	out := map[jsontree.Kind]string{k: name}
	for key, value := range m {
		out[key] = value
	}
	return out
}

// field returns the rule for the member called name, or nil if there is none.
func (r *rule) field(name string) *rule {
	for _, f := range r.fields {
		if f.name == name {
			return f.rule
		}
	}
	return nil
}
