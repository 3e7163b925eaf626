package viewers

import (
	"bytes"
	"encoding/json"
	"fmt"

	"gaffer/statefile/jsontree"
)

// The messages that a viewer is sent.
const (
	ProjectsUpdate = "projects-update"
	EventHistory   = "event-history"
	ViewerState    = "viewer-state"
	BuildEvent     = "build-event"
	InboxUpdate    = "inbox-update"
	SpecUpdate     = "spec-update"
)

// The messages that only those are sent who look at all documents.
const (
	TeamUpdate     = "team-update"
	SessionsUpdate = "sessions-update"
	BuildUpdate    = "build-update"
)

func isWide(kind string) bool {
	return kind == TeamUpdate || kind == SessionsUpdate || kind == BuildUpdate
}

// maxMessage is how long a message may be. A document that is longer is not told.
const maxMessage = 2 << 20

// member is one member of a message. Its value is JSON.
type member struct {
	name  string
	value []byte
}

// wire writes a message of a project. What a document calls its members cannot
// change what kind of message it is, nor whose.
func wire(kind, project string, seq int64, members ...member) ([]byte, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, `{"type":%s`, quoted(kind))
	for _, m := range members {
		if m.name != "type" && m.name != "_seq" && m.name != "_project" {
			fmt.Fprintf(&b, ",%s:%s", quoted(m.name), m.value)
		}
	}
	fmt.Fprintf(&b, `,"_project":%s,"_seq":%d}`, quoted(project), seq)
	return safe(b.Bytes())
}

// safe returns JSON that may be put anywhere: compact, without characters that
// mean something in HTML, and UTF-8, without which a browser hangs up.
func safe(data []byte) (json.RawMessage, error) {
	text, err := json.Marshal(json.RawMessage(bytes.ToValidUTF8(data, []byte("\uFFFD"))))
	if err != nil {
		return nil, fmt.Errorf("message: %w", err)
	}
	return text, nil
}

func quoted(text string) []byte {
	data, err := json.Marshal(text)
	if err != nil { // it never is: a string can be written
		return []byte(`""`)
	}
	return data
}

// members lists the members of an object, each name once: the last counts.
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

// array writes values as an array.
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

// raws returns the items of a kind in an array as they stand.
func raws(v jsontree.Value, kind jsontree.Kind) [][]byte {
	var list [][]byte
	for _, item := range v.Items() {
		if item.Kind() == kind {
			list = append(list, item.Raw())
		}
	}
	return list
}

// essence is what an event says, however it is spelt.
func essence(raw []byte) string {
	var value any
	read := json.NewDecoder(bytes.NewReader(raw))
	read.UseNumber()
	if err := read.Decode(&value); err != nil {
		return string(raw)
	}
	text, err := json.Marshal(plain(value))
	if err != nil {
		return string(raw)
	}
	return string(text)
}

// exact is how many characters a number may have for a float64 to tell it from
// all others.
const exact = 15

// plain spells short numbers in one way, 1.0 as 1. Longer ones stay as they are:
// two that differ must not become the same.
func plain(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for name := range v {
			v[name] = plain(v[name])
		}
	case []any:
		for i := range v {
			v[i] = plain(v[i])
		}
	case json.Number:
		if f, err := v.Float64(); err == nil && len(v) <= exact {
			return f
		}
	}
	return value
}
