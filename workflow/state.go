package workflow

import (
	"errors"
	"strconv"

	"gaffer/statefile/jsontree"
)

// State is the content of state.json. Every field may be missing or null; both mean the same.
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
	SectionReadiness    map[string]SectionReadiness `json:"sectionReadiness"` // not part of the protocol, but used by other programs
	BuildEvents         []jsontree.Value            `json:"buildEvents"`      // the feed of events; see Events
}

// Score says how many scenarios of the spec are satisfied.
type Score struct {
	Satisfied int `json:"satisfied"`
	Total     int `json:"total"`
}

// Progress is the progress of a build. Total is the number of its chunks. Current is the number of
// completed chunks, plus one if a chunk is in progress.
type Progress struct {
	Current int `json:"current"`
	Total   int `json:"total"`
}

// AgentOutput is what an agent passes on to later agents.
type AgentOutput struct {
	Summary           string   `json:"summary"`
	RelevanceManifest []string `json:"relevanceManifest"`
}

// Read decodes the state. It also returns the values whose type is neither defined by the protocol
// nor known from other programs.
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

// sessionFields are the fields that belong to one session. A new session clears them; the build
// run, the feed, scores and untracked changes stay.
var sessionFields = []string{
	"activeSection", "activeSectionNumber", "currentCommand", "workflowStep", "completedSteps", "agentOutputs",
}

// StartSession clears the fields of the previous session. It keeps buildRun, so that a build can be
// resumed after the session that started the build has died.
func StartSession(root *jsontree.Node) {
	for _, name := range sessionFields {
		clearField(root, name)
	}
}

// Tally is the number of sections with a certain readiness. Programs write it as a number, a
// string, an object with a count, or a list of sections.
type Tally struct {
	Count int
	Known bool           // whether Count could be read
	Raw   jsontree.Value // the value in the document
}

// DecodeJSON accepts every form that known programs write.
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

// readinessWords are the possible values of a section's readiness. A readiness summary may have
// other members, such as totals, which are not numbers of sections.
var readinessWords = []string{
	"draft", "undocumented", "needs-spec-update", "spec-ahead", "ready-to-build", "aligned", "ready-to-execute", "satisfied", "deferred",
}

// SectionCounts returns the number of sections by readiness, such as "aligned". It skips members of
// the readiness summary that are not such counts.
func (s State) SectionCounts() map[string]int {
	counts := map[string]int{}
	for _, word := range readinessWords {
		if t := s.ReadinessSummary[word]; t.Known && t.Count >= 0 && t.Count <= mostSections {
			counts[word] = t.Count
		}
	}
	return counts
}

// mostSections is the largest plausible number of sections; larger numbers are ignored.
const mostSections = 1_000_000_000

// SectionReadiness is the readiness of one section. The document holds a word, or an
// object with the word and notes.
type SectionReadiness struct {
	Readiness string
	Notes     string
}

// DecodeJSON accepts a word or an object.
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
