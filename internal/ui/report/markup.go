package report

import (
	"html"
	"slices"
	"strings"
)

// node is a piece of an HTML page. All text except [styles] is escaped when it is written. The
// package html/template would escape it, too, but it calls methods by reflection. The linker would
// then keep all exported methods, which would make gaffer's binary larger.
type node interface{ write(*strings.Builder) }

// text is plain text; it is escaped when it is written.
type text string

func (t text) write(b *strings.Builder) { b.WriteString(html.EscapeString(string(t))) }

// styles is the CSS in a style element. It is written without escaping, so it must never contain
// text that comes from the records of runs.
type styles string

func (s styles) write(b *strings.Builder) { b.WriteString(string(s)) }

// nodes is a node that consists of other nodes, which are written one after the other.
type nodes []node

func (n nodes) write(b *strings.Builder) {
	for _, one := range n {
		one.write(b)
	}
}

// each calls the function convert for every element of a list and returns the resulting nodes.
func each[T any](list []T, convert func(T) node) nodes {
	out := make(nodes, len(list))
	for i, item := range list {
		out[i] = convert(item)
	}
	return out
}

// element is an HTML element with its attributes and children.
type element struct {
	name  string
	attrs []string // alternating names and values
	kids  nodes
}

// tag returns a new element. If class is empty, the element gets no class attribute.
func tag(name, class string, kids ...node) *element {
	e := &element{name: name, kids: kids}
	if class != "" {
		e.attrs = []string{"class", class}
	}
	return e
}

// with adds attributes to the element. attrs alternates names and values.
func (e *element) with(attrs ...string) *element {
	e.attrs = append(e.attrs, attrs...)
	return e
}

// void holds the names of the elements that have no end tag.
var void = []string{"meta"}

// onLines holds the names of the elements that are followed by a line break, so that the page's
// source is readable.
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
