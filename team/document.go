package team

import "path/filepath"

// Document names one of the six files of a session.
type Document string

// The documents.
const (
	PMStateDoc       Document = "pm_state"
	GroupStatusDoc   Document = "group_status"
	OrchestratorDoc  Document = "orchestrator_state"
	DevToQADoc       Document = "dev_to_qa"
	QAToTechLeadDoc  Document = "qa_to_techlead"
	TechLeadToDevDoc Document = "techlead_to_dev"
	messagesFolder            = "messages"
	archiveFolder             = "archive"
	lockFile                  = ".team.flock"
	changeFile                = ".team.change.json"
	emptyGroups               = "{}\n"
	emptyMessages             = "{\n  \"messages\": []\n}\n"
)

// Documents lists the six files of a session, the state files first.
func Documents() []Document {
	return []Document{PMStateDoc, GroupStatusDoc, OrchestratorDoc, DevToQADoc, QAToTechLeadDoc, TechLeadToDevDoc}
}

// Path returns where the document is below the root.
func (d Document) Path() string {
	name := string(d) + ".json"
	if _, ok := channelOf(d); ok {
		return filepath.Join(messagesFolder, name)
	}
	return name
}

// channel is a way that messages go.
type channel struct {
	doc      Document
	from, to Role
	body     func() Body // an empty body of the channel's kind
}

var channels = []channel{
	{DevToQADoc, Developer, QAExpert, func() Body { return new(Handoff) }},
	{QAToTechLeadDoc, QAExpert, TechLead, func() Body { return new(TestReport) }},
	{TechLeadToDevDoc, TechLead, Developer, func() Body { return new(Review) }},
}

// Pairs lists who sends messages to whom.
func Pairs() [][2]Role {
	var pairs [][2]Role
	for _, c := range channels {
		pairs = append(pairs, [2]Role{c.from, c.to})
	}
	return pairs
}

func channelOf(d Document) (channel, bool) {
	for _, c := range channels {
		if c.doc == d {
			return c, true
		}
	}
	return channel{}, false
}

// channelFor returns the way from one role to another. A pair that sends no
// messages is a [*PairError].
func channelFor(from, to Role) (channel, error) {
	for _, c := range channels {
		if c.from == from && c.to == to {
			return c, nil
		}
	}
	return channel{}, &PairError{From: from, To: to}
}
