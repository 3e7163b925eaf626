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

// texts are the documents of a project that are Markdown, with what stands for one
// that was not written yet. A spec must be there.
var texts = map[string]string{spec.File: "", "changelog.md": "_No changelog yet._\n", "lessons.md": ""}

// Text reads one of those documents.
func (v *Viewer) Text(ctx context.Context, ref, name string) ([]byte, error) {
	without, known := texts[name]
	if !known {
		return nil, refuse(missing, "not_found", "no document %.100q", name)
	}
	l, err := v.of(ctx, ref)
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

// document reads a file in the workflow folder of a project, if it is there. A
// link is not followed: what it leads to is not the project's to show.
func (v *Viewer) document(l *live, name string) (data []byte, found bool, err error) {
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
	return data, err == nil, told(err)
}

// spec reads the spec of a project, which may have none.
func (v *Viewer) spec(l *live) (spec.Spec, error) {
	data, found, err := v.document(l, spec.File)
	if err != nil || !found {
		return spec.Spec{}, err
	}
	return spec.Parse(data), nil
}

// Sections are those of a spec, in its order.
type Sections struct {
	Sections []Section `json:"sections"`
}

// Section is one section of a spec as a viewer shows it.
type Section struct {
	Number    string   `json:"number"`
	Heading   string   `json:"heading"`
	Alias     string   `json:"alias"` // without #
	Readiness string   `json:"readiness"`
	Level     int      `json:"level"`
	Claims    []string `json:"claims"`
	Body      string   `json:"body"`
}

// claim is what stands in bold in the text of a section.
var claim = lazyregexp.New(`\*\*([^*\n]{4,80})\*\*`)

// Sections reads the sections of a project's spec, with what the state says of
// their readiness.
func (v *Viewer) Sections(ctx context.Context, ref string) (Sections, error) {
	list := Sections{[]Section{}}
	text, words, err := v.specWithReadiness(ctx, ref)
	if err != nil {
		return list, err
	}
	for _, s := range text.Sections {
		claims := []string{}
		for _, m := range claim().FindAllStringSubmatch(s.Text, maxClaims) {
			if one := strings.TrimSuffix(strings.TrimSpace(m[1]), "."); !slices.Contains(claims, one) {
				claims = append(claims, one)
			}
		}
		list.Sections = append(list.Sections, Section{s.Number, s.Title, s.Alias[1:], words(s), s.Level, claims, s.Text})
	}
	return list, nil
}

// maxClaims is how many claims of a section are read.
const maxClaims = 200

// specWithReadiness reads the spec of a project, and what the state says of how
// ready a section is.
func (v *Viewer) specWithReadiness(ctx context.Context, ref string) (text spec.Spec, of func(spec.Section) string, err error) {
	l, err := v.of(ctx, ref)
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

// Dashboard is how all projects stand.
type Dashboard struct {
	Projects []Card `json:"projects"`
	Active   string `json:"activeProject"` // its path
}

// Card is how one project stands.
type Card struct {
	Path            string         `json:"path"`
	Name            string         `json:"name"`
	SynopsisShort   *string        `json:"synopsisShort"` // of the spec's front matter
	SpecStatus      string         `json:"specStatus"`
	ExternalVersion *string        `json:"externalVersion"`
	AccentColor     *string        `json:"accentColor"`
	Readiness       CardReadiness  `json:"readiness"`
	Build           *CardBuild     `json:"build"` // null while none is under way
	Inbox           CardInbox      `json:"inbox"`
	Untracked       int            `json:"untrackedChanges"`
	UpgradeStatus   string         `json:"upgradeStatus"` // current or upgraded
	Recommendation  Recommendation `json:"recommendation"`
	LastActivity    time.Time      `json:"lastActivity,omitzero"`
}

// CardReadiness is how many sections are ready, of how many.
type CardReadiness struct {
	Ready   int            `json:"ready"`
	Total   int            `json:"total"`
	Summary map[string]int `json:"summary"`
}

// CardBuild is a build that is under way.
type CardBuild struct {
	Progress any    `json:"progress"`
	Step     string `json:"step"`
}

// CardInbox is how many ideas wait, of how many.
type CardInbox struct {
	Pending int `json:"pending"`
	Total   int `json:"total"`
}

// Recommendation is what a person may do next.
type Recommendation struct {
	Command *string `json:"command"`
	Reason  string  `json:"reason"`
}

// Dashboard reads how all projects stand. What cannot be read of one is told in
// its recommendation, and hides no other project.
func (v *Viewer) Dashboard(ctx context.Context) (Dashboard, error) {
	board := Dashboard{Projects: []Card{}}
	projects, err := v.Projects(ctx)
	for _, p := range projects {
		if p.Active {
			board.Active = p.Path
		}
		card := Card{
			Path: p.Path, Name: p.Name, SpecStatus: "draft", UpgradeStatus: "current", LastActivity: p.LastActivity,
			Readiness: CardReadiness{Summary: map[string]int{}},
		}
		if err := v.fill(ctx, p, &card); err != nil {
			card.Recommendation = Recommendation{Reason: "it cannot be read: " + err.Error()}
		}
		board.Projects = append(board.Projects, card)
	}
	return board, err
}

func (v *Viewer) fill(ctx context.Context, p Project, card *Card) error {
	l, err := v.live(p.Path)
	if err != nil {
		return err
	}
	state, err := l.store.Load()
	if err != nil {
		return err
	}
	ready, err := v.Readiness(ctx, p.Path)
	if err != nil {
		return err
	}
	items, err := l.store.Inbox().List()
	if err != nil {
		return err
	}
	text, err := v.spec(l)
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
			card.ExternalVersion = said(doc.Value().Get("versions").Get("external").Get("current"))
			card.AccentColor = said(doc.Value().Get("color"))
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

// said is a text of a document, or nil if it has none.
func said(v jsontree.Value) *string {
	if v.Kind() != jsontree.String && v.Kind() != jsontree.Number {
		return nil
	}
	text := v.String()
	return &text
}

// recommend is what a person may do next, the most urgent first.
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
