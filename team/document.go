package team

import "path/filepath"

// Document identifies one of the six JSON files of a team's session.
type Document string

// The constants are, in this order: the six documents of a session, the names of other files and
// folders in the team's folder, the content of group_status.json without groups of tasks, and the
// content of a message document without messages.
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

// Documents lists the six files of a session: first the state files, then the message files.
func Documents() []Document {
	return []Document{PMStateDoc, GroupStatusDoc, OrchestratorDoc, DevToQADoc, QAToTechLeadDoc, TechLeadToDevDoc}
}

// Path returns the path of the document, relative to the team's folder.
func (d Document) Path() string {
	name := string(d) + ".json"
	if _, ok := channelOf(d); ok {
		return filepath.Join(messagesFolder, name)
	}
	return name
}

// channel describes the messages that one role of the team sends to another: the sender, the
// receiver, and the document that holds these messages.
type channel struct {
	doc      Document
	from, to Role
	body     func() Body // returns a new, empty body of the type that the channel's messages have
}

var channels = []channel{
	{DevToQADoc, Developer, QAExpert, func() Body { return new(Handoff) }},
	{QAToTechLeadDoc, QAExpert, TechLead, func() Body { return new(TestReport) }},
	{TechLeadToDevDoc, TechLead, Developer, func() Body { return new(Review) }},
}

// Pairs lists the pairs of a sender and a receiver for which the protocol defines messages.
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

// channelFor returns the channel for messages from one role to another. It returns a [*PairError]
// if the protocol defines no such messages.
func channelFor(from, to Role) (channel, error) {
	for _, c := range channels {
		if c.from == from && c.to == to {
			return c, nil
		}
	}
	return channel{}, &PairError{From: from, To: to}
}
