package config

import (
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// parse reads the YAML text of one file.
func parse(path string, data []byte) ([]Value, error) { return parseBelow("", path, data) }

// parseBelow reads a file whose content belongs below a dotted key, for example
// "team.roles".
func parseBelow(name, path string, data []byte) ([]Value, error) {
	r := reader{path: path}
	file, err := r.syntax(data)
	if err != nil {
		return nil, err
	}
	for i, doc := range file.Docs {
		if i > 0 {
			return nil, r.fail(doc.Start, errors.New("found a second YAML document, want one"))
		}
		if err := r.node(name, doc.Body); err != nil {
			return nil, err
		}
	}
	return r.values, nil
}

// reader traverses the YAML of one file and collects its settings.
type reader struct {
	path   string
	values []Value
}

func (r *reader) syntax(data []byte) (*ast.File, error) {
	tokens := lexer.Tokenize(strings.TrimPrefix(string(data), "\ufeff"))
	if deep := tooDeep(tokens); deep != nil {
		return nil, r.fail(deep, errors.New("found too many levels of nesting"))
	}
	file, err := parser.Parse(tokens, 0)
	if err == nil {
		return file, nil
	}
	if s, ok := errors.AsType[syntaxError](err); ok {
		return nil, r.fail(s.GetToken(), fmt.Errorf("not YAML: %.200s", s.GetMessage()))
	}
	return nil, r.fail(nil, fmt.Errorf("not YAML: %w", err))
}

// syntaxError is the common interface of the parser's errors.
type syntaxError interface {
	error
	GetToken() *token.Token
	GetMessage() string
}

// node reads the value of a dotted key. The whole file has the key "".
func (r *reader) node(name string, n ast.Node) error {
	switch n := n.(type) {
	case nil, *ast.CommentGroupNode:
		return nil
	case *ast.AnchorNode, *ast.AliasNode, *ast.TagNode: // these also implement ScalarNode
		return r.want(name, n)
	case *ast.MappingNode:
		return r.mapping(name, n)
	case *ast.SequenceNode:
		if k, _ := lookup(name); k.Kind == List {
			return r.list(name, n)
		}
	case ast.ScalarNode:
		return r.scalar(name, n)
	}
	return r.want(name, n)
}

func (r *reader) mapping(name string, m *ast.MappingNode) error {
	if _, leaf := lookup(name); leaf {
		return r.want(name, m)
	}
	for _, pair := range m.Values {
		key := pair.Key.GetToken().Value
		if name != "" {
			key = name + "." + key
		}
		if err := r.pair(key, pair); err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) pair(name string, pair *ast.MappingValueNode) error {
	if name == agentsKey {
		return r.agents(pair.Value)
	}
	if _, known := lookup(name); !known && !isSection(name) {
		return unknownKey(name, r.at(pair.Key.GetToken()))
	}
	return r.node(name, pair.Value)
}

// scalar treats a section without a value as empty: all its keys may be commented out.
func (r *reader) scalar(name string, n ast.ScalarNode) error {
	_, leaf := lookup(name)
	null := n.Type() == ast.NullType
	if null && !leaf {
		return nil
	}
	if null || !leaf {
		return r.want(name, n)
	}
	v, err := newValue(name, text(n), r.at(n.GetToken()))
	if err != nil {
		return err
	}
	r.values = append(r.values, v)
	return nil
}

// text returns the value as it is written in the file, without converting numbers. The
// token of a block scalar is its indicator, so its text comes from the block's value.
func text(n ast.ScalarNode) string {
	if block, ok := n.(*ast.LiteralNode); ok {
		return block.Value.Value
	}
	return n.GetToken().Value
}

// want returns the error for a value of the wrong shape.
func (r *reader) want(name string, n ast.Node) error {
	wanted := "one value"
	if _, leaf := lookup(name); !leaf {
		wanted = "keys with values"
	}
	err := error(&shapeError{shape(n), wanted})
	if name != "" {
		err = keyError{name, err}
	}
	return r.fail(n.GetToken(), err)
}

// shapeError describes a value of the wrong shape, such as a list instead of one text.
type shapeError struct{ found, want string }

func (e *shapeError) Error() string { return "found " + e.found + ", want " + e.want }

func shape(n ast.Node) string {
	switch n.Type() {
	case ast.NullType:
		return "no value"
	case ast.SequenceType:
		return "a list"
	case ast.MappingType, ast.MappingValueType:
		return "a mapping"
	case ast.AliasType, ast.AnchorType, ast.MergeKeyType:
		return "an alias or anchor"
	case ast.TagType:
		return "a tag"
	}
	return "a single value"
}

func (r *reader) fail(tk *token.Token, err error) error {
	return &Error{Source: r.at(tk), Err: err}
}

func (r *reader) at(tk *token.Token) Source {
	s := Source{File: r.path}
	if tk != nil && tk.Position != nil {
		s.Line, s.Col = tk.Position.Line, tk.Position.Column
	}
	return s
}
