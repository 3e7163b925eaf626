package teamstate

import (
	"fmt"
	"strings"

	"gaffer/statefile/lazyregexp"
)

// listItem matches the first line of a list item. It captures the indentation and the
// text.
var listItem = lazyregexp.New(`^(\s*)(?:(?:[-*+]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s*)?|\[[ xX]\]\s+)(\S.*)$`)

// Items splits the user's requirements, which are one text, into single requirements: the items of
// the outermost list in the text. A line belongs to the item before it if the line is indented more
// than the item, or if no blank line is between them. If the list has fewer than two items, the
// whole text is one requirement.
func Items(requirements string) []Item {
	texts := listed(requirements)
	if len(texts) < 2 {
		texts = []string{strings.TrimSpace(requirements)}
	}
	var items []Item
	for i, text := range texts {
		items = append(items, Item{ID: fmt.Sprintf("R%d", i+1), Text: text})
	}
	return items
}

func listed(text string) []string {
	var items [][]string // lines of each item
	outer := -1          // indentation of the outermost list; -1 before the first item
	within, blank := false, false
	for raw := range strings.Lines(text) {
		l := strings.TrimRight(raw, " \t\r\n")
		indent := len(l) - len(strings.TrimLeft(l, " \t"))
		m := listItem().FindStringSubmatch(l)
		switch {
		case l == "":
			blank = true
			continue
		case m != nil && (outer < 0 || len(m[1]) <= outer):
			items, within = append(items, []string{m[2]}), true
			outer = len(m[1])
		case within && (indent > outer || !blank):
			last := &items[len(items)-1]
			*last = append(*last, strings.TrimSpace(l))
		default:
			within = false
		}
		blank = false
	}
	var texts []string
	for _, lines := range items {
		texts = append(texts, strings.Join(lines, "\n"))
	}
	return texts
}
