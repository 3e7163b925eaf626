// Package selection compares candidates: the results of several agents that did the same task. It
// proposes one candidate, and writes the prompt of the agent that judges the candidates. Its
// functions have no side effects.
package selection

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"gaffer/fleet"
	"gaffer/internal/plan"
)

// PickInput is the input of the task that picks one of the candidates. It is encoded as JSON in the
// prompt of that task.
type PickInput struct {
	Run        string            `json:"run"`
	Task       string            `json:"task"` // id of the task that picks a candidate
	By         plan.PickBy       `json:"by"`
	Candidates []fleet.Candidate `json:"candidates"`
	// Verdict is the last message of the judge, an agent that compares the candidates. It is empty
	// if there is no judge, or if the judge's task is not complete.
	Verdict string `json:"verdict,omitempty"`
	// Picked is the id of the candidate that an earlier attempt of this task has picked. If it is
	// set, this attempt picks the same candidate again, because the candidate's agent may have
	// changed its work since then.
	Picked string `json:"picked,omitempty"`
}

// CompleteCandidates returns the candidates whose status is complete. Only these can be picked.
func (s PickInput) CompleteCandidates() (list []fleet.Candidate) {
	for _, c := range s.Candidates {
		if c.Status == fleet.Complete {
			list = append(list, c)
		}
	}
	return list
}

// Decide returns the id of the candidate to pick, and the reason. If only one candidate is
// complete, it is picked. If several are complete, the checks or the judge decide, as the plan
// says. ok is false if no candidate is complete, if the user must pick one, or if the judge has
// named none.
func (s PickInput) Decide() (id, why string, ok bool) {
	list := s.CompleteCandidates()
	switch {
	case len(list) == 1:
		return list[0].Task, "no other candidate is complete", true
	case len(list) == 0:
		return "", "", false
	case s.By == plan.PickChecks:
		best := slices.MinFunc(list, compare)
		return best.Task, "the best by checks, changed lines and cost: " + Describe(best), true
	case s.By == plan.PickJudge:
		id, why = Winner(s.Verdict, list)
		return id, why, id != ""
	}
	return "", "", false
}

// compare orders candidates from best to worst: by the number of failed checks, then by the number
// of changed lines, then by cost in money, then by tokens. Lower numbers are better.
func compare(a, b fleet.Candidate) int {
	return cmp.Or(
		cmp.Compare(a.Checks-a.Passed, b.Checks-b.Passed),
		cmp.Compare(a.Added+a.Removed, b.Added+b.Removed),
		cmp.Compare(a.Spent.USD, b.Spent.USD),
		cmp.Compare(a.Spent.Tokens, b.Spent.Tokens),
	)
}

// Describe returns the result of a candidate in a few words, for example "2 of 2 checks passed, +10
// -3 in 1 file, $0.52, 2m0s".
func Describe(c fleet.Candidate) string {
	facts := []string{}
	if c.Status != fleet.Complete {
		facts = append(facts, strings.TrimSpace(string(c.Status)+" "+c.Outcome))
	}
	if c.Checks > 0 {
		facts = append(facts, fmt.Sprintf("%d of %d checks passed", c.Passed, c.Checks))
	}
	files := "files"
	if c.Files == 1 {
		files = "file"
	}
	facts = append(facts, fmt.Sprintf("+%d -%d in %d %s", c.Added, c.Removed, c.Files, files))
	if c.Spent.USD > 0 {
		facts = append(facts, fleet.Money(c.Spent.USD))
	}
	return strings.Join(append(facts, (time.Duration(c.WorkedMS)*time.Millisecond).Round(time.Second).String()), ", ")
}

// Question returns one line that asks the user to pick a candidate.
func (s PickInput) Question() string {
	var options []string
	for i, c := range s.CompleteCandidates() {
		options = append(options, fmt.Sprintf("%d %s (%s)", i+1, c.Task, Describe(c)))
	}
	return fmt.Sprintf("Which candidate of %s is taken? %s", s.Task, strings.Join(options, "; "))
}

// Readable formats a question for the user, with one line for each candidate. It also returns the
// options for the answer, which are the ids of the candidates. The parameter question must end with
// the line that [PickInput.Question] returns. If there is text before that line, it says what was
// wrong with the user's last answer, and Readable keeps it. If question does not end with that
// line, Readable returns question unchanged, without options.
func (s PickInput) Readable(question string) (text string, options []string) {
	problem, ok := strings.CutSuffix(question, s.Question())
	if !ok {
		return question, nil
	}
	text = problem + fmt.Sprintf("Which candidate of %s is taken?", s.Task)
	for _, c := range s.CompleteCandidates() {
		text += fmt.Sprintf("\n%s: %s", c.Task, Describe(c))
		options = append(options, c.Task)
	}
	return text, options
}

// FindChosen returns the id of the candidate that the user has chosen. text is the user's answer.
// For the candidate "api.codex" of the task "api", the answer can be "api.codex", "codex", or the
// candidate's number in the question.
func (s PickInput) FindChosen(text string) (string, error) {
	text = strings.TrimSpace(text)
	list := s.CompleteCandidates()
	for i, c := range list {
		if text == c.Task || text == strings.TrimPrefix(c.Task, s.Task+".") || text == fmt.Sprint(i+1) {
			return c.Task, nil
		}
	}
	var names []string
	for _, c := range s.Candidates {
		if c.Task == text || strings.TrimPrefix(c.Task, s.Task+".") == text {
			return "", fmt.Errorf("%s is %s: only a complete candidate can be picked", c.Task, c.Status)
		}
	}
	for _, c := range list {
		names = append(names, c.Task)
	}
	return "", fmt.Errorf("%q is no candidate, want one of %s", text, strings.Join(names, ", "))
}

// JudgePrompt returns the prompt of the agent that judges the candidates.
func JudgePrompt(p plan.Pick, list []fleet.Candidate) string {
	var b strings.Builder
	b.WriteString("Several agents have done the same task, each on a branch of this repository. Decide which result is the best.\n" +
		"Read the branches with git, such as 'git diff HEAD...BRANCH'. Change nothing.\n\n")
	fmt.Fprintf(&b, "The task was:\n\n%s\n\n", p.Goal)
	fmt.Fprintf(&b, "Judge by this:\n\n%s\n\n", cmp.Or(strings.TrimSpace(p.Rubric),
		"Is the task done completely and correctly? Are there tests for it? Is the change small and easy to read, and does it leave everything else alone?"))
	b.WriteString("The candidates:\n\n")
	for _, c := range list {
		if c.Status != fleet.Complete {
			continue
		}
		fmt.Fprintf(&b, "- %s on branch %s: %s\n", c.Task, c.Branch, Describe(c))
	}
	b.WriteString("\nSay in a few sentences what speaks for and against each. End your last message with one line: winner: CANDIDATE\n")
	return b.String()
}

// Winner finds the candidate that the judge has chosen. The judge is the agent that compares the
// candidates, and verdict is its message. Winner looks for the last line of the message that has
// the form "winner: CANDIDATE". It returns the candidate's id and the text before that line. Both
// are empty if there is no such line, or if it names no candidate in list.
func Winner(verdict string, list []fleet.Candidate) (id, why string) {
	winner := regexp.MustCompile("(?im)^[ \\t*_#>-]*winner[*_]*[ \\t]*[:=][ \\t*_`\"']*([^\\s*`\"',;]+)")
	found := winner.FindAllStringSubmatchIndex(verdict, -1)
	if len(found) == 0 {
		return "", ""
	}
	last := found[len(found)-1]
	named := strings.TrimRight(verdict[last[2]:last[3]], ".")
	for _, c := range list {
		if strings.EqualFold(named, c.Task) || strings.EqualFold(named, c.Branch) {
			return c.Task, strings.TrimSpace(verdict[:last[0]])
		}
	}
	return "", ""
}
