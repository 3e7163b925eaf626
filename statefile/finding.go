package statefile

import "fmt"

// Finding is one violation of a document's protocol.
type Finding struct {
	Path     string   `json:"path"`         // path of the document
	At       string   `json:"at,omitempty"` // position in the document, such as agents[2].status
	Name     string   `json:"name"`         // fixed name of the violation, such as legacy-timestamp
	Severity Severity `json:"severity"`
	Text     string   `json:"text"` // what was found and what is expected
}

// Severity says how serious a finding is.
type Severity string

const (
	// Invalid documents break their protocol: a reader may misread them.
	Invalid Severity = "invalid"
	// Irregular documents are understood by gaffer, but not by every program.
	Irregular Severity = "irregular"
)

func (f Finding) String() string {
	at := f.Path
	if f.At != "" {
		at += ": " + f.At
	}
	return fmt.Sprintf("%s: %s (%s)", at, f.Text, f.Name)
}
