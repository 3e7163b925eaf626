package team

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"

	"gaffer/statefile/jsontree"
)

// Message is a message from one role of the team to another.
type Message struct {
	ID        string // empty in some messages that other programs have written; such messages cannot be acknowledged
	GroupID   string
	From      Role
	To        Role
	Timestamp Time
	Subject   string
	Body      Body
	Read      bool // true if the receiver has acknowledged the message, or was started with this message
}

// Body is the part of a message whose type depends on the sender: a [*Handoff] from a developer, a
// [*TestReport] from QA, or a [*Review] from the tech lead.
type Body interface{ isBody() }

func (*Handoff) isBody()    {}
func (*TestReport) isBody() {}
func (*Review) isBody()     {}

// Handoff is the body of a message from a developer to QA.
type Handoff struct {
	Status  string         `json:"status,omitempty"`
	Context HandoffContext `json:"context"`
}

// HandoffContext tells QA what the developer has done.
type HandoffContext struct {
	BranchName      string       `json:"branch_name,omitempty"`
	FilesModified   List[string] `json:"files_modified"`
	Commits         List[string] `json:"commits"`
	UnitTestsStatus string       `json:"unit_tests_status,omitempty"`
	Notes           string       `json:"notes,omitempty"`
}

// TestReport is the body of a message from QA to the tech lead.
type TestReport struct {
	Result           string           `json:"result,omitempty"` // PASS or FAIL
	TestResults      TestSummary      `json:"test_results"`
	DeveloperContext DeveloperContext `json:"developer_context"`
}

// TestSummary describes the results of the tests.
type TestSummary struct {
	IntegrationTests string `json:"integration_tests,omitempty"`
	ContractTests    string `json:"contract_tests,omitempty"`
	E2ETests         string `json:"e2e_tests,omitempty"`
	TotalTime        string `json:"total_time,omitempty"`
}

// DeveloperContext tells the tech lead what the developer has done.
type DeveloperContext struct {
	FilesModified         List[string] `json:"files_modified"`
	ImplementationSummary string       `json:"implementation_summary,omitempty"`
}

// Review is the body of a message from the tech lead to a developer.
type Review struct {
	Decision        Decision     `json:"decision,omitempty"`
	Feedback        string       `json:"feedback,omitempty"`
	Issues          List[Issue]  `json:"issues"`
	ActionableItems List[string] `json:"actionable_items"`
}

// Issue is one change that the tech lead requests.
type Issue struct {
	ID            string `json:"id,omitempty"`       // the id by which the developer refers to the issue
	Priority      string `json:"priority,omitempty"` // critical, high, medium or low
	Title         string `json:"title,omitempty"`
	Location      string `json:"location,omitempty"`
	Description   string `json:"description,omitempty"`
	FixSuggestion string `json:"fix_suggestion,omitempty"`
}

// head and tail hold the fields that every message has. In the JSON object, the fields of head come
// before the fields of the body, and those of tail after them.
type head struct {
	ID        string `json:"id"`
	GroupID   string `json:"group_id"`
	From      Role   `json:"from"`
	To        Role   `json:"to"`
	Timestamp Time   `json:"timestamp"`
	Subject   string `json:"subject"`
}

type tail struct {
	Read bool `json:"read"`
}

// MarshalJSON writes the message as one JSON object, with the fields of head, then those of the
// body, then those of tail.
func (m Message) MarshalJSON() ([]byte, error) {
	var parts [][]byte
	for _, v := range []any{head{m.ID, m.GroupID, m.From, m.To, m.Timestamp, m.Subject}, m.Body, tail{m.Read}} {
		text, err := marshal(v)
		if err != nil {
			return nil, err
		}
		if inner := bytes.TrimSuffix(bytes.TrimPrefix(text, []byte("{")), []byte("}")); len(inner) > 0 && v != nil {
			parts = append(parts, inner)
		}
	}
	return append(append([]byte("{"), bytes.Join(parts, []byte(","))...), '}'), nil
}

// message decodes v, one message of the channel. It leaves out fields of the wrong type. If v names
// no sender, the message gets the sender of the channel. It always gets the receiver of the
// channel, even if v names another role.
func (c channel) message(v jsontree.Value) Message {
	var h head
	jsontree.Decode(v, &h)
	h.From, h.To = cmp.Or(h.From, c.from), c.to
	read, _ := v.Get("read").Bool()
	body := c.body()
	jsontree.Decode(v, body)
	return Message{h.ID, h.GroupID, h.From, h.To, h.Timestamp, h.Subject, body, read}
}

// PairError reports that the protocol defines no messages from the role From to the role To.
type PairError struct{ From, To Role }

func (e *PairError) Error() string {
	var pairs []string
	for _, c := range channels {
		pairs = append(pairs, fmt.Sprintf("%s to %s", c.from, c.to))
	}
	return fmt.Sprintf("no messages go from %q to %q; they go from %s", e.From, e.To, strings.Join(pairs, ", "))
}

// Usage returns true, so that commands exit with code 2: wrong usage.
func (e *PairError) Usage() bool { return true }
