package plan

import (
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"gaffer/internal/yamldoc"
)

// kind is the kind of a YAML value.
type kind int

const (
	nothing kind = iota // the key has no value
	scalar
	list
	mapping
)

func (k kind) String() string {
	return [...]string{"no value", "a single value", "a list", "a mapping"}[k]
}

// node is a value in a YAML or JSON file, and its position. An alias in YAML shares the node of the
// value to which it refers.
type node struct {
	kind  kind
	text  string // text of a scalar as it is written in the file, so that 001 stays 001
	items []*node
	pairs []pair
	position
	// size is the number of keys and values in the node, including the node itself. If several
	// aliases refer to the same value, that value is counted once for each alias.
	size int
}

type pair struct {
	key   string
	at    position
	value *node
}

// maxExpanded limits the total size of a file's aliases. The size of an alias is the number of keys
// and values in the value to which the alias refers.
const maxExpanded = 1_000_000

// tree parses data, which must be one YAML document. It returns nil if the document is empty. If
// the document is not valid, it reports a problem and returns nil.
func (r *reporter) tree(data []byte) *node {
	body, err := yamldoc.Parse(data, parser.AllowDuplicateMapKey())
	if problem, ok := errors.AsType[*yamldoc.Error](err); ok {
		r.report(position{line: problem.Line, column: problem.Column}, "%s", problem.Problem)
	}
	if body == nil {
		return nil
	}
	t := treeReader{reporter: r, anchors: map[string]*node{}}
	return t.read(body)
}

func positionOf(tk *token.Token) position {
	line, column := yamldoc.Position(tk)
	return position{line: line, column: column}
}

// treeReader converts the nodes of the YAML parser to nodes of this package.
type treeReader struct {
	*reporter
	anchors  map[string]*node
	expanded int
}

func (t *treeReader) read(n ast.Node) *node {
	switch n := n.(type) {
	case *ast.AnchorNode:
		value := t.read(n.Value)
		// Store the anchor after its value was read, so that the value cannot contain itself.
		t.anchors[n.Name.GetToken().Value] = value
		return value
	case *ast.AliasNode:
		return t.alias(n)
	case *ast.TagNode:
		t.report(positionOf(n.GetToken()), "found the tag %.40q, which plans do without", n.GetToken().Value)
		return t.read(n.Value)
	case *ast.MappingNode:
		return t.mapping(n.Values)
	case *ast.MappingValueNode:
		return t.mapping([]*ast.MappingValueNode{n})
	case *ast.SequenceNode:
		return t.list(n)
	case *ast.LiteralNode:
		return &node{kind: scalar, text: n.Value.Value, position: positionOf(n.GetToken()), size: 1}
	case *ast.StringNode:
		return &node{kind: scalar, text: n.Value, position: positionOf(n.GetToken()), size: 1}
	case *ast.NullNode, *ast.CommentGroupNode:
		return &node{position: positionOf(n.GetToken()), size: 1}
	case ast.ScalarNode:
		return &node{kind: scalar, text: n.GetToken().Value, position: positionOf(n.GetToken()), size: 1}
	case nil:
		return &node{size: 1}
	}
	return &node{position: positionOf(n.GetToken()), size: 1}
}

func (t *treeReader) alias(n *ast.AliasNode) *node {
	name, at := n.Value.GetToken().Value, positionOf(n.GetToken())
	target, ok := t.anchors[name]
	if !ok {
		t.report(at, "no value above is marked &%s, which *%s stands for", name, name)
		t.suggest(name, sortedKeys(t.anchors))
		return &node{position: at, size: 1}
	}
	if !t.withinAliasLimit(at, target) {
		return &node{position: at, size: 1}
	}
	return target
}

// withinAliasLimit adds the size of target, the value to which an alias refers, to t.expanded, the
// total size of all aliases so far. It reports whether t.expanded is still at most maxExpanded.
func (t *treeReader) withinAliasLimit(at position, target *node) bool {
	before := t.expanded
	t.expanded += target.size
	if before <= maxExpanded && t.expanded > maxExpanded {
		t.report(at, "the aliases (*name) stand for more than %d values, which is too much for one plan", maxExpanded)
	}
	return t.expanded <= maxExpanded
}

func (t *treeReader) list(n *ast.SequenceNode) *node {
	l := &node{kind: list, position: positionOf(n.GetToken()), size: 1}
	for _, value := range n.Values {
		item := t.read(value)
		l.items = append(l.items, item)
		l.size += item.size
	}
	return l
}

func (t *treeReader) mapping(values []*ast.MappingValueNode) *node {
	m := &node{kind: mapping, size: 1}
	lines := map[string]int{}
	var merged []*node
	for _, value := range values {
		if _, marked := value.Key.(*ast.MappingKeyNode); marked {
			t.report(positionOf(value.Key.GetToken()), "found a key that begins with '?', want a plain key")
			continue
		}
		key := pair{key: keyText(value.Key), at: positionOf(value.Key.GetToken())}
		if m.position == (position{}) {
			m.position = key.at
		}
		key.value = t.read(value.Value)
		if value.Key.IsMergeKey() {
			merged = append(merged, key.value)
			continue
		}
		if first, twice := lines[key.key]; twice {
			t.report(key.at, "the key %q stands here twice, the first time in line %d", key.key, first)
			continue
		}
		lines[key.key] = key.at.line
		m.add(key)
	}
	t.merge(m, merged)
	return m
}

func (n *node) add(p pair) {
	n.pairs = append(n.pairs, p)
	n.size += 1 + p.value.size
}

// merge adds the pairs of YAML merge keys (<<) to the mapping m. It skips keys that m already has.
func (t *treeReader) merge(m *node, from []*node) {
	said := map[string]bool{}
	for _, p := range m.pairs {
		said[p.key] = true
	}
	for _, source := range flatten(from) {
		if source.kind == nothing {
			continue
		}
		if source.kind != mapping {
			t.report(source.position, "<< wants a mapping such as *name, found %s", source.kind)
			continue
		}
		for _, p := range source.pairs {
			if !said[p.key] {
				said[p.key] = true
				m.add(p)
			}
		}
	}
}

func flatten(nodes []*node) []*node {
	var flat []*node
	for _, n := range nodes {
		if n.kind == list {
			flat = append(flat, n.items...)
		} else {
			flat = append(flat, n)
		}
	}
	return flat
}

func keyText(key ast.MapKeyNode) string {
	if s, ok := key.(*ast.StringNode); ok {
		return s.Value
	}
	return strings.TrimSpace(fmt.Sprint(key.GetToken().Value))
}

// get returns the value of a key in a mapping, or nil if the mapping does not have the key.
func (n *node) get(key string) *node {
	if n == nil {
		return nil
	}
	for _, p := range n.pairs {
		if p.key == key {
			return p.value
		}
	}
	return nil
}
