package viewers

import (
	"context"
	"encoding/json"
	"strconv"
	"time"

	"gaffer/internal/api/docview"
	"gaffer/statefile/host"
	"gaffer/statefile/jsontree"
)

// BuildStatus contains the members of a project's workflow state, a JSON document, that describe
// the build. The values are unchanged. If the document lacks a member, its field is null here, but
// the fields CompletedSteps and BuildEvents are then empty lists.
type BuildStatus struct {
	CurrentCommand      json.RawMessage `json:"currentCommand"`
	WorkflowStep        json.RawMessage `json:"workflowStep"`
	CompletedSteps      json.RawMessage `json:"completedSteps"`
	ChunkProgress       json.RawMessage `json:"chunkProgress"`
	ActiveSection       json.RawMessage `json:"activeSection"`
	ActiveSectionNumber json.RawMessage `json:"activeSectionNumber"`
	ScenarioScore       json.RawMessage `json:"scenarioScore"`
	NextStep            json.RawMessage `json:"nextStep"`
	LastUpdated         json.RawMessage `json:"lastUpdated"`
	BuildEvents         json.RawMessage `json:"buildEvents"`
	BuildRun            json.RawMessage `json:"buildRun"`
	ContextState        json.RawMessage `json:"contextState"`

	// Mission is the view of the build for the page "mission control", derived from the project's
	// workflow documents.
	Mission docview.BuildPicture `json:"mission"`
}

// workflowService answers the requests about the builds, event feeds and inboxes of projects, and
// about the dashboard.
type workflowService struct {
	projects *projectList
	specs    *specReader
	owners   *runOwners
	now      func() time.Time
	host     host.Host
}

// BuildStatus returns the status of a project's build.
func (v *workflowService) BuildStatus(ctx context.Context, ref string) (BuildStatus, error) {
	l, err := v.projects.find(ctx, ref)
	if err != nil {
		return BuildStatus{}, err
	}
	state, err := l.store.Load()
	if err != nil {
		return BuildStatus{}, clientError(err)
	}
	one := func(name string) json.RawMessage { return raw(state.Get(name)) }
	many := func(name string) json.RawMessage {
		if state.Get(name).Kind() != jsontree.Array {
			return json.RawMessage("[]")
		}
		return one(name)
	}
	return BuildStatus{
		CurrentCommand: one("currentCommand"), WorkflowStep: one("workflowStep"), CompletedSteps: many("completedSteps"),
		ChunkProgress: one("chunkProgress"), ActiveSection: one("activeSection"), ActiveSectionNumber: one("activeSectionNumber"),
		ScenarioScore: one("scenarioScore"), NextStep: one("nextStep"), LastUpdated: one("lastUpdated"),
		BuildEvents: many("buildEvents"), BuildRun: one("buildRun"), ContextState: one("contextState"),
		Mission: v.buildPicture(ctx, l, state),
	}, nil
}

func raw(v jsontree.Value) json.RawMessage {
	text, err := safeJSON(v.Raw())
	if v.Absent() || err != nil {
		return json.RawMessage("null")
	}
	return text
}

func number(n int64) []byte { return strconv.AppendInt(nil, n, 10) }

// BuildLog is a project's event feed, which lists what happened in its builds, in the form in which
// users download it.
type BuildLog struct {
	Project    string    `json:"project"`
	ExportedAt time.Time `json:"exportedAt"`
	EventCount int       `json:"eventCount"`
	// Archived is the number of older events that were moved to archive files. The field Events
	// does not contain them.
	Archived int64         `json:"archived"`
	Events   []LoggedEvent `json:"events"`
}

// LoggedEvent is an event in a BuildLog. It has the same members as the message about this event
// that clients got when it was added, but not the sequence number.
type LoggedEvent struct {
	Type    string          `json:"type"`
	Event   json.RawMessage `json:"event"`
	Project string          `json:"_project"`
}

// BuildLog returns a project's event feed. It leaves out older events that were moved to the
// archive.
func (v *workflowService) BuildLog(ctx context.Context, ref string) (BuildLog, error) {
	l, err := v.projects.find(ctx, ref)
	if err != nil {
		return BuildLog{}, err
	}
	state, err := l.store.Load()
	if err != nil {
		return BuildLog{}, clientError(err)
	}
	log := BuildLog{Project: l.name, ExportedAt: v.now().UTC(), Events: []LoggedEvent{}}
	log.Archived, _ = state.Get("buildEventsArchived").Int()
	for _, e := range state.Get("buildEvents").Items() {
		log.Events = append(log.Events, LoggedEvent{BuildEvent, raw(e), l.path})
	}
	log.EventCount = len(log.Events)
	return log, nil
}

// buildPicture returns the view of a project's build. state is the project's workflow state.
func (v *workflowService) buildPicture(ctx context.Context, l *liveProject, state jsontree.Value) docview.BuildPicture {
	var b docview.Build
	b.SetState(state.Raw(), nil)
	b.SetInbox(docview.ReadDocument(v.host, l.store.Inbox().Path()))
	return v.owners.withBuildRun(ctx, l, &b)
}
