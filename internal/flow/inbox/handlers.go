package inbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"gaffer/internal/flow/spec"
	"gaffer/statefile"
	"gaffer/statefile/jsontree"
	"gaffer/statefile/lazyregexp"
	"gaffer/statefile/timestamp"
	"gaffer/workflow"
)

// handler analyses an inbox item (an idea or a link that the user has left in the project's inbox)
// and returns the fields of the analysis. It has no side effects, so it can run again after a
// crash.
type handler func(ctx context.Context, w *Worker, item workflow.Item, s spec.Spec) ([]workflow.Field, error)

// handlers maps each type of inbox item that gaffer can process to its handler. Items of other
// types belong to other programs.
var handlers = map[workflow.ItemType]handler{
	workflow.EvolveItem:    ideaHandler("No section of the spec has words in common with it."),
	workflow.FeatureItem:   ideaHandler("No section of the spec has words in common with it; it may need one of its own."),
	workflow.ReferenceItem: referenceHandler,
}

// ideaHandler returns a handler for inbox items with an idea of the user. The handler finds the
// sections of the spec that the idea affects. If there is a spec but the idea affects none of its
// sections, the handler uses the text fallback as the summary of the analysis.
func ideaHandler(fallback string) handler {
	return func(_ context.Context, _ *Worker, item workflow.Item, s spec.Spec) ([]workflow.Field, error) {
		matches := s.Affected(item.Content)
		return analysis(matches, describeMatches(s, matches, fallback)), nil
	}
}

func analysis(matches []spec.Match, summary string) []workflow.Field {
	sections := []string{}
	for _, m := range matches {
		sections = append(sections, m.Section.Alias)
	}
	return []workflow.Field{{Name: "affectedSections", Value: sections}, {Name: "summary", Value: summary}}
}

// describeMatches returns a text about which sections of the spec an idea affects, and why. If
// there is a spec but the idea affects none of its sections, describeMatches returns the text
// fallback.
func describeMatches(s spec.Spec, matches []spec.Match, fallback string) string {
	switch {
	case !s.Found:
		return "There is no spec yet; /fctry:init creates one."
	case len(matches) == 0:
		return fallback
	}
	said := make([]string, len(matches))
	for i, m := range matches {
		said[i] = fmt.Sprintf("%s (%s)", m.Section, m.Why)
	}
	return "Touches " + strings.Join(said, ", ") + "."
}

// page is a part of the analysis of a reference (an inbox item that links to a web page). It
// describes the page and whether the page was fetched.
type page struct {
	URL       string `json:"url"`
	Fetched   bool   `json:"fetched"`
	FetchedAt string `json:"fetchedAt,omitempty"`
	Title     string `json:"title,omitempty"`
	Text      string `json:"text,omitempty"`
	Truncated bool   `json:"truncated,omitempty"`
}

// referenceHandler fetches the web page that an inbox item links to, and finds the sections of the
// spec that the page affects. If the user has not allowed fetching, it uses only the text of the
// item.
func referenceHandler(ctx context.Context, w *Worker, item workflow.Item, s spec.Spec) ([]workflow.Field, error) {
	address := strings.TrimRight(webAddress().FindString(item.Content), ".,;:!?)]'")
	if address == "" {
		return nil, errors.New("there is no http or https address in it")
	}
	if w.Fetch == nil {
		matches := s.Affected(strings.ReplaceAll(item.Content, address, " "))
		id := item.ID
		// If the id is unsafe in a shell command, which the user may copy, show a placeholder
		// instead.
		if statefile.CheckName("id", id) != nil || strings.Trim(id, plainCharacters) != "" {
			id = "ID"
		}
		summary := fmt.Sprintf("Not fetched; 'gaffer inbox process %s --fetch' fetches it.", id)
		return append(analysis(matches, summary), workflow.Field{Name: "reference", Value: page{URL: address}}), nil
	}
	got, err := w.Fetch(ctx, address)
	if err != nil {
		return nil, err
	}
	kept := page{
		URL: got.URL, Fetched: true, FetchedAt: timestamp.Format(w.Now()),
		Title: got.Title, Text: got.Text, Truncated: got.Truncated,
	}
	matches := s.Affected(item.Content + " " + got.Title + " " + got.Text)
	summary := fmt.Sprintf("Fetched: %s. %s", cmp.Or(got.Title, "a page without a title"),
		describeMatches(s, matches, "No section of the spec has words in common with it."))
	return append(analysis(matches, summary), workflow.Field{Name: "reference", Value: kept}), nil
}

var webAddress = lazyregexp.New(`(?i)\bhttps?://[^\s<>"]+`)

const plainCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"

// unfetched reports whether an inbox item is a reference that was processed without fetching its
// page.
func unfetched(item workflow.Item) bool {
	r := item.Raw.Get("analysis").Get("reference")
	fetched, known := r.Get("fetched").Bool()
	return item.Type == workflow.ReferenceItem && item.Status == workflow.Processed &&
		r.Kind() == jsontree.Object && known && !fetched
}
