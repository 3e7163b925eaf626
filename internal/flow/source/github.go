package source

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gaffer/internal/forge"
	"gaffer/internal/plan"
)

// github is a repository on GitHub. gaffer uses the program gh to read its issues, and to report
// results to them.
type github struct {
	spec    Spec
	program *forge.Program
}

func newGitHub(s Spec, dir string) (*github, error) {
	p := &forge.Program{Name: forge.GitHub, Dir: dir, EndsWithParent: true}
	return &github{s, p}, p.CheckInstalled("install it, and log in with 'gh auth login'")
}

func (g *github) Name() string { return "gh:" + strings.ToLower(g.spec.Repo) }

// githubIssue is an issue as gh prints it in JSON.
type githubIssue struct {
	Number int    `json:"number"`
	Title  string `json:"title"`
	Body   string `json:"body"`
	URL    string `json:"url"`
	State  string `json:"state"`
	Author struct {
		Login string `json:"login"`
	} `json:"author"`
}

const githubFields = "number,title,body,url,state,author"

func (g *github) List(ctx context.Context) ([]Item, error) {
	var found []githubIssue
	for _, n := range g.spec.Numbers {
		one, err := forge.Ask[githubIssue](ctx, g.program, "issue", "view", strconv.Itoa(n), "--repo", g.spec.Repo, "--json", githubFields)
		if err != nil {
			return nil, err
		}
		found = append(found, one...)
	}
	if len(g.spec.Numbers) == 0 {
		args := []string{"issue", "list", "--repo", g.spec.Repo, "--state", "open", "--limit", strconv.Itoa(maxItems), "--json", githubFields}
		for _, label := range g.spec.Labels {
			args = append(args, "--label", label)
		}
		pages, err := forge.Ask[[]githubIssue](ctx, g.program, args...)
		if err != nil {
			return nil, err
		}
		found = slices.Concat(pages...)
	}
	var items []Item
	for _, i := range found {
		if i.Number > 0 && strings.EqualFold(i.State, "open") {
			items = append(items, issueItem(g.Name(), "gh", i.Number, i.Title, i.Body, i.URL, i.Author.Login))
		}
	}
	return oldestFirst(items), nil
}

// issueItem converts an issue to an [Item], from which a task can be made. It cleans all texts,
// because strangers have written them.
func issueItem(source, prefix string, number int, title, body, address, author string) Item {
	id := strconv.Itoa(number)
	return Item{
		SourceItem: plan.SourceItem{Source: source, ID: id, URL: cleanURL(address), Title: cmp.Or(cleanLine(title, maxTitle), "Issue "+id)},
		TaskID:     prefix + "-" + id, Author: cleanLine(author, maxAuthor), Text: cleanText(body, maxBody),
	}
}

// oldestFirst sorts issues by their numbers, removes duplicates, and drops the issues after the
// first maxItems.
func oldestFirst(items []Item) []Item {
	number := func(i Item) int { n, _ := strconv.Atoi(i.ID); return n }
	slices.SortStableFunc(items, func(a, b Item) int { return cmp.Compare(number(a), number(b)) })
	items = slices.CompactFunc(items, func(a, b Item) bool { return a.ID == b.ID })
	return items[:min(len(items), maxItems)]
}

func (g *github) Report(ctx context.Context, item plan.SourceItem, r Result) error {
	if _, err := strconv.Atoi(item.ID); err != nil {
		return fmt.Errorf("%q is not the number of an issue", item.ID)
	}
	repo := []string{item.ID, "--repo", g.spec.Repo}
	if item.Report.Comment {
		known := false
		if r.MaybeSent {
			type issue struct {
				Comments []struct {
					Body string `json:"body"`
				} `json:"comments"`
			}
			found, err := forge.Ask[issue](ctx, g.program, slices.Concat([]string{"issue", "view"}, repo, []string{"--json", "comments"})...)
			if err != nil {
				return err
			}
			for _, i := range found {
				for _, c := range i.Comments {
					known = known || strings.Contains(c.Body, r.marker())
				}
			}
		}
		if !known {
			if _, err := g.program.Run(ctx, r.comment(), slices.Concat([]string{"issue", "comment"}, repo, []string{"--body-file", "-"})...); err != nil {
				return err
			}
		}
	}
	if item.Report.Label == "" || !r.Complete {
		return nil
	}
	_, err := g.program.Run(ctx, "", slices.Concat([]string{"issue", "edit"}, repo, []string{"--add-label", item.Report.Label})...)
	return err
}
