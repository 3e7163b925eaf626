package main

import (
	"fmt"
	"html"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/yuin/goldmark/ast"
)

// site is the state of the build. root is the folder of the repository, and dir is the folder that
// the site is written to. The paths in the other fields are relative to root and use slashes.
type site struct {
	root   string
	dir    string
	pages  []string
	nav    []navPart
	copies map[string]bool // files and folders that are not pages, but that pages link to
}

// build writes the site of the repository in the folder root to the folder dir. It returns the
// number of pages.
func build(root, dir string) (int, error) {
	s := &site{root: root, dir: dir, copies: map[string]bool{}}
	if err := s.findPages(); err != nil {
		return 0, err
	}
	if err := s.readNavigation(); err != nil {
		return 0, err
	}
	for _, page := range s.pages {
		if err := s.writePage(page); err != nil {
			return 0, fmt.Errorf("%s: %w", page, err)
		}
	}
	for _, file := range sortedKeys(s.copies) {
		if err := s.copy(file); err != nil {
			return 0, fmt.Errorf("%s: %w", file, err)
		}
	}
	return len(s.pages), os.WriteFile(filepath.Join(dir, "style.css"), []byte(style), 0o644)
}

// pagesBelow lists the folders whose pages are part of the site, including the pages in their
// subfolders. The pages in the repository's root folder are part of the site, too.
var pagesBelow = []string{"docs", "examples", "integrations"}

func (s *site) findPages() error {
	top, err := filepath.Glob(filepath.Join(s.root, "*.md"))
	if err != nil {
		return err
	}
	for _, file := range top {
		s.pages = append(s.pages, filepath.Base(file))
	}
	for _, folder := range pagesBelow {
		err := filepath.WalkDir(filepath.Join(s.root, folder), func(file string, entry fs.DirEntry, err error) error {
			if err == nil && !entry.IsDir() && strings.HasSuffix(file, ".md") {
				var relative string
				relative, err = filepath.Rel(s.root, file)
				s.pages = append(s.pages, filepath.ToSlash(relative))
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	if len(s.pages) == 0 {
		return fmt.Errorf("%s has no pages", s.root)
	}
	return nil
}

// outputOf returns the path that a page, another file or a folder of the repository has in the
// site. The parameter target is its path in the repository.
func (s *site) outputOf(target string) string {
	switch {
	case path.Base(target) == "README.md":
		return path.Join(path.Dir(target), "index.html")
	case slices.Contains(s.pages, target):
		return strings.TrimSuffix(target, ".md") + ".html"
	case slices.Contains(s.pages, path.Join(target, "README.md")), s.isFolder(target):
		return path.Join(target, "index.html")
	case isPicture(target):
		return target
	}
	return target + ".txt" // browsers display .txt files, but download files of unknown types
}

func (s *site) isFolder(target string) bool {
	info, err := os.Stat(filepath.Join(s.root, filepath.FromSlash(target)))
	return err == nil && info.IsDir()
}

func isPicture(file string) bool {
	return slices.Contains([]string{".png", ".svg"}, path.Ext(file))
}

// href returns the link to target from a page of the site, relative to this page. Both parameters
// are paths in the repository. If target is neither a page nor a folder with a README.md, href also
// adds it to s.copies, so that it is copied to the site.
func (s *site) href(from, target string) (string, error) {
	if _, err := os.Stat(filepath.Join(s.root, filepath.FromSlash(target))); err != nil {
		return "", err
	}
	out := s.outputOf(target)
	if !slices.Contains(s.pages, target) && !slices.Contains(s.pages, path.Join(target, "README.md")) {
		s.copies[target] = true
	}
	relative, err := filepath.Rel(path.Dir(s.outputOf(from)), out)
	return filepath.ToSlash(relative), err
}

// relink changes those links of a page that lead to files of the repository, so that they lead to
// the corresponding pages and files of the site.
func (s *site) relink(page string, document ast.Node) error {
	return ast.Walk(document, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		var err error
		switch n := n.(type) {
		case *ast.Link:
			n.Destination, err = s.destination(page, n.Destination)
		case *ast.Image:
			n.Destination, err = s.destination(page, n.Destination)
		}
		return ast.WalkContinue, err
	})
}

func (s *site) destination(page string, link []byte) ([]byte, error) {
	target, anchor, hasAnchor := strings.Cut(string(link), "#")
	if target == "" || strings.Contains(target, "://") {
		return link, nil
	}
	href, err := s.href(page, path.Join(path.Dir(page), target))
	if err != nil {
		return nil, fmt.Errorf("link %s: %w", link, err)
	}
	if hasAnchor {
		href += "#" + anchor
	}
	return []byte(href), nil
}

func (s *site) writePage(page string) error {
	data, err := os.ReadFile(filepath.Join(s.root, filepath.FromSlash(page)))
	if err != nil {
		return err
	}
	document := parse(data)
	if err := s.relink(page, document); err != nil {
		return err
	}
	body, err := render(data, document)
	if err != nil {
		return err
	}
	return s.write(page, s.outputOf(page), titleOf(data, document), body)
}

// write writes a page of the site to the path out. The parameter from is the path of the page in
// the repository. No file with this path needs to exist, because some pages exist only in the site.
func (s *site) write(from, out, title, body string) error {
	home, err := filepath.Rel(path.Dir(out), ".")
	if err != nil {
		return err
	}
	nav, err := s.navigation(from, out)
	if err != nil {
		return err
	}
	text := fmt.Sprintf(layout, html.EscapeString(title), filepath.ToSlash(home), nav, body)
	file := filepath.Join(s.dir, filepath.FromSlash(out))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, []byte(text), 0o644)
}

// copy copies a file to the site. If target is a folder, copy writes a page that lists the folder's
// files, and copies those files that are not pages.
func (s *site) copy(target string) error {
	if s.isFolder(target) {
		return s.writeFolder(target)
	}
	data, err := os.ReadFile(filepath.Join(s.root, filepath.FromSlash(target)))
	if err != nil {
		return err
	}
	file := filepath.Join(s.dir, filepath.FromSlash(s.outputOf(target)))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, data, 0o644)
}

// writeFolder writes a page with links to the pages and other files of a folder. It copies the
// other files, and leaves out subfolders.
func (s *site) writeFolder(folder string) error {
	entries, err := os.ReadDir(filepath.Join(s.root, filepath.FromSlash(folder)))
	if err != nil {
		return err
	}
	body := "<h1>" + html.EscapeString(path.Base(folder)) + "</h1>\n<ul>\n"
	for _, entry := range entries {
		target := path.Join(folder, entry.Name())
		if entry.IsDir() {
			continue
		}
		body += fmt.Sprintf("<li><a href=\"%s\">%s</a></li>\n", html.EscapeString(path.Base(s.outputOf(target))), html.EscapeString(s.titleOfFile(target)))
		if !slices.Contains(s.pages, target) {
			if err := s.copy(target); err != nil {
				return err
			}
		}
	}
	return s.write(path.Join(folder, "README.md"), path.Join(folder, "index.html"), path.Base(folder), body+"</ul>\n")
}
