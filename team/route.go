package team

import (
	"fmt"
	"slices"
	"strings"
)

// Routing says what follows an agent's answer: which roles are started next, and whether the answer
// completes a group of tasks or the session.
type Routing struct {
	// Roles lists the roles to start, one after the other: each is started when the previous one
	// has answered. There are four cases in which Roles is empty: the group or the session is done;
	// the answer was a plan; the statuses of the groups determine which role is next; the user has
	// to answer a question.
	Roles []Role
	// Group reports whether the status word of the answer completes the group. Session reports
	// whether it completes the session, for which there are further conditions; see CheckComplete.
	Group, Session bool
}

// routes lists what follows an answer, for each role and each status word that its agents may use.
var routes = []struct {
	by   Role
	word Word
	next Routing
}{
	{Developer, WordReadyForQA, Routing{Roles: []Role{QAExpert}}},
	{Developer, WordReadyForReview, Routing{Roles: []Role{TechLead}}},
	{Developer, WordBlocked, Routing{Roles: []Role{TechLead, Developer}}},
	{Developer, WordIncomplete, Routing{Roles: []Role{TechLead, Developer}}},
	{Developer, WordPartial, Routing{Roles: []Role{TechLead, Developer}}},
	{Developer, WordError, Routing{Roles: []Role{TechLead, Developer}}},
	{Developer, WordNeedsClarification, Routing{Roles: []Role{TechLead, Developer}}},
	{Developer, WordEscalate, Routing{Roles: []Role{TechLead, Developer}}},
	{QAExpert, WordPass, Routing{Roles: []Role{TechLead}}},
	{QAExpert, WordFail, Routing{Roles: []Role{Developer, QAExpert}}},
	{QAExpert, WordBlocked, Routing{Roles: []Role{TechLead, QAExpert}}},
	{QAExpert, WordPartial, Routing{Roles: []Role{TechLead, QAExpert}}},
	{QAExpert, WordFlaky, Routing{Roles: []Role{TechLead, Developer, QAExpert}}},
	{TechLead, WordApproved, Routing{Group: true}},
	{TechLead, WordApprovedWithNotes, Routing{Group: true}},
	{TechLead, WordChangesRequested, Routing{Roles: []Role{Developer, QAExpert, TechLead}}},
	{TechLead, WordUnblocked, Routing{Roles: []Role{Developer}}},
	{TechLead, WordEscalate, Routing{Roles: []Role{Developer}}},
	{TechLead, WordNeedsClarification, Routing{}},
	{PM, WordPlanned, Routing{}},
	{PM, WordContinue, Routing{}},
	{PM, WordNeedsClarification, Routing{}},
	{PM, WordComplete, Routing{Session: true}},
}

// Route returns the routing for an agent's answer with this status word. If the role may not use
// the word, Route returns an [*UnknownWordError] together with a routing that only starts the tech
// lead, and that completes neither the group nor the session.
func Route(by Role, word Word) (Routing, error) {
	for _, r := range routes {
		if r.by == by && r.word == word {
			return r.next, nil
		}
	}
	return Routing{Roles: []Role{TechLead}}, &UnknownWordError{By: by, Word: word, Known: Words(by)}
}

// Words lists the status words that agents of a role may use in their answers.
func Words(by Role) []Word {
	var words []Word
	for _, r := range routes {
		if r.by == by {
			words = append(words, r.word)
		}
	}
	return words
}

// UnknownWordError reports a status word that a role may not use.
type UnknownWordError struct {
	By    Role
	Word  Word
	Known []Word
}

func (e *UnknownWordError) Error() string {
	if len(e.Known) == 0 {
		return fmt.Sprintf("%q is no role of a team", e.By)
	}
	known := make([]string, len(e.Known))
	for i, w := range e.Known {
		known[i] = string(w)
	}
	return fmt.Sprintf("%s said %q, which is not one of its words: %s", e.By, e.Word, strings.Join(known, ", "))
}

// Conflict returns true, so that commands exit with code 4 and the server answers with status 409.
func (e *UnknownWordError) Conflict() bool { return true }

// CheckComplete returns nil if an agent's status word ends the session, and a [*CompleteError] if
// not. The word ends the session if three conditions are met: it is the project manager's COMPLETE,
// there is at least one group, and every group is complete. A group that is planned in pm but
// missing from the parameter groups counts as not complete.
func CheckComplete(by Role, word Word, pm PMState, groups Groups) error {
	if by != PM || word != WordComplete {
		return &CompleteError{By: by, Word: word}
	}
	all := allGroups(pm, groups)
	open := slices.DeleteFunc(slices.Clone(all), func(g Group) bool { return g.Status == Complete })
	if len(all) == 0 || len(open) > 0 {
		return &CompleteError{By: by, Word: word, Open: open}
	}
	return nil
}

// CompleteError reports that a status word in an agent's answer does not end the session.
type CompleteError struct {
	By   Role
	Word Word
	Open []Group // the groups that are not complete; empty if the session cannot end for another reason
}

func (e *CompleteError) Error() string {
	if e.By != PM || e.Word != WordComplete {
		return fmt.Sprintf("complete session: %s said %s; only %s from %s counts", e.By, e.Word, WordComplete, PM)
	}
	if len(e.Open) == 0 {
		return "complete session: it has no groups"
	}
	var open []string
	for _, g := range e.Open {
		open = append(open, fmt.Sprintf("%s is %s", g.ID, g.Status))
	}
	return "complete session: not every group is complete: " + strings.Join(open, ", ")
}

// Conflict returns true, so that commands exit with code 4 and the server answers with status 409.
func (e *CompleteError) Conflict() bool { return true }
