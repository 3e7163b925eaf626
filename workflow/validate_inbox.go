package workflow

import (
	"fmt"
	"slices"

	"gaffer/statefile"
	"gaffer/statefile/jsontree"
)

// CheckInbox lists the violations of the workflow protocol in the content v of an inbox.json.
func CheckInbox(path string, v jsontree.Value) []statefile.Finding {
	in := &inspection{path: path}
	if !in.kind("not-an-array", v, jsontree.Array) {
		return in.found
	}
	seen := map[string]bool{}
	for i, item := range v.Items() {
		at := fmt.Sprintf("[%d]", i)
		if item.Kind() != jsontree.Object {
			in.invalid("wrong-type", at, "%s where an object should be", describe(item))
			continue
		}
		in.item(at, item, seen)
	}
	return in.found
}

// check is like CheckInbox, but also reports inbox items that a process has taken and abandoned;
// see [Item.Abandoned].
func (b *Inbox) check(path string, v jsontree.Value) []statefile.Finding {
	in := &inspection{path: path, found: CheckInbox(path, v)}
	for i, item := range v.Items() {
		if b.abandoned(readItem(item), b.store.opts.Now()) {
			in.irregular("item-left-processing", fmt.Sprintf("[%d].status", i), "is processing, but the process that took it is gone; it can be taken again")
		}
	}
	return in.found
}

func (in *inspection) item(at string, v jsontree.Value, seen map[string]bool) {
	var item Item
	in.mismatches(jsontree.Decode(v, &item), at+".")
	switch {
	case v.Get("id").Absent():
		in.irregular("item-id-missing", at, "has no id, so only a user can change it")
	case item.ID != "" && seen[item.ID]:
		in.invalid("duplicate-item-id", at+".id", "%q is another item's id", shorten(item.ID))
	}
	seen[item.ID] = true
	if _, known := itemNext[item.Status]; !known && v.Get("status").Kind() == jsontree.String {
		in.irregular("unknown-item-status", at+".status", "%q; the protocol has %s", shorten(string(item.Status)), joinWords(ItemStatuses(), "and"))
	}
	if v.Get("type").Kind() == jsontree.String && !slices.Contains(ItemTypes(), item.Type) {
		in.irregular("unknown-item-type", at+".type", "%q; the protocol has %s", shorten(string(item.Type)), joinWords(ItemTypes(), "and"))
	}
	in.time(at+".timestamp", item.Timestamp)
}
