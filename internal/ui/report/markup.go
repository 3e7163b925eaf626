package report

import (
	"html"
	"slices"
	"strings"
)

// node is a piece of a page. What is not markup of ours is escaped when it is
// written, wherever it stands. Go's templates would do the same and would make
// every process of gaffer larger, since they look methods up by name.
type node interface{ write(*strings.Builder) }

// text is shown as it is.
type text string

func (t text) write(b *strings.Builder) { b.WriteString(html.EscapeString(string(t))) }

// styles is the content of a style element, which nothing can escape. It must
// never be made of what a record says.
type styles string

func (s styles) write(b *strings.Builder) { b.WriteString(string(s)) }

// nodes stand one after the other.
type nodes []node

func (n nodes) write(b *strings.Builder) {
	for _, one := range n {
		one.write(b)
	}
}

// each makes a node of every item.
func each[T any](list []T, of func(T) node) nodes {
	out := make(nodes, len(list))
	for i, item := range list {
		out[i] = of(item)
	}
	return out
}

// element is a tag with attributes and what is in it.
type element struct {
	name  string
	attrs []string // names and values in turn
	kids  nodes
}

// tag makes an element. An empty class is none.
func tag(name, class string, kids ...node) *element {
	e := &element{name: name, kids: kids}
	if class != "" {
		e.attrs = []string{"class", class}
	}
	return e
}

// with adds attributes, names and values in turn.
func (e *element) with(attrs ...string) *element {
	e.attrs = append(e.attrs, attrs...)
	return e
}

// void are the elements that have no end.
var void = []string{"meta"}

// onLines are the elements after whose end the text goes on in a new line, so
// that a person can read it.
var onLines = []string{"head", "meta", "title", "style", "header", "section", "figure", "figcaption", "div", "tr", "table", "ul", "g", "footer", "h2"}

func (e *element) write(b *strings.Builder) {
	b.WriteString("<" + e.name)
	for pair := range slices.Chunk(e.attrs, 2) {
		b.WriteString(" " + pair[0] + `="` + html.EscapeString(pair[1]) + `"`)
	}
	b.WriteString(">")
	if !slices.Contains(void, e.name) {
		e.kids.write(b)
		b.WriteString("</" + e.name + ">")
	}
	if slices.Contains(onLines, e.name) {
		b.WriteString("\n")
	}
}

func render(n node) string {
	var b strings.Builder
	n.write(&b)
	return b.String()
}
