package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"gaffer/internal/exit"
	"gaffer/session"
	"gaffer/team"
)

// tool is one tool of the server.
type tool struct {
	def    *sdk.Tool
	need   right
	handle sdk.ToolHandler
}

// doc is what is said of a tool.
type doc struct {
	name, title string
	text        string // what it does and when to use it
	example     string // arguments that are right
	need        right
	repeatable  bool // doing it again changes nothing
	waits       bool // for a person: it has no turn
	// shape says more of the arguments than their types do.
	shape func(properties map[string]*jsonschema.Schema)
}

// define makes a tool of a function from arguments to a result and a short text
// about it.
func define[In, Out any](s *Server, d doc, do func(context.Context, *sdk.CallToolRequest, In) (Out, string, error)) tool {
	in, out := inputSchema[In](d), schemaOf[Out]()
	resolved, err := in.Resolve(nil)
	if err != nil {
		panic("mcp: tool " + d.name + ": " + err.Error())
	}
	def := &sdk.Tool{
		Name: d.name, Title: d.title, Description: d.text + "\n\nExample: " + d.example,
		InputSchema: in, OutputSchema: out, Annotations: d.annotations(),
	}
	handle := func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		args, err := read[In](resolved, req.Params.Arguments)
		if err != nil {
			return failure(&ArgumentsError{Err: err, Example: d.example}), nil
		}
		if err := s.turn(ctx, d.waits); err != nil {
			return failure(err), nil
		}
		defer s.next(d.waits)
		result, text, err := do(ctx, req, args)
		if err != nil {
			return failure(err), nil
		}
		return success(result, text, d.need == look), nil
	}
	return tool{def: def, need: d.need, handle: handle}
}

func (d doc) annotations() *sdk.ToolAnnotations {
	no := false
	return &sdk.ToolAnnotations{
		Title: d.title, ReadOnlyHint: d.need == look, DestructiveHint: &no, OpenWorldHint: &no, IdempotentHint: d.repeatable || d.need == look,
	}
}

// turn waits until the call may be worked on. Who waits for a person needs none.
func (s *Server) turn(ctx context.Context, waits bool) error {
	if waits {
		return nil
	}
	select {
	case s.turns <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *Server) next(waits bool) {
	if !waits {
		<-s.turns
	}
}

// The most that arguments may have where a tool says nothing else.
const (
	maxText  = 64 << 10
	maxItems = 200
)

func inputSchema[In any](d doc) *jsonschema.Schema {
	schema := schemaOf[In]()
	for _, p := range schema.Properties {
		bound(p)
	}
	if d.shape != nil {
		d.shape(schema.Properties)
	}
	var example any
	if err := json.Unmarshal([]byte(d.example), &example); err != nil {
		panic("mcp: the example of " + d.name + ": " + err.Error())
	}
	schema.Examples = []any{example}
	return schema
}

func bound(p *jsonschema.Schema) {
	switch {
	case p.Type == "string":
		p.MaxLength = ptr(maxText)
	case p.Items != nil:
		p.Type, p.Types, p.MaxItems = "array", nil, ptr(maxItems)
		bound(p.Items)
	}
}

// schemaOf is the schema of a type. It is made of our own types alone, so that a
// mistake shows when a server is first made.
func schemaOf[T any]() *jsonschema.Schema {
	schema, err := jsonschema.For[T](&jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[json.RawMessage](): {},
		reflect.TypeFor[object]():          {Type: "object"},
		reflect.TypeFor[session.Time]():    {Types: []string{"null", "string"}},
		reflect.TypeFor[team.Message]():    {Type: "object"},
	}})
	if err != nil {
		panic("mcp: " + err.Error())
	}
	return schema
}

// object is a JSON object as it stands in a document, or in arguments.
type object struct{ json.RawMessage }

func oneOf[T ~string](words ...T) []any {
	list := make([]any, len(words))
	for i, w := range words {
		list[i] = string(w)
	}
	return list
}

func ptr[T any](v T) *T { return &v }

// read checks arguments and reads them.
func read[In any](schema *jsonschema.Resolved, data json.RawMessage) (args In, err error) {
	if len(data) == 0 || string(data) == "null" {
		data = json.RawMessage("{}")
	}
	var found any
	if err := json.Unmarshal(data, &found); err != nil {
		return args, err
	}
	if err := schema.Validate(found); err != nil {
		return args, err
	}
	return args, json.Unmarshal(data, &args)
}

// ArgumentsError is a call with arguments that the tool does not take.
type ArgumentsError struct {
	Err     error
	Example string
}

func (e *ArgumentsError) Error() string { return "arguments: " + clip(e.Err.Error(), 1000) }
func (e *ArgumentsError) Unwrap() error { return e.Err }

// Usage marks the error as the caller's mistake.
func (e *ArgumentsError) Usage() bool { return true }

// Hint shows arguments that are right.
func (e *ArgumentsError) Hint() string { return "such arguments are right: " + e.Example }

// maxAnswer is more than an agent can use of one answer.
const maxAnswer = 256 << 10

// success is a result, and a text about it. What was looked up is in the text,
// too: not every program shows its agent more than that. What was done is never
// told as failed, since it would be done again: it is shortened instead.
func success(result any, text string, looked bool) *sdk.CallToolResult {
	data, err := json.Marshal(result)
	if err != nil {
		return failure(err)
	}
	if len(data) > maxAnswer && looked {
		return failure(&TooLongError{Size: len(data)})
	}
	short := len(data) > maxAnswer
	if short {
		if data, err = shortened(data); err != nil {
			return failure(err)
		}
	}
	r := &sdk.CallToolResult{StructuredContent: json.RawMessage(data), Content: []sdk.Content{&sdk.TextContent{Text: clip(text, maxText)}}}
	if looked {
		r.Content = append(r.Content, &sdk.TextContent{Text: string(data)})
	}
	if short {
		r.Content = append(r.Content, &sdk.TextContent{Text: "the result was too long and is shortened"})
	}
	return r
}

// TooLongError is a result that no agent could use.
type TooLongError struct{ Size int }

func (e *TooLongError) Error() string {
	return fmt.Sprintf("the answer has %d KiB, more than the %d that one may have", e.Size>>10, maxAnswer>>10)
}

// Hint says what to do next.
func (e *TooLongError) Hint() string { return "ask for less: a part, or with a smaller limit" }

// failure is an error as an agent is told it: its kind, what happened and why,
// and what to do next if that is known.
func failure(err error) *sdk.CallToolResult {
	text := exit.Of(err).String() + ": " + clip(err.Error(), 8000)
	if hint := exit.Hint(err); hint != "" {
		text += "\nnext: " + clip(hint, 8000)
	}
	return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: text}}}
}

// clip shortens what quotes others.
func clip(text string, most int) string {
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}
