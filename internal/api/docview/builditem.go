package docview

import (
	"time"

	"gaffer/statefile/jsontree"
)

// BuildItem is an idea of the user in the project's inbox, with the analysis of the idea.
type BuildItem struct {
	ID         string         `json:"id"`
	Type       string         `json:"type"`
	Content    string         `json:"content"`
	Status     string         `json:"status"`
	At         time.Time      `json:"at,omitzero"`
	Analysis   *BuildAnalysis `json:"analysis,omitempty"`
	ConsumedBy string         `json:"consumedBy,omitempty"`
	Error      string         `json:"error,omitempty"`
}

// BuildAnalysis is the result of analyzing an idea. It names the sections of the project's
// specification that the idea affects.
type BuildAnalysis struct {
	AffectedSections []string `json:"affectedSections"`
	Summary          string   `json:"summary"`
}

// items returns the latest ideas in a project's inbox, in the order of the file.
func items(inbox jsontree.Value, l limits) []BuildItem {
	list := []BuildItem{}
	for _, v := range inbox.Items() {
		if v.Kind() != jsontree.Object {
			continue
		}
		item := BuildItem{
			ID: l.cut(first(v, "id")), Type: l.cut(first(v, "type")), Content: l.cut(first(v, "content", "text")),
			Status: l.cut(first(v, "status")), At: parseTime(first(v, "timestamp")), Error: l.cut(first(v, "error")),
			Analysis: analysis(v.Get("analysis"), l),
		}
		if by := v.Get("consumedBy"); !by.Absent() {
			item.ConsumedBy = l.cut(by.String())
		}
		list = append(list, item)
	}
	return last(list, l.items)
}

// analysis returns the analysis of an idea, or nil if there is none. In the document, v is an
// object or a plain text.
func analysis(v jsontree.Value, l limits) *BuildAnalysis {
	if text, ok := v.Str(); ok && text != "" {
		return &BuildAnalysis{[]string{}, l.cut(text)}
	}
	if v.Kind() != jsontree.Object {
		return nil
	}
	return &BuildAnalysis{l.cutAll(texts(v.Get("affectedSections"))), l.cut(first(v, "summary"))}
}
