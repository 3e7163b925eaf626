package source

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"gaffer/internal/forge"
	"gaffer/internal/plan"
)

// gitlab is a project on GitLab. gaffer uses the program glab to read its issues, and to report
// results to them.
type gitlab struct {
	spec    Spec
	program *forge.Program
}

func newGitLab(s Spec, dir string) (*gitlab, error) {
	p := &forge.Program{Name: forge.GitLab, Dir: dir, EndsWithParent: true}
	return &gitlab{s, p}, p.CheckInstalled("install it, and log in with 'glab auth login'")
}

func (g *gitlab) Name() string { return "glab:" + strings.ToLower(g.spec.Repo) }

// issues returns the path of the project's issues in GitLab's API. parts are further elements of
// the path, such as the number of an issue.
func (g *gitlab) issues(parts ...string) string {
	return strings.Join(append([]string{"projects", url.PathEscape(g.spec.Repo), "issues"}, parts...), "/")
}

// gitlabIssue is an issue as GitLab's API returns it in JSON.
type gitlabIssue struct {
	IID         int    `json:"iid"`
	Title       string `json:"title"`
	Description string `json:"description"`
	WebURL      string `json:"web_url"`
	State       string `json:"state"`
	Author      struct {
		Username string `json:"username"`
	} `json:"author"`
}

func (g *gitlab) List(ctx context.Context) ([]Item, error) {
	var found []gitlabIssue
	for _, n := range g.spec.Numbers {
		one, err := forge.Ask[gitlabIssue](ctx, g.program, "api", g.issues(strconv.Itoa(n)))
		if err != nil {
			return nil, err
		}
		found = append(found, one...)
	}
	if len(g.spec.Numbers) == 0 {
		query := url.Values{"state": {"opened"}, "per_page": {"100"}, "order_by": {"created_at"}, "sort": {"asc"}}
		if len(g.spec.Labels) > 0 {
			query.Set("labels", strings.Join(g.spec.Labels, ","))
		}
		pages, err := forge.Ask[[]gitlabIssue](ctx, g.program, "api", "--paginate", g.issues()+"?"+query.Encode())
		if err != nil {
			return nil, err
		}
		found = slices.Concat(pages...)
	}
	var items []Item
	for _, i := range found {
		if i.IID > 0 && strings.EqualFold(i.State, "opened") {
			items = append(items, issueItem(g.Name(), "glab", i.IID, i.Title, i.Description, i.WebURL, i.Author.Username))
		}
	}
	return oldestFirst(items), nil
}

func (g *gitlab) Report(ctx context.Context, item plan.SourceItem, r Result) error {
	if _, err := strconv.Atoi(item.ID); err != nil {
		return fmt.Errorf("%q is not the number of an issue", item.ID)
	}
	if item.Report.Comment {
		known := false
		if r.MaybeSent {
			type note struct {
				Body string `json:"body"`
			}
			pages, err := forge.Ask[[]note](ctx, g.program, "api", "--paginate", g.issues(item.ID, "notes")+"?per_page=100")
			if err != nil {
				return err
			}
			known = slices.ContainsFunc(slices.Concat(pages...), func(n note) bool { return strings.Contains(n.Body, r.marker()) })
		}
		if !known {
			if err := g.send(ctx, "POST", g.issues(item.ID, "notes"), map[string]string{"body": r.comment()}); err != nil {
				return err
			}
		}
	}
	if item.Report.Label == "" || !r.Complete {
		return nil
	}
	return g.send(ctx, "PUT", g.issues(item.ID), map[string]string{"add_labels": item.Report.Label})
}

// send sends a JSON object to GitLab's API.
func (g *gitlab) send(ctx context.Context, method, path string, body map[string]string) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	_, err = g.program.Run(ctx, string(text), "api", "--method", method, path, "--header", "Content-Type: application/json", "--input", "-")
	return err
}
