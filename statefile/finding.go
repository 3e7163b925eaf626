package statefile

import "fmt"

// Finding is one departure of a document from its protocol.
type Finding struct {
	Path     string   `json:"path"`         // the document
	At       string   `json:"at,omitempty"` // where in it, such as agents[2].status
	Name     string   `json:"name"`         // the departure's fixed name, such as legacy-timestamp
	Severity Severity `json:"severity"`
	Text     string   `json:"text"` // what was found and what should be there
}

// Severity says how bad a finding is.
type Severity string

const (
	// Invalid documents break their protocol: a reader may misread them.
	Invalid Severity = "invalid"
	// Irregular documents are read as meant, but not every program does so.
	Irregular Severity = "irregular"
)

func (f Finding) String() string {
	at := f.Path
	if f.At != "" {
		at += ": " + f.At
	}
	return fmt.Sprintf("%s: %s (%s)", at, f.Text, f.Name)
}
