package config

import (
	"errors"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"gaffer/internal/yamldoc"
)

// parse returns the settings in data, the YAML text of the file at path.
func parse(path string, data []byte) ([]Value, error) { return parseBelow("", path, data) }

// parseBelow returns the settings in data, the YAML text of the file at path. name is the section
// to which the keys in the file belong, for example "team.roles". It is "" for a complete
// configuration file.
func parseBelow(name, path string, data []byte) ([]Value, error) {
	r := reader{path: path}
	body, err := yamldoc.Parse(data)
	if problem, ok := errors.AsType[*yamldoc.Error](err); ok {
		return nil, &Error{Origin: Origin{File: path, Line: problem.Line, Col: problem.Column}, Err: err}
	}
	if err := r.node(name, body); err != nil {
		return nil, err
	}
	return r.values, nil
}

// reader goes through the YAML of one file and collects the settings in it.
type reader struct {
	path   string
	values []Value
}

// node reads the settings from n, the YAML value of the key or section with this name, for example
// "paths.team". If n is the content of the whole file, name is "".
func (r *reader) node(name string, n ast.Node) error {
	switch n := n.(type) {
	case nil, *ast.CommentGroupNode:
		return nil
	case *ast.AnchorNode, *ast.AliasNode, *ast.TagNode: // must come before case ScalarNode, which these types also implement
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
	switch name {
	case agentsKey:
		return r.agents(pair.Value)
	case accountsKey:
		return r.accounts(pair.Value)
	}
	if name == sourcesKey {
		return r.sources(pair.Value)
	}
	if _, known := lookup(name); !known && !isSection(name) {
		return unknownKey(name, r.at(pair.Key.GetToken()))
	}
	return r.node(name, pair.Value)
}

// scalar reads the setting from n, the scalar value of the key with this name. If name is a
// section, scalar allows that its value is missing, because all keys of the section may be
// commented out.
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

// text returns the text of a scalar. A number is not converted: its text is as it is written in the
// file. The token of a block scalar contains only its indicator (| or >), so its text is taken from
// the block's value.
func text(n ast.ScalarNode) string {
	if block, ok := n.(*ast.LiteralNode); ok {
		return block.Value.Value
	}
	return n.GetToken().Value
}

// want returns the error for n, a value of the wrong type for the key or section with this name.
// For example, n is a list, but the key needs a single value.
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

// shapeError reports a value of the wrong type, for example a list where a text is needed.
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
	return &Error{Origin: r.at(tk), Err: err}
}

func (r *reader) at(tk *token.Token) Origin {
	line, column := yamldoc.Position(tk)
	return Origin{File: r.path, Line: line, Col: column}
}
