package workflow

import (
	"errors"
	"strconv"

	"gaffer/statefile/jsontree"
)

// State is the content of state.json. Any field may be missing or null in the file; both mean the
// same.
type State struct {
	ActiveSection       string                      `json:"activeSection"`
	ActiveSectionNumber string                      `json:"activeSectionNumber"`
	CurrentCommand      Command                     `json:"currentCommand"`
	WorkflowStep        Step                        `json:"workflowStep"`
	CompletedSteps      []Step                      `json:"completedSteps"`
	NextStep            string                      `json:"nextStep"`
	ScenarioScore       *Score                      `json:"scenarioScore"`
	ChunkProgress       *Progress                   `json:"chunkProgress"`
	ReadinessSummary    map[string]Tally            `json:"readinessSummary"`
	UntrackedChanges    []UntrackedChange           `json:"untrackedChanges"`
	SpecVersion         string                      `json:"specVersion"`
	AgentOutputs        map[string]AgentOutput      `json:"agentOutputs"`
	LastUpdated         string                      `json:"lastUpdated"`
	BuildRun            *BuildRun                   `json:"buildRun"`
	SectionReadiness    map[string]SectionReadiness `json:"sectionReadiness"` // not part of the workflow protocol, but other programs use it
	BuildEvents         []jsontree.Value            `json:"buildEvents"`      // the feed (list of events), oldest first; [Events] decodes it
}

// Score says how many scenarios of the spec are satisfied.
type Score struct {
	Satisfied int `json:"satisfied"`
	Total     int `json:"total"`
}

// Progress is the progress of a build. Total is the number of its chunks (parts). Current is the
// number of completed chunks, plus one if any chunk is active or retrying.
type Progress struct {
	Current int `json:"current"`
	Total   int `json:"total"`
}

// AgentOutput is the information that an agent leaves for later agents.
type AgentOutput struct {
	Summary           string   `json:"summary"`
	RelevanceManifest []string `json:"relevanceManifest"`
}

// Read decodes the content of state.json. It also returns a list of the values whose type is
// neither defined by the workflow protocol nor known from other programs.
func Read(v jsontree.Value) (State, []jsontree.Mismatch) {
	var s State
	if holdsNothing(v) {
		return s, nil
	}
	mismatches := jsontree.Decode(v, &s)
	if s.BuildRun != nil {
		s.BuildRun.normalize()
	}
	return s, mismatches
}

// sessionFields are the fields of state.json that [StartSession] clears. StartSession keeps the
// other fields, such as the build run, the events, the scores and the untracked changes.
var sessionFields = []string{
	"activeSection", "activeSectionNumber", "currentCommand", "workflowStep", "completedSteps", "agentOutputs",
}

// StartSession prepares the state for a new working session of the user. It clears the fields about
// the work of the previous session: the active section, the command with its steps, and
// agentOutputs. It keeps buildRun, so that a build can be resumed in a later session.
func StartSession(root *jsontree.Node) {
	for _, name := range sessionFields {
		clearField(root, name)
	}
}

// Tally is the number of sections of the spec that have a certain readiness, such as "aligned".
// Different programs write it as a number, a string, a list of sections, or an object that contains
// a count or a list of sections.
type Tally struct {
	Count int
	Known bool           // whether Count could be read
	Raw   jsontree.Value // the value in the file
}

// DecodeJSON accepts any value. It sets Known to false if the value has none of the forms that
// [Tally] lists.
func (t *Tally) DecodeJSON(v jsontree.Value) error {
	t.Raw = v
	switch v.Kind() {
	case jsontree.Number:
		n, ok := v.Int()
		t.Count, t.Known = int(n), ok
	case jsontree.String:
		n, err := strconv.Atoi(v.Text())
		t.Count, t.Known = n, err == nil
	case jsontree.Array:
		t.Count, t.Known = v.Len(), true
	case jsontree.Object:
		n, ok := v.Get("count").Int()
		t.Count, t.Known = int(n), ok
		if sections := v.Get("sections"); !ok && sections.Kind() == jsontree.Array {
			t.Count, t.Known = sections.Len(), true
		}
	}
	return nil
}

// readinessWords are the possible values of the readiness of a section of the spec. The field
// readinessSummary of state.json may have other members, such as totalSections;
// [State.SectionCounts] ignores them.
var readinessWords = []string{
	"draft", "undocumented", "needs-spec-update", "spec-ahead", "ready-to-build", "aligned", "ready-to-execute", "satisfied", "deferred",
}

// SectionCounts returns, for each readiness such as "aligned", the number of sections of the spec
// that have it. It ignores other members of readinessSummary, and implausible numbers.
func (s State) SectionCounts() map[string]int {
	counts := map[string]int{}
	for _, word := range readinessWords {
		if t := s.ReadinessSummary[word]; t.Known && t.Count >= 0 && t.Count <= mostSections {
			counts[word] = t.Count
		}
	}
	return counts
}

// mostSections is the largest plausible number of sections of a spec; larger numbers are ignored.
const mostSections = 1_000_000_000

// SectionReadiness is the readiness of one section of the spec. In the file, it is a word such as
// "aligned", or an object with such a word and notes.
type SectionReadiness struct {
	Readiness string
	Notes     string
}

// DecodeJSON accepts a string, or an object with the members readiness and notes.
func (r *SectionReadiness) DecodeJSON(v jsontree.Value) error {
	switch v.Kind() {
	case jsontree.String:
		r.Readiness = v.Text()
	case jsontree.Object:
		r.Readiness, r.Notes = v.Get("readiness").Text(), v.Get("notes").Text()
	default:
		return errors.New("a string or an object with readiness and notes")
	}
	return nil
}
