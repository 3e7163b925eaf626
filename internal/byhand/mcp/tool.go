package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"gaffer/internal/exit"
	"gaffer/internal/text/truncate"
	"gaffer/session"
	"gaffer/team"
)

type tool struct {
	def    *sdk.Tool
	need   right
	handle sdk.ToolHandler
}

// toolDoc describes a tool to agents and to the server.
type toolDoc struct {
	name, title string
	text        string // what the tool does and when to use it
	example     string // an example of valid arguments
	need        right
	repeatable  bool // a second call with the same arguments has no further effect
	waits       bool // the call waits for the user, so it is not counted towards the limit maxCalls
	// shape adds details to the schema of the arguments.
	shape func(properties map[string]*jsonschema.Schema)
}

// define returns a tool that calls fn, which returns a result and a short text about that result.
// define panics if the schema or the example of the tool is invalid.
func define[In, Out any](s *Server, d toolDoc, fn func(context.Context, *sdk.CallToolRequest, In) (Out, string, error)) tool {
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
		args, err := decodeArguments[In](resolved, req.Params.Arguments)
		if err != nil {
			return failure(&ArgumentsError{Err: err, Example: d.example}), nil
		}
		if err := s.startCall(ctx, d.waits); err != nil {
			return failure(err), nil
		}
		defer s.endCall(d.waits)
		result, text, err := fn(ctx, req, args)
		if err != nil {
			return failure(err), nil
		}
		return success(result, text, d.need == rightRead), nil
	}
	return tool{def: def, need: d.need, handle: handle}
}

func (d toolDoc) annotations() *sdk.ToolAnnotations {
	no := false
	return &sdk.ToolAnnotations{
		Title: d.title, ReadOnlyHint: d.need == rightRead, DestructiveHint: &no, OpenWorldHint: &no, IdempotentHint: d.repeatable || d.need == rightRead,
	}
}

// startCall waits until fewer than maxCalls tool calls are running. If the parameter waits is true,
// the call waits for the user. Such calls are not counted, so startCall returns at once.
func (s *Server) startCall(ctx context.Context, waits bool) error {
	if waits {
		return nil
	}
	select {
	case s.callSlots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *Server) endCall(waits bool) {
	if !waits {
		<-s.callSlots
	}
}

// Limits for the arguments of every tool: the length of a text in characters, and the number of
// items in a list. A tool can set other limits for its own arguments.
const (
	maxText  = 64 << 10
	maxItems = 200
)

func inputSchema[In any](d toolDoc) *jsonschema.Schema {
	schema := schemaOf[In]()
	for _, p := range schema.Properties {
		addLimits(p)
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

func addLimits(p *jsonschema.Schema) {
	switch {
	case p.Type == "string":
		p.MaxLength = ptr(maxText)
	case p.Items != nil:
		p.Type, p.Types, p.MaxItems = "array", nil, ptr(maxItems)
		addLimits(p.Items)
	}
}

// schemaOf returns the JSON schema of a type. It panics on an error, because only a mistake in an
// argument or result type of this package can cause an error. The server then panics at every
// start, so the mistake is found at once.
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

// object is a JSON object that gaffer passes on unchanged.
type object struct{ json.RawMessage }

func oneOf[T ~string](words ...T) []any {
	list := make([]any, len(words))
	for i, w := range words {
		list[i] = string(w)
	}
	return list
}

func ptr[T any](v T) *T { return &v }

// decodeArguments checks the arguments of a call against the schema, and decodes them.
func decodeArguments[In any](schema *jsonschema.Resolved, data json.RawMessage) (args In, err error) {
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

// ArgumentsError reports invalid arguments of a tool.
type ArgumentsError struct {
	Err     error
	Example string
}

func (e *ArgumentsError) Error() string { return "arguments: " + truncate.Chars(e.Err.Error(), 1000) }
func (e *ArgumentsError) Unwrap() error { return e.Err }

// Usage returns true, so that commands exit with code 2: wrong usage.
func (e *ArgumentsError) Usage() bool { return true }

// Hint returns an example of valid arguments.
func (e *ArgumentsError) Hint() string { return "valid arguments: " + e.Example }

// maxAnswer is the maximum size of an answer to a tool call, in bytes. A larger answer would use up
// too much of an agent's context.
const maxAnswer = 256 << 10

// success returns the answer to a tool call, with the result and a text about it. The parameter
// reading is true if the tool only reads. The answer of such a tool also contains the result as
// text, because some agent programs show only texts to their agent. If the result is too long, the
// answer of a reading tool is an error. The result of any other tool is shortened instead, because
// after an error the agent might repeat an action that has already been done.
func success(result any, text string, reading bool) *sdk.CallToolResult {
	data, err := json.Marshal(result)
	if err != nil {
		return failure(err)
	}
	if len(data) > maxAnswer && reading {
		return failure(&TooLongError{Size: len(data)})
	}
	short := len(data) > maxAnswer
	if short {
		if data, err = shortened(data); err != nil {
			return failure(err)
		}
	}
	r := &sdk.CallToolResult{StructuredContent: json.RawMessage(data), Content: []sdk.Content{&sdk.TextContent{Text: truncate.Chars(text, maxText)}}}
	if reading {
		r.Content = append(r.Content, &sdk.TextContent{Text: string(data)})
	}
	if short {
		r.Content = append(r.Content, &sdk.TextContent{Text: "the result was too long and is shortened"})
	}
	return r
}

// TooLongError reports that the result of a tool is larger than maxAnswer.
type TooLongError struct{ Size int }

func (e *TooLongError) Error() string {
	return fmt.Sprintf("the answer has %d KiB, more than the %d that one may have", e.Size>>10, maxAnswer>>10)
}

// Hint returns advice for the agent that called the tool.
func (e *TooLongError) Hint() string { return "ask for less: a part, or with a smaller limit" }

// failure returns the answer to a tool call that has failed. It contains the kind of the error,
// what happened and why, and, if that is known, what to do next.
func failure(err error) *sdk.CallToolResult {
	text := exit.Of(err).String() + ": " + truncate.Chars(err.Error(), 8000)
	if hint := exit.Hint(err); hint != "" {
		text += "\nnext: " + truncate.Chars(hint, 8000)
	}
	return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: text}}}
}
