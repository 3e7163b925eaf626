package ledger

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"

	"gaffer/statefile/jsontree"
)

var update = flag.Bool("update", false, "render the schemas from the rules")

func TestTheSchemasSayWhatTheRulesSay(t *testing.T) {
	for _, kind := range Kinds() {
		want := render(t, kind)
		if *update {
			if err := os.WriteFile("schemas/"+string(kind)+".schema.json", want, 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if diff := cmp.Diff(string(want), string(Schema(kind))); diff != "" {
			t.Errorf("%s: go test ./ledger -update renders it again\n%s", kind, diff)
		}
	}
}

// property is one property of a schema, with its members in the order of the file.
type property struct {
	Const      int      `json:"const,omitempty"`
	Type       any      `json:"type,omitempty"`
	Enum       []string `json:"enum,omitempty"`
	Format     string   `json:"format,omitempty"`
	Pattern    string   `json:"pattern,omitempty"`
	MinLength  int      `json:"minLength,omitempty"`
	Minimum    *int     `json:"minimum,omitempty"`
	Properties ordered  `json:"properties,omitempty"`
}

type ordered []rule

func (o ordered) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	for i, r := range o {
		text, err := json.Marshal(propertyOf(r))
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, "%c%q:%s", "{,"[min(i, 1)], r.name, text)
	}
	return append(b.Bytes(), '}'), nil
}

func propertyOf(r rule) property {
	types := map[form]string{
		aText: "string", anInstant: "string", aHash: "string", aNumber: "integer",
		aTruth: "boolean", aList: "array", anObject: "object",
	}
	p := property{Enum: r.oneOf, Properties: r.members}
	if r.form == aVersion {
		p.Const = Version
		return p
	}
	p.Type = types[r.form]
	if r.null {
		p.Type = []string{types[r.form], "null"}
	}
	switch {
	case r.form == anInstant:
		p.Format = "date-time"
	case r.form == aHash:
		p.Pattern = "^[0-9a-f]{64}$"
	case r.form == aNumber && r.least != anyNumber:
		p.Minimum = &r.least
	case r.filled:
		p.MinLength = 1
	}
	return p
}

func render(t *testing.T, kind Kind) []byte {
	t.Helper()
	var required []string
	for _, r := range kind.rules() {
		if r.need != optional {
			required = append(required, r.name)
		}
	}
	text, err := json.Marshal(struct {
		Schema     string   `json:"$schema"`
		Title      string   `json:"title"`
		Type       string   `json:"type"`
		Additional bool     `json:"additionalProperties"`
		Required   []string `json:"required"`
		Properties ordered  `json:"properties"`
	}{"https://json-schema.org/draft/2020-12/schema", string(kind) + " record", "object", false, required, kind.rules()})
	if err != nil {
		t.Fatal(err)
	}
	text, err = jsontree.Format(text)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func compiled(t *testing.T, kind Kind) *jsonschema.Schema {
	t.Helper()
	text, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema(kind)))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("schema.json", text); err != nil {
		t.Fatal(err)
	}
	return c.MustCompile("schema.json")
}

// agree checks that the strict check and the schema agree on whether a record is valid, and returns
// that.
func agree(t interface{ Fatalf(string, ...any) }, schema *jsonschema.Schema, kind Kind, data []byte) (valid bool) {
	doc, err := jsontree.Parse(data)
	if err != nil {
		t.Fatalf("%v in %s", err, data)
	}
	c := newCheck(kind, "record.json", true)
	c.record(doc.Value())
	if c.values != nil && !c.full {
		return false // not compared: the schema describes only the full form
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatalf("%v in %s", err, data)
	}
	theirs := schema.Validate(value)
	if ours := onlyInvalid(c.found); (theirs == nil) != (len(ours) == 0) {
		t.Fatalf("the schema says %v, the rules say %v about\n%s", theirs, ours, data)
	}
	return theirs == nil
}

func TestRulesAndSchemaAgreeOnEveryGolden(t *testing.T) {
	schemas := map[Kind]*jsonschema.Schema{RunKind: compiled(t, RunKind), ResultKind: compiled(t, ResultKind)}
	for path, kind := range goldens(t) {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if jsontree.Valid(data) {
			agree(t, schemas[kind], kind, data)
		}
	}
}

// values are the values that the test tries for each field. Some are valid, some are not.
var values = []string{
	`null`, `true`, `false`, `[]`, `["x"]`, `{}`, `{"lint":"pass"}`, `{"lint":"maybe"}`, `{"lint_details":null,"overall":"skipped"}`, `{"x":1}`,
	`0`, `-0`, `1`, `2`, `-1`, `1.0`, `10e-1`, `0.5`, `1e400`, `-1e400`, `1e-400`, `0e5`, `12345678901234567890`, `1.10e1`,
	`""`, `"x"`, `"claude"`, `"codex"`, `"gemini"`, `"running"`, `"done"`, `"Done"`, `"pass"`, `"é"`, `"\u0000"`,
	`"2026-02-12T17:08:00Z"`, `"2026-02-12T17:08:00z"`, `"2026-02-12t17:08:00.5+01:00"`, `"2026-02-12T17:08:00,5Z"`, `"2026-02-12T7:08:00Z"`,
	`"2026-02-30T17:08:00Z"`, `"2026-02-12 17:08:00Z"`, `"2026-02-12T17:08:00"`, `"2026-02-12T25:08:00Z"`, `"2026-02-12T17:08:00+0100"`, `"'$START'"`,
	`"` + strings.Repeat("0a", 32) + `"`, `"` + strings.Repeat("0A", 32) + `"`, `"` + strings.Repeat("0a", 31) + `"`,
}

func TestRulesAndSchemaAgreeOnEveryFieldWithEveryValue(t *testing.T) {
	for _, kind := range Kinds() {
		schema, valid := compiled(t, kind), 0
		for _, r := range append([]rule{{name: "surprise"}}, kind.rules()...) {
			for _, v := range append([]string{""}, values...) {
				if agree(t, schema, kind, with(t, kind, r.name, v)) {
					valid++
				}
			}
		}
		if valid < 20 {
			t.Errorf("only %d valid %s records among them: the others hide each other's faults", valid, kind)
		}
	}
}

// with returns a valid full record in which one field is set to v, or removed if v is "".
func with(t interface{ Fatal(...any) }, kind Kind, field, v string) []byte {
	doc, err := jsontree.Parse(sound(kind))
	if err != nil {
		t.Fatal(err)
	}
	if v == "" {
		doc.Root().Delete(field)
	} else {
		doc.Root().Set(field, json.RawMessage(v))
	}
	return doc.Bytes()
}

// sound returns a valid record in the full form.
func sound(kind Kind) []byte {
	run := NewRun(Dispatch{Bead: "bd-abc", Agent: "claude", Model: "sonnet", Repo: "/repo", Prompt: "Fix the lock"}, noon)
	run.ResultFile = "state/results/bd-abc.json"
	var record any = run
	if kind == ResultKind {
		record = Result{
			SchemaVersion: Version, Bead: run.Bead, Agent: run.Agent, Status: Done, Reason: "fixed",
			StartedAt: run.StartedAt, FinishedAt: run.StartedAt, Attempt: 1, MaxRetries: 2, SessionName: run.SessionName,
		}
	}
	data, err := encode(record)
	if err != nil {
		panic(err)
	}
	return data
}

func TestRulesAndSchemaAgreeOnRandomRecords(t *testing.T) {
	for _, kind := range Kinds() {
		schema := compiled(t, kind)
		rapid.Check(t, func(t *rapid.T) {
			doc, err := jsontree.Parse(sound(kind))
			if err != nil {
				t.Fatal(err)
			}
			names := []string{"surprise", ""}
			for _, r := range kind.rules() {
				names = append(names, r.name)
			}
			for range rapid.IntRange(0, 4).Draw(t, "edits") {
				name := rapid.SampledFrom(names).Draw(t, "field")
				if rapid.Bool().Draw(t, "remove") {
					doc.Root().Delete(name)
				} else {
					doc.Root().Set(name, json.RawMessage(rapid.SampledFrom(values).Draw(t, "value")))
				}
			}
			agree(t, schema, kind, doc.Bytes())
		})
	}
}
