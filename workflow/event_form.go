package workflow

import (
	"slices"

	"gaffer/statefile/jsontree"
	"gaffer/statefile/timestamp"
)

// form says which values a field of an event may hold, for example only strings or only times.
type form struct {
	want string
	ok   func(jsontree.Value) bool
}

// The forms of event fields. All of them accept null, which means that the field is absent.
var (
	formText  = form{"a string", func(v jsontree.Value) bool { return v.Kind() == jsontree.String || v.Absent() }}
	formWhole = form{"a whole number", func(v jsontree.Value) bool { _, ok := v.Int(); return ok || v.Absent() }}
	formTime  = form{"a time such as 2026-02-17T14:32:05Z", func(v jsontree.Value) bool { return timestamp.Strict(v.Text()) || v.Absent() }}
	formMode  = form{"full, reduced or minimal", func(v jsontree.Value) bool {
		return v.Absent() || slices.Contains([]string{Full, Reduced, Minimal}, v.Text())
	}}
	formTexts = form{"an array of strings", func(v jsontree.Value) bool {
		ok := v.Absent() || v.Kind() == jsontree.Array
		for _, item := range v.Items() {
			ok = ok && item.Kind() == jsontree.String
		}
		return ok
	}}
	formChecks = form{`an array of checks such as {"name": "…", "result": "pass"}`, func(v jsontree.Value) bool {
		ok := v.Absent() || v.Kind() == jsontree.Array
		for _, item := range v.Items() {
			ok = ok && isCheck(item)
		}
		return ok
	}}
)

func isCheck(v jsontree.Value) bool {
	var c Check
	misread := jsontree.Decode(v, &c)
	return len(misread) == 0 && c.Name != "" && (c.Result == Pass || c.Result == Fail)
}

// formOf returns the form that a field must have in events of this kind. It returns false if the
// field may hold any value.
func formOf(kind, name string) (form, bool) {
	fields, known := kinds[kind]
	if !known {
		// gaffer does not know this kind of event. Only the timestamp must have a certain form.
		return formTime, name == "timestamp"
	}
	if f, ok := fields[name]; ok {
		return f, true
	}
	f, ok := everyEvent[name]
	return f, ok
}
