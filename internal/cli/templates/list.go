package templates

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"gaffer/internal/cli/env"
	"gaffer/internal/cli/table"
	"gaffer/internal/flow/prompt"
	"gaffer/internal/text/display"
	"gaffer/ledger"
	"gaffer/statefile/timestamp"
)

// descriptionWidth is the maximum width of a description in the table.
const descriptionWidth = 40

// template is the JSON form of a prompt template.
type template struct {
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Variables   []string `json:"variables"`
	Path        string   `json:"path"`
	Text        string   `json:"text,omitempty"` // set only if a single template is shown
}

// row is a prompt template with statistics about its runs.
type row struct {
	template
	Runs        int      `json:"runs"`
	Success     int      `json:"success"`
	SuccessRate *float64 `json:"success_rate"` // in percent; null if no run has ended
	// LastUsed is the start of the latest run. It is null if no run has a valid start time.
	LastUsed *string `json:"last_used"`
}

func describe(t prompt.Template) template {
	return template{t.Name, t.Description, append([]string{}, t.Variables()...), t.Path, t.Text}
}

func list(ctx context.Context, e *env.Env, asJSON bool) error {
	dir, err := folder(e)
	if err != nil {
		return err
	}
	all, broken := prompt.List(dir)
	for _, err := range broken {
		e.Talk("left out: %s", display.Printable(err.Error()))
	}
	used, err := history(ctx, e)
	if err != nil {
		return err
	}
	rows := make([]row, len(all))
	for i, t := range all {
		rows[i] = used.row(t)
	}
	if asJSON {
		return e.PrintJSON(rows)
	}
	return used.print(e, rows, dir)
}

// templateUses holds statistics about the use of templates. They are computed from the run and
// result records, which describe past attempts.
type templateUses struct {
	groups []ledger.Template
	last   map[string]time.Time
}

func history(ctx context.Context, e *env.Env) (templateUses, error) {
	c, err := e.Config()
	if err != nil {
		return templateUses{}, err
	}
	u := templateUses{last: map[string]time.Time{}}
	store := ledger.Open(c.Path("paths.ledger"), ledger.Options{Now: e.Now})
	r, err := store.Report(ctx, ledger.Query{}, func(a ledger.Attempt) error {
		// Ignore a start time that cannot be parsed: some run records contain the literal '$START'.
		if at, err := timestamp.Parse(a.StartedAt, time.UTC); err == nil && at.After(u.last[a.Template]) {
			u.last[a.Template] = at
		}
		return nil
	})
	u.groups = r.Statistics.ByTemplate
	return u, err
}

func (u templateUses) row(t prompt.Template) row {
	r := row{template: describe(t)}
	r.Text = ""
	for _, g := range u.groups {
		if g.Template != t.Name {
			continue
		}
		r.Runs, r.Success = g.Count, g.Success
		if g.Success+g.Failed+g.Timeout > 0 {
			r.SuccessRate = &g.SuccessRate
		}
	}
	if at, ok := u.last[t.Name]; ok {
		text := timestamp.Format(at)
		r.LastUsed = &text
	}
	return r
}

func (u templateUses) print(e *env.Env, rows []row, dir string) error {
	if len(rows) == 0 {
		e.Talk("no templates: a file NAME.md in %s is one", dir)
	} else if err := printTable(e, rows); err != nil {
		return err
	}
	if gone := u.missingTemplates(rows); len(gone) > 0 {
		e.Talk("in the records, but without a file: %s", display.Line(strings.Join(gone, ", "), 200))
	}
	return nil
}

// missingTemplates returns the names of templates that run records mention but that do not exist.
// The name "custom" means that no template was used.
func (u templateUses) missingTemplates(rows []row) (names []string) {
	for _, g := range u.groups {
		if g.Template != "custom" && !slices.ContainsFunc(rows, func(r row) bool { return r.Name == g.Template }) {
			names = append(names, g.Template)
		}
	}
	return names
}

func printTable(e *env.Env, rows []row) error {
	lines := [][]table.Cell{table.Row("NAME", "DESCRIPTION", "VARIABLES", "RUNS", "SUCCESS", "LAST USED")}
	for _, r := range rows {
		rate, last := "", ""
		if r.SuccessRate != nil {
			rate = fmt.Sprintf("%.1f%%", *r.SuccessRate)
		}
		if r.LastUsed != nil {
			last = *r.LastUsed
		}
		lines = append(lines, table.Row(
			r.Name, display.Line(r.Description, descriptionWidth), strings.Join(r.Variables, ", "), fmt.Sprint(r.Runs), rate, last,
		))
	}
	return table.Print(e, lines)
}
