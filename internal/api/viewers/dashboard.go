package viewers

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"gaffer/internal/flow/spec"
	"gaffer/statefile"
	"gaffer/statefile/jsontree"
)

// Dashboard is an overview of all projects.
type Dashboard struct {
	Projects []Card `json:"projects"`
	Active   string `json:"activeProject"` // the path of the active project
}

// Card is the overview of one project.
type Card struct {
	Path            string         `json:"path"`
	Name            string         `json:"name"`
	SynopsisShort   *string        `json:"synopsisShort"` // synopsis in the spec's front matter; null if there is none
	SpecStatus      string         `json:"specStatus"`
	ExternalVersion *string        `json:"externalVersion"`
	AccentColor     *string        `json:"accentColor"`
	Readiness       CardReadiness  `json:"readiness"`
	Build           *CardBuild     `json:"build"` // null while no build is running
	Inbox           CardInbox      `json:"inbox"`
	Untracked       int            `json:"untrackedChanges"`
	UpgradeStatus   string         `json:"upgradeStatus"` // "current" or "upgraded"
	Recommendation  Recommendation `json:"recommendation"`
	LastActivity    time.Time      `json:"lastActivity,omitzero"`
}

// CardReadiness counts the sections of a project's spec by their level of readiness. Summary has
// the number of sections of each level, Total the number of all sections that have a level, and
// Ready the number of sections whose level means that they are ready.
type CardReadiness struct {
	Ready   int            `json:"ready"`
	Total   int            `json:"total"`
	Summary map[string]int `json:"summary"`
}

// CardBuild describes a build that is running.
type CardBuild struct {
	Progress any    `json:"progress"`
	Step     string `json:"step"`
}

// CardInbox counts the ideas in a project's inbox. Total counts all ideas. Pending counts those
// with the status pending or processed.
type CardInbox struct {
	Pending int `json:"pending"`
	Total   int `json:"total"`
}

// Recommendation says what the user could do next in a project, and why. Command is nil if no
// command is recommended.
type Recommendation struct {
	Command *string `json:"command"`
	Reason  string  `json:"reason"`
}

// Dashboard returns an overview of all projects. If a project cannot be read, the field
// Recommendation.Reason of its card contains the error.
func (v *workflowService) Dashboard(ctx context.Context) (Dashboard, error) {
	board := Dashboard{Projects: []Card{}}
	projects, err := v.projects.Projects(ctx)
	for _, p := range projects {
		if p.Active {
			board.Active = p.Path
		}
		card := Card{
			Path: p.Path, Name: p.Name, SpecStatus: "draft", UpgradeStatus: "current", LastActivity: p.LastActivity,
			Readiness: CardReadiness{Summary: map[string]int{}},
		}
		if err := v.fillCard(ctx, p, &card); err != nil {
			card.Recommendation = Recommendation{Reason: "it cannot be read: " + err.Error()}
		}
		board.Projects = append(board.Projects, card)
	}
	return board, err
}

func (v *workflowService) fillCard(ctx context.Context, p Project, card *Card) error {
	l, err := v.projects.live(p.Path)
	if err != nil {
		return err
	}
	state, err := l.store.Load()
	if err != nil {
		return err
	}
	ready, err := v.specs.Readiness(ctx, p.Path)
	if err != nil {
		return err
	}
	items, err := l.store.Inbox().List()
	if err != nil {
		return err
	}
	text, err := v.specs.spec(l)
	if err != nil {
		return err
	}
	card.Readiness.Summary = ready.Summary
	for word, count := range ready.Summary {
		card.Readiness.Total += count
		if slices.Contains([]string{"aligned", "ready-to-execute", "satisfied"}, word) {
			card.Readiness.Ready += count
		}
	}
	if text.Status != "" {
		card.SpecStatus = text.Status
	}
	if text.Synopsis != "" {
		card.SynopsisShort = &text.Synopsis
	}
	if data, err := statefile.ReadBytes(v.host, filepath.Join(l.folder, spec.ConfigFile)); err == nil {
		if doc, err := jsontree.Parse(data); err == nil {
			card.ExternalVersion = textOrNil(doc.Value().Get("versions").Get("external").Get("current"))
			card.AccentColor = textOrNil(doc.Value().Get("color"))
		}
	}
	if step := state.Get("workflowStep").Text(); step == "executor-build" || step == "executor-plan" {
		card.Build = &CardBuild{raw(state.Get("chunkProgress")), step}
	}
	card.Inbox.Total = len(items)
	for _, i := range items {
		if i.Status == "pending" || i.Status == "processed" {
			card.Inbox.Pending++
		}
	}
	card.Untracked = state.Get("untrackedChanges").Len()
	if !state.Get("upgradeApplied").Absent() {
		card.UpgradeStatus = "upgraded"
	}
	card.Recommendation = recommend(*card)
	return nil
}

// textOrNil returns a JSON string or number as text. It returns nil for any other value.
func textOrNil(v jsontree.Value) *string {
	if v.Kind() != jsontree.String && v.Kind() != jsontree.Number {
		return nil
	}
	text := v.String()
	return &text
}

// recommend returns the most urgent step that the user could take next in a project.
func recommend(c Card) Recommendation {
	do := func(command, reason string) Recommendation { return Recommendation{&command, reason} }
	is := c.Readiness.Summary
	switch {
	case c.Build != nil:
		return Recommendation{Reason: "a build is under way"}
	case is["undocumented"]+is["needs-spec-update"] > 0:
		return do("/fctry:review", "code that the spec does not describe")
	case c.Untracked > 0:
		return do("/fctry:evolve", fmt.Sprintf("untracked changes: %d", c.Untracked))
	case is["ready-to-build"]+is["spec-ahead"] > 0:
		return do("/fctry:execute", "sections that are not built yet")
	case c.Inbox.Pending > 0:
		return do("/fctry:evolve", fmt.Sprintf("ideas in the inbox: %d", c.Inbox.Pending))
	case c.Readiness.Total > 0 && c.Readiness.Ready == c.Readiness.Total && c.SpecStatus == "stable":
		return Recommendation{Reason: "all sections are ready, and the spec is stable"}
	case c.Readiness.Total > 0 && c.Readiness.Ready == c.Readiness.Total:
		return do("/fctry:review", "all sections are ready")
	case is["draft"] > 0:
		return do("/fctry:evolve", "sections that are drafts")
	}
	return do("/fctry:execute", "scenarios that are not satisfied yet")
}
