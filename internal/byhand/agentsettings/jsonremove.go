package agentsettings

import (
	"bytes"
	"slices"

	"gaffer/statefile/jsontree"
)

func (jsonWriter) remove(old []byte, entries []Entry, replaced map[string][]byte) ([]Splice, error) {
	t, err := parseJSON(old)
	if err != nil {
		return nil, err
	}
	c := jsonRemover{t, replaced}
	splices, _ := c.cut(t.root, entries, nil)
	return ordered(splices), nil
}

type jsonRemover struct {
	*jsonText
	replaced map[string][]byte
}

// cut returns the text edits that remove gaffer's entries from v. If v contains nothing else, empty
// is true and the caller must remove v itself. For the root of the document, empty is always false.
func (c jsonRemover) cut(v jsontree.Value, entries []Entry, path []string) (splices []Splice, empty bool) {
	list := parts(v)
	var dead []int
	for i, p := range list {
		here := append(slices.Clone(path), p.name)
		inner, ours := advance(v, entries, p)
		if was, ok := c.replaced[dotted(here)]; ours && ok && p.name != "" {
			splices = append(splices, Splice{At: p.From, Old: bytes.Clone(c.src[p.From:p.To]), New: was})
			continue
		}
		if !ours && len(inner) > 0 {
			var below []Splice
			below, ours = c.cut(p.value, inner, here)
			splices = append(splices, below...)
		}
		if ours {
			dead = append(dead, i)
		}
	}
	if len(dead) > 0 && len(dead) == len(list) && path != nil {
		return nil, true
	}
	return append(splices, c.remove(list, dead)...), false
}

// remove returns the text edits that remove members or items of list, with their commas. The
// parameter dead holds the indexes of these members or items in list.
func (c jsonRemover) remove(list []jsonPart, dead []int) (splices []Splice) {
	last := -1 // index of the last member or item that stays
	for i := range list {
		if !slices.Contains(dead, i) {
			last = i
		}
	}
	for _, i := range dead {
		end := list[i].To
		comma := c.comma(end)
		if comma >= 0 {
			splices = append(splices, deletion(c.src, comma, comma+1))
			end = comma + 1
		}
		splices = append(splices, deletion(c.src, c.cutStart(list[i].Name, end), list[i].To))
	}
	if n := len(list) - 1; last >= 0 && last < n && c.comma(list[n].To) < 0 {
		comma := c.comma(list[last].To)
		splices = append(splices, deletion(c.src, comma, comma+1))
	}
	return splices
}

// cutStart returns the offset at which the deletion of the text from start to end must begin.
// Spaces and tabs before start are always deleted too. If nothing follows after end on its line,
// the line break before start is also deleted. Otherwise this line break stays, because the
// following text could become part of a comment on the previous line.
func (c jsonRemover) cutStart(start, end int) int {
	for start > 0 && (c.src[start-1] == ' ' || c.src[start-1] == '\t') {
		start--
	}
	rest := bytes.TrimLeft(c.src[end:], " \t")
	if len(rest) > 0 && rest[0] != '\n' && rest[0] != '\r' {
		return start
	}
	return lineBefore(c.src, start)
}

// lineBefore returns the end of the previous line if a line starts at offset. If not, it returns
// offset.
func lineBefore(text []byte, offset int) int {
	if offset > 0 && text[offset-1] == '\n' {
		offset--
		if offset > 0 && text[offset-1] == '\r' {
			offset--
		}
	}
	return offset
}
