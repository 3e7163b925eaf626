package viewers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gaffer/internal/flow/spec"
	"gaffer/statefile"
	"gaffer/statefile/host"
	"gaffer/statefile/jsontree"
	"gaffer/statefile/lazyregexp"
)

const opReadText host.Op = "read text"

// specReader answers the requests about the specs of projects.
type specReader struct {
	projects *projectList
	host     host.Host
}

// textDocuments maps the Markdown documents of a project to the default text for a missing
// document. The spec has no default: it must exist.
var textDocuments = map[string]string{spec.File: "", "changelog.md": "_No changelog yet._\n", "lessons.md": ""}

// Text reads one of the Markdown documents of a project.
func (v *specReader) Text(ctx context.Context, ref, name string) ([]byte, error) {
	without, known := textDocuments[name]
	if !known {
		return nil, refuse(missing, "not_found", "no document %.100q", name)
	}
	l, err := v.projects.find(ctx, ref)
	if err != nil {
		return nil, err
	}
	text, found, err := v.document(l, name)
	switch {
	case err != nil:
		return nil, err
	case !found && name == spec.File:
		return nil, refuse(missing, "not_found", "project %s has no %s", l.name, name)
	case !found:
		return []byte(without), nil
	}
	return text, nil
}

// document reads a file in the workflow folder of a project. found is false if the file
// is missing. Links are not followed, because their target may be outside the project.
func (v *specReader) document(l *liveProject, name string) (data []byte, found bool, err error) {
	path := filepath.Join(l.folder, name)
	info, err := v.host.Lstat(opReadText, path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, false, nil
	case err != nil:
		return nil, false, err
	case !info.Mode().IsRegular():
		return nil, false, refuse(conflict, "invalid_document", "%s of project %s is no regular file", name, l.name)
	case info.Size() > spec.MaxSize:
		return nil, false, refuse(conflict, "invalid_document", "%s of project %s is longer than %d MiB", name, l.name, spec.MaxSize>>20)
	}
	data, err = statefile.ReadBytes(v.host, path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	return data, err == nil, clientError(err)
}

// spec reads the spec of a project. It returns an empty spec if there is none.
func (v *specReader) spec(l *liveProject) (spec.Spec, error) {
	data, found, err := v.document(l, spec.File)
	if err != nil || !found {
		return spec.Spec{}, err
	}
	return spec.Parse(data), nil
}

// Sections are the sections of a spec, in its order.
type Sections struct {
	Sections []Section `json:"sections"`
}

// Section is one section of a spec as the viewer shows it.
type Section struct {
	Number    string   `json:"number"`
	Heading   string   `json:"heading"`
	Alias     string   `json:"alias"` // without #
	Readiness string   `json:"readiness"`
	Level     int      `json:"level"`
	Claims    []string `json:"claims"`
	Body      string   `json:"body"`
}

// claimPattern matches bold text in a section, which states a claim.
var claimPattern = lazyregexp.New(`\*\*([^*\n]{4,80})\*\*`)

// Sections returns the sections of a project's spec, with their readiness from the
// workflow state.
func (v *specReader) Sections(ctx context.Context, ref string) (Sections, error) {
	list := Sections{[]Section{}}
	text, words, err := v.specWithReadiness(ctx, ref)
	if err != nil {
		return list, err
	}
	for _, s := range text.Sections {
		claims := []string{}
		for _, m := range claimPattern().FindAllStringSubmatch(s.Text, maxClaims) {
			if one := strings.TrimSuffix(strings.TrimSpace(m[1]), "."); !slices.Contains(claims, one) {
				claims = append(claims, one)
			}
		}
		list.Sections = append(list.Sections, Section{s.Number, s.Title, s.Alias[1:], words(s), s.Level, claims, s.Text})
	}
	return list, nil
}

// maxClaims is the maximum number of claims that are read from a section.
const maxClaims = 200

// specWithReadiness reads the spec of a project. The function of returns the readiness
// of a section according to the workflow state.
func (v *specReader) specWithReadiness(ctx context.Context, ref string) (text spec.Spec, of func(spec.Section) string, err error) {
	l, err := v.projects.find(ctx, ref)
	if err != nil {
		return text, nil, err
	}
	ready, err := v.Readiness(ctx, l.path)
	if err != nil {
		return text, nil, err
	}
	if text, err = v.spec(l); err != nil {
		return text, nil, err
	}
	words := map[string]string{}
	for _, r := range ready.Sections {
		if in, ok := text.Section(r.Alias); ok {
			words[in.Alias] = r.Readiness
		}
	}
	return text, func(s spec.Section) string { return cmp.Or(words[s.Alias], "unknown") }, nil
}

// Dashboard is an overview of all projects.
type Dashboard struct {
	Projects []Card `json:"projects"`
	Active   string `json:"activeProject"` // the path of the active project
}

// Card is the overview of one project.
type Card struct {
	Path            string         `json:"path"`
	Name            string         `json:"name"`
	SynopsisShort   *string        `json:"synopsisShort"` // from the spec's front matter
	SpecStatus      string         `json:"specStatus"`
	ExternalVersion *string        `json:"externalVersion"`
	AccentColor     *string        `json:"accentColor"`
	Readiness       CardReadiness  `json:"readiness"`
	Build           *CardBuild     `json:"build"` // null while no build is running
	Inbox           CardInbox      `json:"inbox"`
	Untracked       int            `json:"untrackedChanges"`
	UpgradeStatus   string         `json:"upgradeStatus"` // current or upgraded
	Recommendation  Recommendation `json:"recommendation"`
	LastActivity    time.Time      `json:"lastActivity,omitzero"`
}

// CardReadiness counts the ready sections and all sections.
type CardReadiness struct {
	Ready   int            `json:"ready"`
	Total   int            `json:"total"`
	Summary map[string]int `json:"summary"`
}

// CardBuild is a running build.
type CardBuild struct {
	Progress any    `json:"progress"`
	Step     string `json:"step"`
}

// CardInbox counts the pending ideas and all ideas.
type CardInbox struct {
	Pending int `json:"pending"`
	Total   int `json:"total"`
}

// Recommendation is what the user may do next.
type Recommendation struct {
	Command *string `json:"command"`
	Reason  string  `json:"reason"`
}

// Dashboard returns an overview of all projects. If a project cannot be read, its
// recommendation shows the error.
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

// textOrNil returns a string or number of a document as text, or nil if there is none.
func textOrNil(v jsontree.Value) *string {
	if v.Kind() != jsontree.String && v.Kind() != jsontree.Number {
		return nil
	}
	text := v.String()
	return &text
}

// recommend returns the most urgent thing that the user may do next.
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
