package statefile

import "fmt"

// Finding is one violation of a document's protocol, that is, of the rules for its content.
type Finding struct {
	Path     string   `json:"path"`         // path of the document, or of another file such as its lock
	At       string   `json:"at,omitempty"` // path within the document, such as agents[2].status; empty means the whole document
	Name     string   `json:"name"`         // fixed name of the violation, such as legacy-timestamp
	Severity Severity `json:"severity"`
	Text     string   `json:"text"` // what was found and what is expected
}

// Severity says how serious a finding is.
type Severity string

const (
	// Invalid means that the document breaks its protocol, so a program may misread it.
	Invalid Severity = "invalid"
	// Irregular means that gaffer understands the document, but some other programs may not.
	Irregular Severity = "irregular"
)

func (f Finding) String() string {
	at := f.Path
	if f.At != "" {
		at += ": " + f.At
	}
	return fmt.Sprintf("%s: %s (%s)", at, f.Text, f.Name)
}
