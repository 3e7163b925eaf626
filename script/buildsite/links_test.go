package main

import (
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/yuin/goldmark/ast"
)

const repository = "../.."

// problems returns the relative links of the repository's pages that lead nowhere, and the number of
// links.
func problems(t *testing.T, root string) (found []string, links int) {
	t.Helper()
	s := &site{root: root, copies: map[string]bool{}}
	if err := s.findPages(); err != nil {
		t.Fatal(err)
	}
	anchors := map[string][]string{}
	documents := map[string]ast.Node{}
	for _, page := range s.pages {
		data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(page)))
		if err != nil {
			t.Fatal(err)
		}
		documents[page] = parse(data)
		anchors[page] = anchorsOf(documents[page])
	}
	for _, page := range s.pages {
		for _, link := range linksOf(documents[page]) {
			target, anchor, hasAnchor := strings.Cut(link, "#")
			if strings.Contains(target, "://") {
				continue
			}
			links++
			at := page
			if target != "" {
				at = path.Join(path.Dir(page), target)
			}
			if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(at))); err != nil {
				found = append(found, page+": "+link+" does not exist")
			} else if hasAnchor && !slices.Contains(anchors[at], anchor) {
				found = append(found, page+": "+link+": the page has no such heading")
			}
		}
	}
	return found, links
}

// linksOf returns the targets of all links and pictures of a page.
func linksOf(document ast.Node) (links []string) {
	_ = ast.Walk(document, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // the function returns no error
		if entering {
			switch n := n.(type) {
			case *ast.Link:
				links = append(links, string(n.Destination))
			case *ast.Image:
				links = append(links, string(n.Destination))
			}
		}
		return ast.WalkContinue, nil
	})
	return links
}

// anchorsOf returns the anchors of a page's headings.
func anchorsOf(document ast.Node) (anchors []string) {
	_ = ast.Walk(document, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // the function returns no error
		if id, ok := n.AttributeString("id"); ok && entering {
			anchors = append(anchors, string(id.([]byte)))
		}
		return ast.WalkContinue, nil
	})
	return anchors
}

func TestEveryLinkOfAPageLeadsToAFileAndAHeading(t *testing.T) {
	found, links := problems(t, repository)
	for _, problem := range found {
		t.Error(problem)
	}
	if links < 300 {
		t.Errorf("only %d links were found", links)
	}
}

func TestALinkThatLeadsNowhereIsFound(t *testing.T) {
	root := t.TempDir()
	for _, folder := range pagesBelow {
		if err := os.Mkdir(filepath.Join(root, folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write(t, root, "README.md", "# Top\n\n[a](docs/a.md) [gone](docs/gone.md) [head](docs/a.md#two-words) [none](docs/a.md#three) [here](#top) ![p](p.png)\n")
	write(t, root, "docs/a.md", "# A\n\n## Two words\n")
	found, links := problems(t, root)
	want := []string{"README.md: docs/gone.md does not exist", "README.md: docs/a.md#three: the page has no such heading", "README.md: p.png does not exist"}
	if !slices.Equal(found, want) || links != 6 {
		t.Errorf("%d links, found %q, want %q", links, found, want)
	}
}

func write(t *testing.T, root, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(root, filepath.FromSlash(name)), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Every page must be in the index, so that a reader finds it. Pages of decisions, examples and
// integrations are found from the pages that belong to them.
func TestEveryPageOfTheDocumentationIsInTheIndex(t *testing.T) {
	s := &site{root: repository, copies: map[string]bool{}}
	if err := s.findPages(); err != nil {
		t.Fatal(err)
	}
	if err := s.readNavigation(); err != nil {
		t.Fatal(err)
	}
	var parts, linked []string
	for _, part := range s.nav {
		parts = append(parts, part.title)
		for _, link := range part.links {
			linked = append(linked, link.target)
		}
	}
	if want := []string{"Guide", "Reference", "Operations", "Protocols", "Decisions"}; !slices.Equal(parts, want) {
		t.Errorf("the parts are %q, want %q", parts, want)
	}
	for _, page := range s.pages {
		if strings.HasPrefix(page, "docs/") && !strings.HasPrefix(page, "docs/decisions/") && page != indexPage && !slices.Contains(linked, page) {
			t.Errorf("docs/README.md has no link to %s", page)
		}
	}
}

var (
	reference = regexp.MustCompile(`(?:href|src)="([^"]*)"`)
	anchor    = regexp.MustCompile(` id="([^"]*)"`)
)

func TestEveryLinkOfTheSiteLeadsToAFileAndAnAnchor(t *testing.T) {
	dir := t.TempDir()
	pages, err := build(repository, dir)
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	err = filepath.WalkDir(dir, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(file, ".html") {
			return err
		}
		data, err := os.ReadFile(file)
		texts[file] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(texts) < pages {
		t.Errorf("%d files for %d pages", len(texts), pages)
	}
	links := 0
	for file, text := range texts {
		for _, m := range reference.FindAllStringSubmatch(text, -1) {
			u, err := url.Parse(m[1])
			if err != nil {
				t.Errorf("%s: %v", file, err)
				continue
			}
			if u.Scheme != "" {
				continue
			}
			links++
			target := file
			if u.Path != "" {
				target = filepath.Join(filepath.Dir(file), filepath.FromSlash(u.Path))
			}
			if info, err := os.Stat(target); err != nil || info.IsDir() {
				t.Errorf("%s: %s leads nowhere: %v", file, m[1], err)
			} else if u.Fragment != "" && !slices.ContainsFunc(anchor.FindAllStringSubmatch(texts[target], -1), func(a []string) bool { return a[1] == u.Fragment }) {
				t.Errorf("%s: %s: no such anchor", file, m[1])
			}
		}
	}
	if links < 5000 {
		t.Errorf("only %d links were found", links)
	}
}
