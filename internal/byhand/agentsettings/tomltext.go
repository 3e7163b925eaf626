package agentsettings

import (
	"bytes"
	"errors"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// tomlText is a parsed TOML file: its values, and its statements in order.
type tomlText struct {
	src        []byte
	root       map[string]any
	statements []tomlItem
}

// tomlItem is the heading of a table, or a key with its value, in a TOML file.
type tomlItem struct {
	// path is the path from the root of the file. For a member of an inline table, it is only the
	// member's own key, split at the dots.
	path    []string
	heading bool
	// from and to are the offsets of the item's start and end. A heading starts with its
	// indentation and ends before its closing bracket.
	from, to int
	value    int        // offset of the value, if it is a string or an inline table
	inline   bool       // the value is an inline table
	members  []tomlItem // members of the value, if it is an inline table
}

// parseTOML parses a file with go-toml. The decoder of go-toml checks the file and returns the
// values. The low-level parser of go-toml returns the positions.
func parseTOML(src []byte) (*tomlText, error) {
	t := &tomlText{src: src}
	text := bytes.TrimPrefix(src, []byte(byteOrderMark))
	skipped := len(src) - len(text)
	if err := toml.Unmarshal(text, &t.root); err != nil {
		line, column := 1, 1
		if at := (*toml.DecodeError)(nil); errors.As(err, &at) {
			line, column = at.Position()
		}
		if line == 1 {
			column += skipped
		}
		return nil, &TextError{Format: TOML, Line: line, Column: column, Problem: strings.TrimPrefix(err.Error(), "toml: ")}
	}
	var parser unstable.Parser
	parser.Reset(text)
	var table []string
	for parser.NextExpression() {
		switch e := parser.Expression(); e.Kind {
		case unstable.Table, unstable.ArrayTable:
			heading := keyOf(e, skipped)
			heading.heading = true
			for heading.from > 0 && strings.IndexByte(" \t[", src[heading.from-1]) >= 0 {
				heading.from--
			}
			table = heading.path
			t.statements = append(t.statements, heading)
		case unstable.KeyValue:
			item := itemOf(e, skipped)
			item.path = slices.Concat(table, item.path)
			t.statements = append(t.statements, item)
		}
	}
	return t, parser.Error()
}

// itemOf returns the key and value of a node of the parser. skipped is the length of the byte order
// mark, which the parser did not get. itemOf adds it to the parser's offsets.
func itemOf(n *unstable.Node, skipped int) tomlItem {
	item, value := keyOf(n, skipped), n.Value()
	item.to = int(n.Raw.Offset+n.Raw.Length) + skipped
	item.value = int(value.Raw.Offset) + skipped
	item.inline = value.Kind == unstable.InlineTable
	if item.inline {
		for members := value.Children(); members.Next(); {
			item.members = append(item.members, itemOf(members.Node(), skipped))
		}
	}
	return item
}

func keyOf(n *unstable.Node, skipped int) (item tomlItem) {
	for parts := n.Key(); parts.Next(); {
		part := parts.Node()
		if item.path == nil {
			item.from = int(part.Raw.Offset) + skipped
		}
		item.path = append(item.path, string(part.Data))
		item.to = int(part.Raw.Offset+part.Raw.Length) + skipped
	}
	return item
}
