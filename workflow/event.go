package workflow

import (
	"fmt"
	"maps"
	"slices"
	"time"
	"unicode"

	"gaffer/statefile/jsontree"
	"gaffer/statefile/timestamp"
)

// The kinds of events that the workflow protocol, or programs that use it, define. gaffer keeps and
// shows events of other kinds unchanged.
const (
	ChunkStarted        = "chunk-started"        // an agent has started to work on a chunk (a part of the build)
	ChunkCompleted      = "chunk-completed"      // a chunk is complete
	ChunkFailed         = "chunk-failed"         // a chunk has failed
	ChunkRetrying       = "chunk-retrying"       // a chunk is built again after a failure
	SectionStarted      = "section-started"      // work on a section of the spec has started
	SectionCompleted    = "section-completed"    // work on a section of the spec has ended
	ScenarioEvaluated   = "scenario-evaluated"   // a scenario was checked; the event contains the result
	ChunkVerified       = "chunk-verified"       // all checks of a chunk have passed
	VerificationFailed  = "verification-failed"  // a check of a chunk has failed, or there were no checks
	ContextCheckpointed = "context-checkpointed" // the build's state was saved before an agent starts
	ContextBoundary     = "context-boundary"     // an agent starts to work on a chunk; the event contains the isolation mode
	ContextCompacted    = "context-compacted"    // the agent's context was compacted
	InterviewStarted    = "interview-started"    // an interview with the user has started
	InterviewCompleted  = "interview-completed"  // an interview with the user has ended
	CheckpointSaved     = "checkpoint-saved"     // the state of the build was saved
	EscalationEmitted   = "escalation-emitted"   // the build needs a decision or an action of the user
)

// kinds lists, for each kind of event, the fields whose values must have a certain form. The fields
// in the map everyEvent are not repeated here. A field that is in neither of the two maps may hold
// any value.
var kinds = map[string]map[string]form{
	ChunkStarted:        {"section": formText, "attempt": formWhole, "chunkNumber": formWhole, "totalChunks": formWhole},
	ChunkCompleted:      {"scenarios": formTexts},
	ChunkFailed:         {"reason": formText},
	ChunkRetrying:       {"attempt": formWhole, "reason": formText},
	SectionStarted:      {"section": formText},
	SectionCompleted:    {"section": formText},
	ScenarioEvaluated:   {"scenario": formText, "result": formText},
	ChunkVerified:       {"checks": formChecks, "mode": formMode, "screenshot": formText},
	VerificationFailed:  {"checks": formChecks, "mode": formMode, "screenshot": formText},
	ContextCheckpointed: {},
	ContextBoundary:     {"isolationMode": formText},
	ContextCompacted:    {},
	InterviewStarted:    {},
	InterviewCompleted:  {},
	CheckpointSaved:     {},
	EscalationEmitted:   {"reason": formText},
}

// everyEvent lists the fields that events of all known kinds may have, with the form of their
// values.
var everyEvent = map[string]form{"chunk": formText, "timestamp": formTime, "summary": formText}

// Kinds returns the known kinds of events, sorted.
func Kinds() []string { return slices.Sorted(maps.Keys(kinds)) }

// Field is one member of a JSON object, such as an event. Value is a [jsontree.Value] or anything
// that encoding/json can encode.
type Field struct {
	Name  string
	Value any
}

// Draft is an event that has not been added to the feed yet. The feed is the list of events in
// state.json.
type Draft struct {
	Kind   string
	Fields []Field
}

// Check is one check in the verification of a chunk, with its result.
type Check struct {
	Name    string `json:"name"`
	Result  string `json:"result"` // pass or fail
	Retried bool   `json:"retried,omitempty"`
}

// The possible values of Check.Result.
const (
	Pass = "pass"
	Fail = "fail"
)

// The modes of a verification. They say how thorough the verification is.
const (
	Full    = "full"    // all checks; a browser checks the pages
	Reduced = "reduced" // all checks, but pages are checked without a browser
	Minimal = "minimal" // only the exit codes of commands are checked
)

// Verified returns the event that reports the verification of a chunk. Its kind is chunk-verified
// if there is at least one check and all checks passed, and verification-failed otherwise. If the
// parameter summary is empty, the event's summary says how many checks passed. The parameter
// screenshot may be empty.
func Verified(chunk, summary string, checks []Check, mode, screenshot string) Draft {
	passed := 0
	for _, c := range checks {
		if c.Result == Pass {
			passed++
		}
	}
	kind := VerificationFailed
	if passed > 0 && passed == len(checks) {
		kind = ChunkVerified
	}
	if summary == "" {
		summary = fmt.Sprintf("%d/%d checks passed", passed, len(checks))
	}
	fields := []Field{{"chunk", chunk}, {"summary", summary}, {"checks", notNil(checks)}, {"mode", mode}}
	if screenshot != "" {
		fields = append(fields, Field{"screenshot", screenshot})
	}
	return Draft{kind, fields}
}

// Checkpointed returns the event that reports that the build's state was saved before an agent
// starts to work on a chunk.
func Checkpointed(chunk, summary string) Draft {
	return Draft{ContextCheckpointed, []Field{{"chunk", chunk}, {"summary", summary}}}
}

// Boundary returns the event that reports that an agent starts to work on a chunk. The parameter
// isolationMode says how the agent's context is separated from earlier work, for example "fresh
// session".
func Boundary(chunk, isolationMode, summary string) Draft {
	return Draft{ContextBoundary, []Field{{"chunk", chunk}, {"summary", summary}, {"isolationMode", isolationMode}}}
}

// Compacted returns the event that reports that an agent's context was compacted during a build.
func Compacted(chunk, summary string) Draft {
	return Draft{ContextCompacted, []Field{{"chunk", chunk}, {"summary", summary}}}
}

// TextField returns an event field with a value that the user typed. If the field must hold a
// string in events of this kind, the typed text is the value. Otherwise the typed text is parsed as
// JSON. If it is not JSON, or if it is a JSON string in quotes, the value is the text as typed,
// with any quotes.
func TextField(kind, name, typed string) (Field, error) {
	if err := checkText(name, typed); err != nil {
		return Field{}, err
	}
	if f, ok := formOf(kind, name); ok && f.want == formText.want {
		return Field{name, stringValue(typed)}, nil
	}
	doc, err := jsontree.Parse([]byte(typed))
	if err != nil || doc.Value().Kind() == jsontree.String {
		return Field{name, stringValue(typed)}, nil
	}
	return Field{name, doc.Value()}, nil
}

// Event checks the draft and returns it as an event. The fields are in the workflow protocol's
// order: kind, chunk, timestamp, summary, then the other fields in the order of the draft. If the
// draft has no timestamp, the event gets the time now.
func (d Draft) Event(now time.Time) (jsontree.Value, error) {
	if err := checkKind(d.Kind); err != nil {
		return jsontree.Value{}, err
	}
	first := map[string]Field{"timestamp": {"timestamp", timestamp.Format(now)}}
	seen := map[string]bool{"kind": true}
	var rest []Field
	for _, f := range d.Fields {
		v, err := d.check(f, seen[f.Name])
		if err != nil {
			return jsontree.Value{}, err
		}
		seen[f.Name] = true
		if _, ok := everyEvent[f.Name]; ok {
			first[f.Name] = Field{f.Name, v}
		} else {
			rest = append(rest, Field{f.Name, v})
		}
	}
	fields := []Field{{"kind", d.Kind}}
	for _, name := range []string{"chunk", "timestamp", "summary"} {
		if f, ok := first[name]; ok {
			fields = append(fields, f)
		}
	}
	return newObject(append(fields, rest...)...), nil
}

// check returns the value of the field f as JSON. It returns an error if the name or the value of f
// is not allowed in an event of the draft's kind. The caller sets duplicate to true if an earlier
// field of the draft has the same name.
func (d Draft) check(f Field, duplicate bool) (jsontree.Value, error) {
	refuse := func(problem string) (jsontree.Value, error) {
		return jsontree.Value{}, &ArgumentError{What: fmt.Sprintf("event %s: field %q", d.Kind, shorten(f.Name)), Problem: problem}
	}
	switch {
	case f.Name == "":
		return refuse("has no name")
	case f.Name == "kind":
		return refuse("is the event's kind already")
	case duplicate:
		return refuse("is given twice")
	}
	if err := checkText("the field's name", f.Name); err != nil {
		return jsontree.Value{}, err
	}
	v := newObject(f).Get(f.Name)
	if v.Kind() == jsontree.Missing {
		return refuse("has a value that JSON cannot hold")
	}
	if deeperThan(v, maxNesting/2) {
		return refuse(fmt.Sprintf("nests deeper than %d levels", maxNesting/2))
	}
	if form, ok := formOf(d.Kind, f.Name); ok && !form.ok(v) {
		return refuse(fmt.Sprintf("is %s, want %s", shorten(string(v.Raw())), form.want))
	}
	return v, nil
}

// maxKind is the maximum length of an event's kind, in bytes.
const maxKind = 100

func checkKind(kind string) error {
	problem := ""
	switch {
	case kind == "":
		problem = "is empty"
	case len(kind) > maxKind:
		problem = fmt.Sprintf("has more than %d bytes", maxKind)
	}
	for _, r := range kind {
		if r == unicode.ReplacementChar || !unicode.IsPrint(r) || unicode.IsSpace(r) {
			problem = "has a space or a character that cannot be printed"
		}
	}
	if problem == "" {
		return nil
	}
	return &ArgumentError{What: fmt.Sprintf("event kind %q", shorten(kind)), Problem: problem, Next: "a kind is a word such as chunk-started"}
}

// ParseFields reads the fields of an event from a JSON object. It keeps their order.
func ParseFields(data []byte) ([]Field, error) {
	doc, err := jsontree.Parse(data)
	if err != nil {
		return nil, &ArgumentError{What: "fields", Problem: "are not JSON: " + err.Error()}
	}
	if kind := doc.Root().Kind(); kind != jsontree.Object {
		return nil, &ArgumentError{What: "fields", Problem: fmt.Sprintf("are %s, want an object", kind)}
	}
	var fields []Field
	for name, v := range doc.Value().Members() {
		fields = append(fields, Field{Name: name, Value: v})
	}
	return fields, nil
}
