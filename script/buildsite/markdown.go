package main

import (
	"bytes"
	"html"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// markdown parses and renders pages as GitHub does, with an anchor at each heading.
var markdown = goldmark.New(goldmark.WithExtensions(extension.GFM), goldmark.WithParserOptions(parser.WithAutoHeadingID()))

func parse(page []byte) ast.Node { return markdown.Parser().Parse(text.NewReader(page)) }

func render(page []byte, document ast.Node) (string, error) {
	var b bytes.Buffer
	err := markdown.Renderer().Render(&b, page, document)
	// Remove the text that goldmark writes in place of HTML comments. The pages contain HTML
	// comments, because the tests of their examples read them. Also put each table into a div,
	// because the style sheet expects this.
	return strings.NewReplacer("<!-- raw HTML omitted -->\n", "", "<table>", `<div class="table"><table>`, "</table>", "</table></div>").Replace(b.String()), err
}

// titleOf returns the first heading of a page, or "gaffer" if the page has no heading.
func titleOf(page []byte, document ast.Node) string {
	for n := document.FirstChild(); n != nil; n = n.NextSibling() {
		if n.Kind() == ast.KindHeading {
			return plainText(page, n)
		}
	}
	return "gaffer"
}

func (s *site) titleOfFile(target string) string {
	if !slices.Contains(s.pages, target) {
		return path.Base(target)
	}
	data, err := os.ReadFile(filepath.Join(s.root, filepath.FromSlash(target)))
	if err != nil {
		return path.Base(target)
	}
	return titleOf(data, parse(data))
}

// plainText returns the text of a node without markup.
func plainText(page []byte, node ast.Node) string {
	var b strings.Builder
	_ = ast.Walk(node, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // the function that Walk calls never returns an error
		if t, ok := n.(*ast.Text); ok && entering {
			b.Write(t.Value(page))
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}

// navPart is a section of the site's navigation: a heading of docs/README.md with the links below
// it.
type navPart struct {
	title string
	links []navLink
}

type navLink struct{ title, target string } // target is a path in the repository

const indexPage = "docs/README.md"

// readNavigation reads the site's navigation from the headings and links of the file indexPage.
func (s *site) readNavigation() error {
	data, err := os.ReadFile(filepath.Join(s.root, filepath.FromSlash(indexPage)))
	if err != nil {
		return err
	}
	document := parse(data)
	return ast.Walk(document, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Heading:
			if n.Level == 2 {
				s.nav = append(s.nav, navPart{title: plainText(data, n)})
			}
		case *ast.Link:
			target, _, _ := strings.Cut(string(n.Destination), "#")
			if len(s.nav) > 0 && target != "" && !strings.Contains(target, "://") {
				part := &s.nav[len(s.nav)-1]
				part.links = append(part.links, navLink{plainText(data, n), path.Join(path.Dir(indexPage), target)})
			}
		}
		return ast.WalkContinue, nil
	})
}

// navigation returns the HTML of the navigation for one page. The parameter out is the path of the
// page in the site, and from is its path in the repository. The links are relative to the page. The
// section of the navigation that contains the page is unfolded.
func (s *site) navigation(from, out string) (string, error) {
	var b strings.Builder
	index, err := s.href(from, indexPage)
	if err != nil {
		return "", err
	}
	b.WriteString(`<p><a href="` + html.EscapeString(index) + `">Documentation</a></p>` + "\n")
	for _, part := range s.nav {
		open := ""
		if slices.ContainsFunc(part.links, func(l navLink) bool { return s.outputOf(l.target) == out }) {
			open = " open"
		}
		b.WriteString("<details" + open + "><summary>" + html.EscapeString(part.title) + "</summary>\n<ul>\n")
		for _, link := range part.links {
			href, err := s.href(from, link.target)
			if err != nil {
				return "", err
			}
			current := ""
			if s.outputOf(link.target) == out {
				current = ` aria-current="page"`
			}
			b.WriteString(`<li><a href="` + html.EscapeString(href) + `"` + current + `>` + html.EscapeString(link.title) + "</a></li>\n")
		}
		b.WriteString("</ul>\n</details>\n")
	}
	return b.String(), nil
}

func sortedKeys(m map[string]bool) []string { return slices.Sorted(maps.Keys(m)) }
