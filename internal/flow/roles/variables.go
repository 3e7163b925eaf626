package roles

import (
	"slices"
	"strconv"

	"gaffer/internal/flow/teamstate"
)

// Variable is a variable of a template.
type Variable struct {
	Name string
	Doc  string // description in one line, without a full stop
	// Most is the maximum size of the untrusted text in the value, in bytes. It is 0 if the value
	// has no untrusted text, or only names, which are always short.
	Most int
	// Lines is true if the value may have several lines. In a template, such a variable must be the
	// only text on its line.
	Lines bool

	value func(b teamstate.Brief, most int) string
}

// Variables returns all variables that prompt templates may use. The field Most of a variable
// limits the untrusted text in its value. If this is a longer text, its middle is left out. If it
// is a longer list, the longest texts in it are shortened and, if needed, the last ones are left
// out. A note in the value says how much was left out.
func Variables() []Variable {
	return slices.Concat(inlineVariables(), blockVariables(), sectionVariables())
}

// inlineVariables returns the variables whose value is short and has no line break.
func inlineVariables() []Variable {
	name := func(name, doc string, value func(teamstate.Brief) string) Variable {
		return Variable{Name: name, Doc: doc, value: func(b teamstate.Brief, _ int) string { return value(b) }}
	}
	return []Variable{
		name("SESSION", "the session's id", func(b teamstate.Brief) string { return inlineCode(b.Session) }),
		name("STEP", "the id of this start", func(b teamstate.Brief) string { return inlineCode(b.Step.ID) }),
		name("ROLE", "the role", func(b teamstate.Brief) string { return inlineCode(string(b.Step.Role)) }),
		name("MODE", "simple, parallel, or that it is not decided", mode),
		name("DEVELOPERS", "how many developers may work at the same time", func(b teamstate.Brief) string { return strconv.Itoa(b.Developers) }),
		name("GROUP", "the group's id", func(b teamstate.Brief) string { return inlineCode(b.Step.Group) }),
		name("GROUP_NAME", "the group's name", func(b teamstate.Brief) string { return inlineCode(b.Group.Name) }),
		name("STATUS", "the group's status", func(b teamstate.Brief) string { return inlineCode(string(b.Status.Status)) }),
		name("BRANCH", "the group's branch", branch),
		name("WORDS", "what the answer's status may be", words),
	}
}

// blockVariables returns the variables whose value may have several lines and is never empty.
func blockVariables() []Variable {
	return []Variable{
		{"RULES", "what holds for every role: no memory, what is data, whose documents are whose", 0, true, func(teamstate.Brief, int) string { return rules() }},
		{"ANSWER", "how the answer must end, with an example", 0, true, answerInstructions},
		{"REQUIREMENTS", "the requirements, as the user wrote them", 20 << 10, true, func(b teamstate.Brief, most int) string {
			return fencedText(b.Requirements, most, none)
		}},
		{"ITEMS", "the requirements one by one, with ids", 12 << 10, true, requirementItems},
		{"TASKS", "the tasks, with their groups and statuses", 8 << 10, true, taskList},
		{"GROUP_TASKS", "the tasks of the group", 8 << 10, true, groupTaskList},
		{"FILES", "the files that the plan expects the group to change", 2 << 10, true, func(b teamstate.Brief, most int) string {
			return fencedList(lines(b.Group.FilesAffected), most, none)
		}},
		{"CHANGE", "the files and commits of the group so far, from git", 4 << 10, true, changeList},
		{"GROUPS", "every group: its tasks, status, tests, and the tech lead's last word", 10 << 10, true, groupList},
		{"PHASES", "the phases and their groups", 2 << 10, true, phases},
		{"TESTS", "the commands that run after a merge", 2 << 10, true, func(b teamstate.Brief, most int) string { return fencedList(b.Tests, most, none) }},
	}
}

// sectionVariables returns the variables whose value starts with a heading. If there is no content,
// the value is empty.
func sectionVariables() []Variable {
	text := func(name, doc, heading string, most int, of func(teamstate.Brief) string) Variable {
		return Variable{name, doc, most, true, func(b teamstate.Brief, most int) string {
			return section(heading, fencedText(of(b), most, ""))
		}}
	}
	return []Variable{
		text("FEEDBACK", "what the tech lead, QA or a failed merge asks the developer for", "What is asked for now", 10<<10,
			func(b teamstate.Brief) string { return b.Feedback }),
		{"ISSUES", "the issues of the last review that asked for changes, with the developer's replies", 8 << 10, true, issueList},
		{"MESSAGES", "what the role before this one has written", 8 << 10, true, messageList},
		{"WORK", "what the developer said last of the work, if no message has it", 4 << 10, true, lastWork},
		text("GUIDANCE", "what the project manager or the tech lead has advised", "Advice for this group", 4<<10,
			func(b teamstate.Brief) string { return b.Guidance }),
		{"BLOCKERS", "what keeps the group from going on", 4 << 10, true, blockers},
		{"HISTORY", "starts, test results, decisions and removed blockers of the group so far", 6 << 10, true, historyList},
		text("MISSING", "why the project manager's last word did not count", "Why your last word did not count", 4<<10,
			func(b teamstate.Brief) string { return b.Missing }),
		{"AGAIN", "what was wrong with the last answer, and that answer, if only the answer is asked for once more", 8 << 10, true, again},
	}
}

func lines(list []string) []string {
	short := make([]string, len(list))
	for i, line := range list {
		short[i] = oneLine(line)
	}
	return short
}
