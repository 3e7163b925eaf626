// Package yamldoc parses YAML files that users and agents write. It limits their size
// and nesting, and reports problems in plain words. The packages that read plans, build
// plans and settings use it, and convert or decode the parsed nodes themselves.
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

// Error is a problem of a file. Line and Column are 0 if the position is not known.
type Error struct {
	Line, Column int
	Problem      string
}

func (e *Error) Error() string { return e.Problem }

// Invalid tells callers that the error is about a document's content.
func (e *Error) Invalid() bool { return true }

func errorAt(tk *token.Token, format string, args ...any) *Error {
	e := &Error{Problem: fmt.Sprintf(format, args...)}
	e.Line, e.Column = Position(tk)
	return e
}

// Position returns the position of a token, counted from 1, or zeros if it is unknown.
func Position(tk *token.Token) (line, column int) {
	if tk == nil || tk.Position == nil {
		return 0, 0
	}
	return tk.Position.Line, tk.Position.Column
}

// Parse parses the single document in data. It returns nil if the document is empty. The
// error is an [*Error].
func Parse(data []byte, options ...parser.Option) (body ast.Node, err error) {
	// The parser is a third-party package; hostile input may make it panic.
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

// Decode stores a parsed node in the value that into points to, by its yaml tags. Keys
// without a field are errors. The error is an [*Error].
func Decode(n ast.Node, into any) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = errorAt(n.GetToken(), "the parser gave up: %.100v", p)
		}
	}()
	err = yaml.NodeToValue(n, into, yaml.Strict())
	if err == nil {
		return nil
	}
	// The library appends an excerpt of the file, so use only the message.
	if s, ok := errors.AsType[tokenError](err); ok {
		return errorAt(s.GetToken(), "%s", firstLine(s.GetMessage()))
	}
	return errorAt(nil, "%s", firstLine(err.Error()))
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// tokenError is the common interface of the parser's errors.
type tokenError interface {
	error
	GetToken() *token.Token
	GetMessage() string
}

// plainMessages replaces messages of the parser that users would not understand. The
// first match is used.
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
