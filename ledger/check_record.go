package ledger

import (
	"fmt"
	"slices"
	"strings"

	"gaffer/statefile"
	"gaffer/statefile/jsontree"
	"gaffer/statefile/timestamp"
)

// check checks one record against the rules of its kind (run or result), and collects the problems
// that it finds.
type check struct {
	fields
	path   string
	strict bool
	full   bool // the record has a schema_version, so it must have all fields of the full form
	found  []statefile.Finding
}

func newCheck(kind Kind, path string, strict bool) *check {
	return &check{fields: fields{kind: kind}, path: path, strict: strict}
}

func (c *check) add(severity statefile.Severity, at, name, format string, args ...any) {
	c.found = append(c.found, statefile.Finding{
		Path: c.path, At: at, Name: name, Severity: severity, Text: fmt.Sprintf(format, args...),
	})
}

func (c *check) invalid(at, name, format string, args ...any) {
	c.add(statefile.Invalid, at, name, format, args...)
}

func (c *check) irregular(at, name, format string, args ...any) {
	c.add(statefile.Irregular, at, name, format, args...)
}

// record checks the record v. A record with a schema_version must have the full form. Any other
// record must have the minimal form, which has fewer required fields.
func (c *check) record(v jsontree.Value) {
	if v.Kind() != jsontree.Object {
		c.invalid("", notObject, "%s where a %s record should be", v.Kind(), c.kind)
		return
	}
	unknown := c.collect(v)
	c.full = c.get("schema_version").Kind() != jsontree.Missing
	if !c.full {
		c.irregular("", minimalForm, "no schema_version: the record is in the minimal form")
	}
	for i, r := range c.kind.rules() {
		c.field(r, c.values[i])
	}
	for _, name := range unknown {
		c.unknown(name)
	}
}

func (c *check) unknown(name string) {
	severity := statefile.Irregular
	if c.full {
		severity = statefile.Invalid
	}
	c.add(severity, name, unknownField, "is not a field of a %s record", c.kind)
}

func (c *check) field(r rule, v jsontree.Value) {
	switch {
	case v.Kind() != jsontree.Missing:
		c.value(r, v, r.name)
	case r.need == inBoth || r.need == inFull && c.full:
		c.invalid(r.name, missingField, "is missing")
	}
}

// kinds has, for each type of a record field, the JSON type of the values and a description of them
// for messages to the user.
var kinds = [...]struct {
	kind jsontree.Kind
	want string
}{
	aText:     {jsontree.String, "a text"},
	anInstant: {jsontree.String, "a time"},
	aHash:     {jsontree.String, "a SHA-256"},
	aNumber:   {jsontree.Number, "a whole number"},
	aTruth:    {jsontree.Bool, "true or false"},
	aList:     {jsontree.Array, "a list"},
	anObject:  {jsontree.Object, "an object"},
	aVersion:  {jsontree.Number, "1"},
}

func (c *check) value(r rule, v jsontree.Value, at string) {
	if r.null && v.Kind() == jsontree.Null {
		return
	}
	if v.Kind() != kinds[r.form].kind {
		c.invalid(at, wrongType, "is %s where %s%s should be", v.Kind(), kinds[r.form].want, orNull(r))
		return
	}
	switch r.form {
	case aText:
		// Decode the text only if a rule needs it, because long texts take time.
		if r.filled || r.oneOf != nil {
			c.word(r, v.Text(), at)
		}
	case anInstant:
		c.instant(v.Text(), at)
	case aHash:
		if !isHash(v.Text()) {
			c.invalid(at, notAHash, "%s is not a SHA-256: 64 digits 0-9 a-f", shorten(v.Text()))
		}
	case aNumber:
		c.number(r, v, at)
	case aVersion:
		if n, ok := wholeNumber(v.Raw()); !ok || n != "1" {
			c.invalid(at, unknownSchema, "%s is not a schema version that gaffer knows; it knows 1", v.Raw())
		}
	case anObject:
		for _, m := range r.members {
			if member := v.Get(m.name); member.Kind() != jsontree.Missing {
				c.value(m, member, at+"."+m.name)
			}
		}
	}
}

func orNull(r rule) string {
	if r.null {
		return " or null"
	}
	return ""
}

func (c *check) word(r rule, s, at string) {
	if r.filled && s == "" {
		c.invalid(at, emptyText, "is empty")
	}
	if r.oneOf == nil || slices.Contains(r.oneOf, s) {
		return
	}
	words := strings.Join(r.oneOf, ", ")
	switch {
	case !r.open:
		c.invalid(at, unknownValue, "%s is not one of %s", shorten(s), words)
	case s == "":
		c.invalid(at, emptyText, "is empty")
	case c.strict && !strings.HasPrefix(s, ownSteps):
		c.invalid(at, unknownAgent, "%s is not one of %s", shorten(s), words)
	}
}

func (c *check) number(r rule, v jsontree.Value, at string) {
	n, ok := wholeNumber(v.Raw())
	switch {
	case !ok:
		c.invalid(at, wrongType, "%s is not a whole number", shorten(string(v.Raw())))
	case r.least == anyNumber:
	case n[0] == '-' || r.least > 0 && n == "0":
		c.invalid(at, tooSmall, "%s is less than %d", shorten(string(v.Raw())), r.least)
	}
}

func (c *check) instant(s, at string) {
	switch {
	case strings.Contains(s, "$"):
		c.invalid(at, placeholderTimestamp, "%s is a shell variable that was never filled in, not a time", shorten(s))
	case !isDateTime(s):
		c.invalid(at, notATimestamp, "%s is not a time; write it as 2026-02-12T17:08:00Z", shorten(s))
	case !timestamp.UTC(s):
		c.irregular(at, offsetTimestamp, "%s has an offset where Z or +00:00 should be", s)
	}
}

// isDateTime reports whether s is a date-time as JSON Schema defines it. It is stricter than
// time.Parse, which accepts an hour of one digit and a comma before the fraction.
func isDateTime(s string) bool {
	if len(s) < len("2006-01-02T15:04:05Z") || s[13] != ':' || strings.Contains(s, ",") {
		return false
	}
	return timestamp.Strict(strings.ToUpper(s))
}

func isHash(s string) bool {
	return len(s) == 64 && strings.Trim(s, "0123456789abcdef") == ""
}

// shorten quotes a text for a message and cuts it after 60 characters.
func shorten(s string) string {
	const most = 60
	// To save time, cut the bytes first. A character has at most 4 bytes, so at least most+1
	// characters of a longer text remain.
	s = s[:min(len(s), 4*(most+1))]
	if runes := []rune(s); len(runes) > most {
		s = string(runes[:most]) + "…"
	}
	return fmt.Sprintf("%q", s)
}
