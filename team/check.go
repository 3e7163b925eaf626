package team

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"gaffer/statefile"
	"gaffer/statefile/jsontree"
)

// checker validates one of the team's JSON documents and collects the findings.
type checker struct {
	path    string
	written time.Time // modification time of the file; zero if unknown
	found   []statefile.Finding
}

func (c *checker) add(severity statefile.Severity, at, name, format string, args ...any) {
	c.found = append(c.found, statefile.Finding{
		Path: c.path, At: at, Name: name, Severity: severity, Text: fmt.Sprintf(format, args...),
	})
}

func (c *checker) check(v jsontree.Value, r *rule, at string) {
	if v.Kind() == jsontree.Null && r.null {
		return
	}
	if !r.accepts(v) {
		c.wrongForm(v, r, at)
		return
	}
	switch r.form {
	case text:
		c.checkWord(v, r, at)
	case moment:
		c.checkTime(v.Text(), at)
	case object:
		c.checkObject(v, r, at)
	case list:
		c.checkList(v, r, at)
	case dictionary:
		for name, member := range v.Members() {
			c.check(member, r.each, join(at, name))
		}
	}
}

// accepts reports whether the rule r allows the JSON type of v. It does not check what v contains.
func (r *rule) accepts(v jsontree.Value) bool {
	switch r.form {
	case text, moment:
		return v.Kind() == jsontree.String
	case integer:
		return isWhole(v)
	case number:
		return v.Kind() == jsontree.Number
	case boolean:
		return v.Kind() == jsontree.Bool
	case list:
		return v.Kind() == jsontree.Array
	}
	return v.Kind() == jsontree.Object
}

// isWhole reports whether v is an integer. As in JSON Schema, 12.0 is an integer.
func isWhole(v jsontree.Value) bool {
	if v.Kind() != jsontree.Number {
		return false
	}
	if !strings.ContainsAny(string(v.Raw()), ".eE") {
		return true
	}
	f, ok := v.Float()
	return ok && f == math.Trunc(f)
}

// wrongForm adds a finding that v does not have the JSON type that the rule r requires. Instead of
// some lists, other programs write a map. For such a map, wrongForm also checks its members.
func (c *checker) wrongForm(v jsontree.Value, r *rule, at string) {
	name := r.wild[v.Kind()]
	if name == "" {
		name = "wrong-type"
	}
	c.add(statefile.Invalid, at, name, "%s where %s should be", v.Kind(), r.wanted())
	if name != "wrong-type" && r.form == list && v.Kind() == jsontree.Object {
		for key, member := range v.Members() {
			c.check(member, r.each, join(at, key))
		}
	}
}

func (r *rule) wanted() string {
	wanted := map[form]string{
		text: "a string", moment: "a time", integer: "a whole number", number: "a number",
		boolean: "true or false", list: "an array", object: "an object", dictionary: "an object",
	}[r.form]
	if r.null {
		wanted += " or null"
	}
	return wanted
}

func (c *checker) checkWord(v jsontree.Value, r *rule, at string) {
	if len(r.words) > 0 && !slices.Contains(r.words, v.Text()) {
		c.add(statefile.Invalid, at, r.unknown, "%s where %s should be", shorten(v.Text()), strings.Join(r.words, ", "))
	}
}

func (c *checker) checkObject(v jsontree.Value, r *rule, at string) {
	for _, f := range r.fields {
		member := v.Get(f.name)
		switch {
		case member.Kind() != jsontree.Missing:
			c.check(member, f.rule, join(at, f.name))
		case f.must && f.rule.wild[jsontree.Missing] != "":
			c.add(statefile.Invalid, join(at, f.name), f.rule.wild[jsontree.Missing], "missing")
		case f.must:
			c.add(statefile.Invalid, join(at, f.name), "missing-field", "missing")
		}
	}
	c.checkUnknown(v, r, at)
}

// checkUnknown adds one finding for each member of the object v that the rule r does not define.
func (c *checker) checkUnknown(v jsontree.Value, r *rule, at string) {
	seen := map[string]bool{}
	for name := range v.Members() {
		if seen[name] || r.field(name) != nil {
			continue
		}
		seen[name] = true
		if meant := r.aliases[name]; meant != "" {
			c.add(statefile.Irregular, join(at, name), r.alias, "%s where %s should be", name, meant)
			continue
		}
		c.add(statefile.Irregular, join(at, name), "unknown-key", "the protocol knows no %s here; it is kept", shorten(name))
	}
}

// checkList checks the items of a list. Some programs write items of a wrong JSON type, for example
// strings instead of objects. checkList reports such a known deviation only once per list, because
// usually all items of the list have it.
func (c *checker) checkList(v jsontree.Value, r *rule, at string) {
	wild := map[string]int{}
	for i, item := range v.Items() {
		if name := r.each.wild[item.Kind()]; name != "" {
			if wild[name]++; wild[name] == 1 {
				c.wrongForm(item, r.each, at)
			}
			continue
		}
		c.check(item, r.each, at+"["+strconv.Itoa(i)+"]")
	}
}

func join(at, name string) string {
	if at == "" {
		return shortName(name)
	}
	return at + "." + shortName(name)
}

func shortName(name string) string { return strings.Trim(shorten(name), `"`) }

// shorten quotes a text for a message and cuts it after 60 characters.
func shorten(s string) string {
	const most = 60
	// A character has at most 4 bytes. So it is enough to decode this prefix of s: if s has more
	// than 60 characters, then the prefix has more than 60 characters too.
	r := []rune(s[:min(len(s), 4*(most+1))])
	if len(r) > most {
		s = string(r[:most]) + "…"
	}
	return strconv.Quote(s)
}
