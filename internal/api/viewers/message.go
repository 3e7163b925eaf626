package viewers

import (
	"bytes"
	"encoding/json"
	"fmt"

	"gaffer/statefile/jsontree"
)

// The types of messages that every follower gets. A follower is a client that watches a project.
const (
	ProjectsUpdate = "projects-update" // the projects that are registered, and which one is active
	EventHistory   = "event-history"   // the stored messages, for a client that connects or asks for them
	ViewerState    = "viewer-state"    // the workflow state has changed
	BuildEvent     = "build-event"     // an event was added to the project's event feed
	InboxUpdate    = "inbox-update"    // the inbox has changed
	SpecUpdate     = "spec-update"     // the spec has changed
)

// The types of messages that only followers of all documents get.
const (
	TeamUpdate     = "team-update"     // a document of the project's team has changed
	SessionsUpdate = "sessions-update" // a session was added, removed or changed
	BuildUpdate    = "build-update"    // the view of the build has changed
)

func forAllDocumentsOnly(kind string) bool {
	return kind == TeamUpdate || kind == SessionsUpdate || kind == BuildUpdate
}

// maxMessage is the maximum length in bytes of a message that is stored for followers. A longer
// message is dropped.
const maxMessage = 2 << 20

// member is one member of a JSON message: its name, and its value as JSON.
type member struct {
	name  string
	value []byte
}

// encodeMessage encodes a message about a project as JSON. The members type, _project and _seq
// contain the arguments kind, project and seq. Other members with these names are dropped.
func encodeMessage(kind, project string, seq int64, members ...member) ([]byte, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, `{"type":%s`, quoted(kind))
	for _, m := range members {
		if m.name != "type" && m.name != "_seq" && m.name != "_project" {
			fmt.Fprintf(&b, ",%s:%s", quoted(m.name), m.value)
		}
	}
	fmt.Fprintf(&b, `,"_project":%s,"_seq":%d}`, quoted(project), seq)
	return safeJSON(b.Bytes())
}

// safeJSON returns data as compact JSON. It escapes HTML characters and replaces invalid UTF-8:
// browsers close a WebSocket when they receive invalid UTF-8.
func safeJSON(data []byte) (json.RawMessage, error) {
	text, err := json.Marshal(json.RawMessage(bytes.ToValidUTF8(data, []byte("\uFFFD"))))
	if err != nil {
		return nil, fmt.Errorf("message: %w", err)
	}
	return text, nil
}

func quoted(text string) []byte {
	data, err := json.Marshal(text)
	if err != nil { // never happens: every string can be encoded
		return []byte(`""`)
	}
	return data
}

// members lists the members of a JSON object. If several have the same name, it returns only the
// last of them.
func members(v jsontree.Value) []member {
	at := map[string]int{}
	var list []member
	for name, value := range v.Members() {
		if i, twice := at[name]; twice {
			list[i].value = value.Raw()
			continue
		}
		at[name] = len(list)
		list = append(list, member{name, value.Raw()})
	}
	return list
}

// array returns a JSON array of items, which are already JSON.
func array[T ~[]byte](items []T) []byte {
	var b bytes.Buffer
	b.WriteByte('[')
	for i, item := range items {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(item)
	}
	b.WriteByte(']')
	return b.Bytes()
}

// itemsOfKind returns the elements of a JSON array that have the given kind, as raw JSON.
func itemsOfKind(v jsontree.Value, kind jsontree.Kind) [][]byte {
	var list [][]byte
	for _, item := range v.Items() {
		if item.Kind() == kind {
			list = append(list, item.Raw())
		}
	}
	return list
}

// normalized returns an event as JSON in a form that is the same for all equal events. If the event
// is not valid JSON, it is returned unchanged.
func normalized(raw []byte) string {
	var value any
	read := json.NewDecoder(bytes.NewReader(raw))
	read.UseNumber()
	if err := read.Decode(&value); err != nil {
		return string(raw)
	}
	text, err := json.Marshal(normalizeNumber(value))
	if err != nil {
		return string(raw)
	}
	return string(text)
}

// exactDigits is the maximum number of digits of a decimal number that a float64 always represents
// without loss.
const exactDigits = 15

// normalizeNumber replaces the numbers in value by float64 values, so that 1.0 and 1 become equal.
// It leaves a number with more than exactDigits characters unchanged, because different long
// numbers could become equal.
func normalizeNumber(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for name := range v {
			v[name] = normalizeNumber(v[name])
		}
	case []any:
		for i := range v {
			v[i] = normalizeNumber(v[i])
		}
	case json.Number:
		if f, err := v.Float64(); err == nil && len(v) <= exactDigits {
			return f
		}
	}
	return value
}
