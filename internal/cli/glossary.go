package cli

import (
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"gaffer/docs"
)

// glossaryTopic returns the help topic about gaffer's terms. It is docs/glossary.md, formatted
// for a terminal.
func glossaryTopic() *cobra.Command {
	return &cobra.Command{Use: "words", Short: "What gaffer's words mean", Long: formatGlossary(docs.Glossary)}
}

// formatGlossary formats a page of headings and paragraphs for a terminal of 80 columns.
func formatGlossary(page string) string {
	var blocks []string
	for _, block := range strings.Split(strings.TrimSpace(page), "\n\n") {
		if strings.HasPrefix(block, "# ") {
			continue // skip the title of the page, because the help topic has the same title
		}
		if heading, ok := strings.CutPrefix(block, "## "); ok {
			blocks = append(blocks, heading)
			continue
		}
		indent := ""
		if len(blocks) > 0 && !strings.Contains(blocks[len(blocks)-1], " ") {
			indent = "  " // indent a paragraph below the term that it explains
		}
		blocks = append(blocks, wrapText(withoutMarkdown(block), indent, 80))
	}
	text := ""
	for i, block := range blocks {
		switch {
		case i == 0:
		case strings.HasPrefix(block, "  "):
			text += "\n"
		default:
			text += "\n\n"
		}
		text += block
	}
	return text
}

var markdownLink = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)

// withoutMarkdown removes Markdown from a paragraph.
func withoutMarkdown(text string) string {
	return strings.ReplaceAll(markdownLink.ReplaceAllString(text, "$1"), "`", "")
}

// wrapText wraps a text at a number of columns.
func wrapText(text, indent string, columns int) string {
	var lines []string
	line := indent
	for _, word := range strings.Fields(text) {
		if line != indent && len(line)+1+len(word) > columns {
			lines, line = append(lines, line), indent
		}
		if line != indent {
			line += " "
		}
		line += word
	}
	return strings.Join(append(lines, line), "\n")
}
