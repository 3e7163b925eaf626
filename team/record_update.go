package team

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"gaffer/statefile/jsontree"
	"gaffer/statefile/timestamp"
)

// updateTo edits the JSON value n to match want. r is the rule for this value. updateTo keeps
// members that r does not define, and the formatting of values that already match. If r.sticky is
// set, it keeps the value true. If r.sent is set, it keeps an existing list of strings.
func updateTo(n *jsontree.Node, want jsontree.Value, r *rule) {
	switch {
	case r == nil:
		n.Replace(want)
	case r.sticky && isTrue(n.Value()):
	case r.sent && allTexts(n.Value()):
	case n.Kind() == jsontree.Object && r.form == list && r.wild[jsontree.Object] != "":
		updateMap(n, want, r)
	case n.Kind() != want.Kind():
		n.Replace(want)
	case n.Kind() == jsontree.Object && r.form == dictionary:
		updateGroups(n, want, r)
	case n.Kind() == jsontree.Object:
		updateObject(n, want, r)
	case n.Kind() == jsontree.Array:
		updateList(n, want, r)
	case !same(n.Value(), want, r):
		n.Replace(want)
	}
}

// allTexts reports whether a value is a list of strings.
func allTexts(v jsontree.Value) bool {
	for _, item := range v.Items() {
		if item.Kind() != jsontree.String {
			return false
		}
	}
	return v.Kind() == jsontree.Array
}

func isTrue(v jsontree.Value) bool {
	is, ok := v.Bool()
	return is && ok
}

// updateObject edits the object n to match want. It also deletes members that the rule r defines
// but that are missing in want.
func updateObject(n *jsontree.Node, want jsontree.Value, r *rule) {
	updateMembers(n, want, r.field)
	for _, f := range r.fields {
		if want.Get(f.name).Kind() == jsontree.Missing {
			n.Delete(f.name)
		}
	}
}

// updateGroups edits n, the object that contains all groups of tasks. It also deletes groups that
// are missing in want. It keeps members without a status, because they are notes that other
// programs have written.
func updateGroups(n *jsontree.Node, want jsontree.Value, r *rule) {
	var ids []string
	var kept []jsontree.Value
	for id, member := range n.Members() {
		if want.Get(id).Kind() != jsontree.Missing || member.Get("status").Absent() {
			ids, kept = append(ids, id), append(kept, member.Value())
		}
	}
	if len(kept) < n.Len() {
		n.Replace(members{ids, kept})
	}
	updateMembers(n, want, func(string) *rule { return r.each })
}

// members is a JSON object whose members keep their order.
type members struct {
	names  []string
	values []jsontree.Value
}

// MarshalJSON writes the members as one object.
func (m members) MarshalJSON() ([]byte, error) {
	return marshalObject(len(m.names), func(i int) (string, any) { return m.names[i], m.values[i] })
}

func updateMembers(n *jsontree.Node, want jsontree.Value, of func(name string) *rule) {
	for name, v := range want.Members() {
		if child := n.Child(name); child != nil {
			updateTo(child, v, of(name))
		} else {
			n.Set(name, v)
		}
	}
}

// updateList edits the list n to match want. If the existing items are the first items of want, or if
// other programs may add items to the list, updateList edits the existing items in place and appends
// the missing ones. In all other cases it replaces the whole list.
func updateList(n *jsontree.Node, want jsontree.Value, r *rule) {
	var items []*jsontree.Node
	for _, item := range n.Items() {
		items = append(items, item)
	}
	list, inPlace := []jsontree.Value{}, true // an empty list, because nil is encoded as null
	var added []jsontree.Value
	for i, at := range r.pair(items, want) {
		if at.index < 0 {
			list, added = append(list, at.want), append(added, at.want)
			continue
		}
		inPlace = inPlace && at.index == i
		updateTo(items[at.index], at.want, r.each)
		list = append(list, items[at.index].Value())
	}
	if !r.open && (!inPlace || len(items)+len(added) != len(list)) {
		n.Replace(list)
		return
	}
	for _, v := range added {
		n.Append(v)
	}
}

// updateMap replaces n, a map (a JSON object), by a list that matches want, because some programs
// write a map where the protocol requires a list. For each item of want, updateMap looks for the
// member of the map with the same id and edits it, so that what other programs have added to this
// member is kept. If a member does not contain an id, its name in the map is the id.
func updateMap(n *jsontree.Node, want jsontree.Value, r *rule) {
	there := map[string]*jsontree.Node{}
	for name, member := range n.Members() {
		there[cmp.Or(member.Get(r.keys[0]).Text(), name)] = member
	}
	list := []jsontree.Value{} // an empty list, because nil is encoded as null
	for _, v := range want.Items() {
		if member := there[v.Get(r.keys[0]).Text()]; member != nil {
			updateTo(member, v, r.each)
			v = member.Value()
		}
		list = append(list, v)
	}
	n.Replace(list)
}

// pairing connects an item that a list should contain with the index of the matching item in the
// existing list. The index is -1 if the existing list has no matching item.
type pairing struct {
	want  jsontree.Value
	index int
}

// pair returns a pairing for each item of the list want. The parameter items is the existing list.
// An item of want and an existing item match if r.key returns the same text for both. Each existing
// item is paired at most once.
func (r *rule) pair(items []*jsontree.Node, want jsontree.Value) []pairing {
	there := map[string][]int{}
	for i, item := range items {
		key := r.key(item.Value(), i)
		there[key] = append(there[key], i)
	}
	var pairs []pairing
	for i, v := range want.Items() {
		p := pairing{v, -1}
		if key := r.key(v, i); len(there[key]) > 0 {
			p.index, there[key] = there[key][0], there[key][1:]
		}
		pairs = append(pairs, p)
	}
	return pairs
}

// key returns a text that identifies the item v within its list. The text consists of the values of
// those members of v whose names are in r.keys. If r.keys is empty, the text is i, the index of v
// in the list.
func (r *rule) key(v jsontree.Value, i int) string {
	if len(r.keys) == 0 {
		return strconv.Itoa(i)
	}
	var parts []string
	for _, name := range r.keys {
		parts = append(parts, strconv.Quote(canonical(r.each.get(v, name), r.each.field(name))))
	}
	return strings.Join(parts, " ")
}

// get returns the member of v called name. If v has no such member, get looks for it under the
// other names that some programs use for this member.
func (r *rule) get(v jsontree.Value, name string) jsontree.Value {
	if member := v.Get(name); !member.Absent() {
		return member
	}
	for alias, meant := range r.aliases {
		if meant == name {
			return v.Get(alias)
		}
	}
	return jsontree.Value{}
}

// canonical returns the text of v in a normal form. For example, equal times with different zones
// get the same text, and so do the equal numbers 5 and 5.0.
func canonical(v jsontree.Value, r *rule) string {
	if r.form == moment {
		if t, err := timestamp.Parse(v.Text(), time.Local); err == nil {
			return timestamp.Format(t)
		}
	}
	if f, ok := v.Float(); ok && v.Kind() == jsontree.Number {
		return strconv.FormatFloat(f, 'g', -1, 64)
	}
	return v.String()
}

// same reports whether two values of the same kind are equal. If v is a time that is not in RFC
// 3339, same returns false, so that the caller rewrites v.
func same(v, want jsontree.Value, r *rule) bool {
	switch {
	case r.form == moment && v.Kind() == jsontree.String:
		t, err := timestamp.Parse(v.Text(), time.UTC)
		wanted, wantedErr := timestamp.Parse(want.Text(), time.UTC)
		return timestamp.Strict(v.Text()) && err == nil && wantedErr == nil && t.Equal(wanted)
	case v.Kind() == jsontree.Number:
		a, okA := v.Float()
		b, okB := want.Float()
		return okA && okB && a == b
	}
	return v.String() == want.String()
}
