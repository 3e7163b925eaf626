// Package yamldoc parses YAML files that users and agents write. It limits their size and nesting,
// and reports problems in plain words. It is used by the packages that read settings, plans of
// runs, and plans of 'gaffer build'. They decode the parsed nodes themselves, or with [Decode].
package yamldoc

import (
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// Error is a problem in a file. Line and Column are 0 if the position is unknown.
type Error struct {
	Line, Column int
	Problem      string
}

func (e *Error) Error() string { return e.Problem }

// Invalid returns true, so that commands exit with code 5 and the server answers with status 400.
func (e *Error) Invalid() bool { return true }

func errorAt(tk *token.Token, format string, args ...any) *Error {
	e := &Error{Problem: fmt.Sprintf(format, args...)}
	e.Line, e.Column = Position(tk)
	return e
}

// Position returns the line and column of a token, counted from 1. It returns zeros if they are
// unknown.
func Position(tk *token.Token) (line, column int) {
	if tk == nil || tk.Position == nil {
		return 0, 0
	}
	return tk.Position.Line, tk.Position.Column
}

// Parse parses a YAML document. It returns nil if the document is empty, and an error if data
// contains a second document. All errors are of type [*Error].
func Parse(data []byte, options ...parser.Option) (body ast.Node, err error) {
	// Turn a panic into an error: the parser is a third-party package, and hostile input may make
	// it panic.
	defer func() {
		if p := recover(); p != nil {
			body, err = nil, errorAt(nil, "not YAML: the parser gave up: %.100v", p)
		}
	}()
	tokens := lexer.Tokenize(strings.TrimPrefix(string(data), "\ufeff"))
	if err := checkLimits(tokens); err != nil {
		return nil, err
	}
	file, err := parser.Parse(tokens, 0, options...)
	if err != nil {
		if s, ok := errors.AsType[tokenError](err); ok {
			return nil, errorAt(s.GetToken(), "not YAML: %.200s", plainMessage(s.GetMessage()))
		}
		return nil, errorAt(nil, "not YAML: %.200s", err.Error())
	}
	if len(file.Docs) == 0 || file.Docs[0].Body == nil {
		return nil, nil
	}
	body = file.Docs[0].Body
	if body.Type() == ast.CommentType {
		return nil, nil
	}
	return body, nil
}

// Decode stores a parsed node in the value that target points to. The yaml tags of the value's
// fields say which key belongs to which field. A key without a field is an error. All errors are of
// type [*Error].
func Decode(n ast.Node, target any) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = errorAt(n.GetToken(), "the parser gave up: %.100v", p)
		}
	}()
	err = yaml.NodeToValue(n, target, yaml.Strict())
	if err == nil {
		return nil
	}
	// Use only the message: the error's text also contains an excerpt of the file.
	if s, ok := errors.AsType[tokenError](err); ok {
		return errorAt(s.GetToken(), "%s", firstLine(s.GetMessage()))
	}
	return errorAt(nil, "%s", firstLine(err.Error()))
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// tokenError is implemented by errors of the parser that know the token at which they occurred.
type tokenError interface {
	error
	GetToken() *token.Token
	GetMessage() string
}

// plainMessages translates messages of the parser that users would not understand. In each entry,
// the field says is a part of the parser's message, and the field means is the message for the
// user. The first entry that matches is used.
var plainMessages = []struct{ says, means string }{
	{"found character '\t'", "found a tab, want spaces at the beginning of a line"},
	{"mapping value is not allowed", "found a second ':' in the line; a text with ': ' in it stands in quotes"},
	{"value is not allowed in this", "found something that does not belong here; is the line indented like its neighbours?"},
	{"non-map value is specified", "found a text where a key was expected; is a ':' missing?"},
	{"unexpected key name", "found a text where a key was expected; is a ':' missing?"},
	{"could not find end character", "found a quote that is never closed"},
	{"',' or ']' must be specified", "a '[' above is not closed here, want ',' or ']'"},
	{"',' or '}' must be specified", "a '{' above is not closed here, want ',' or '}'"},
	{"sequence end token ']' not", "found a '[' that is never closed"},
	{"could not find flow map", "found a '{' that is never closed"},
}

func plainMessage(message string) string {
	for _, w := range plainMessages {
		if strings.Contains(message, w.says) {
			return w.means
		}
	}
	return message
}
