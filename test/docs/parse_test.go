package docs

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// item is a part of a page that the test acts on: a block or a comment.
type item struct {
	line  int
	block *block
	run   string    // the hidden command of the item; empty if it has none
	with  [2]string // a text of the page, and the text that replaces it in commands
}

// block is a fenced block of a page.
type block struct {
	language string
	lines    []string
	file     string // name of the file that the block is written to; empty for none
	reason   string // why the block is not run; empty if it is
	follows  bool   // only blank lines are between this block and the previous block or hidden command
}

var (
	fence     = regexp.MustCompile("^ *(```+) *([^ `]*)")
	directive = regexp.MustCompile(`^(run|with|file|not run)(?::|$)\s*((?s:.*))$`)
	fileLine  = regexp.MustCompile(`^# (\S+\.(?:yaml|yml|json|jsonl|toml))$`)
)

// parse returns the items of a page in order.
func parse(page string) ([]item, error) {
	var items []item
	var file, reason string // from comments, for the next block
	adjacent := false       // only blank lines since the last block or hidden command
	lines := strings.Split(page, "\n")
	for i := 0; i < len(lines); i++ {
		line, at := lines[i], i+1
		if m := fence.FindStringSubmatch(line); m != nil {
			b := &block{language: m[2], file: file, reason: reason, follows: adjacent}
			for i++; ; i++ {
				if i == len(lines) {
					return nil, fmt.Errorf("line %d: the block does not end", at)
				}
				if end := fence.FindStringSubmatch(lines[i]); end != nil && end[1] == m[1] && end[2] == "" {
					break
				}
				b.lines = append(b.lines, lines[i])
			}
			if b.file == "" && len(b.lines) > 0 {
				if name := fileLine.FindStringSubmatch(b.lines[0]); name != nil {
					b.file = name[1]
				}
			}
			items = append(items, item{line: at, block: b})
			file, reason, adjacent = "", "", true
			continue
		}
		if strings.HasPrefix(line, "<!-- ") {
			comment := strings.TrimPrefix(line, "<!-- ")
			for !strings.HasSuffix(comment, "-->") {
				if i++; i == len(lines) {
					return nil, fmt.Errorf("line %d: the comment does not end", at)
				}
				comment += "\n" + lines[i]
			}
			m := directive.FindStringSubmatch(strings.TrimSpace(strings.TrimSuffix(comment, "-->")))
			switch {
			case m == nil: // an ordinary comment, for readers of the page's source
			case m[2] == "":
				return nil, fmt.Errorf("line %d: %q says nothing more", at, m[1])
			case m[1] == "run":
				items = append(items, item{line: at, run: m[2]})
				adjacent = true
			case m[1] == "with":
				text, value, ok := strings.Cut(m[2], " = ")
				if !ok {
					return nil, fmt.Errorf("line %d: %q is not TEXT = VALUE", at, m[2])
				}
				items = append(items, item{line: at, with: [2]string{text, value}})
			case m[1] == "file":
				file = m[2]
			case m[1] == "not run":
				reason = m[2]
			}
			continue
		}
		if strings.TrimSpace(line) == "" {
			continue
		}
		if file != "" || reason != "" {
			return nil, fmt.Errorf("line %d: the comment before it is not directly above a block", at)
		}
		adjacent = false
	}
	if file != "" || reason != "" {
		return nil, fmt.Errorf("the last comment has no block below it")
	}
	return items, nil
}

// command is a command in a page, with the output that the page shows.
type command struct {
	line  int
	text  string
	shown []string
}

var hereDocument = regexp.MustCompile(`<<-?\s*['"]?(\w+)['"]?`)

// commands splits the lines of an sh block into commands. line is the line of the page where the
// block begins.
func commands(line int, lines []string) (all []command) {
	for i := 0; i < len(lines); i++ {
		if text := strings.TrimSpace(lines[i]); text == "" || strings.HasPrefix(text, "#") {
			continue
		}
		c := command{line: line + 1 + i, text: lines[i]}
		for strings.HasSuffix(lines[i], `\`) && i+1 < len(lines) {
			i++
			c.text += "\n" + lines[i]
		}
		if m := hereDocument.FindStringSubmatch(c.text); m != nil {
			for i+1 < len(lines) && lines[i] != m[1] {
				i++
				c.text += "\n" + lines[i]
			}
		}
		all = append(all, c)
	}
	return all
}

// prompts splits the lines of a console block into commands and their outputs.
func prompts(line int, lines []string) (all []command, err error) {
	for i, text := range lines {
		switch shown, ok := strings.CutPrefix(text, "$ "); {
		case ok:
			all = append(all, command{line: line + 1 + i, text: shown})
		case len(all) == 0:
			return nil, fmt.Errorf("line %d is neither a command nor its output", line+1+i)
		case len(all[len(all)-1].shown) == 0 && strings.HasSuffix(all[len(all)-1].text, `\`):
			all[len(all)-1].text += "\n" + text
		default:
			all[len(all)-1].shown = append(all[len(all)-1].shown, text)
		}
	}
	return all, nil
}

// hidesCommand returns a line of a text block that looks like a command. It returns false if there
// is none.
func hidesCommand(lines []string) (string, bool) {
	at := slices.IndexFunc(lines, func(line string) bool {
		return strings.HasPrefix(line, "$ ") || regexp.MustCompile(`^(gaffer|git|curl|claude|codex) [a-z-]+( |$)`).MatchString(line)
	})
	if at < 0 {
		return "", false
	}
	return lines[at], true
}

// mismatch returns the first difference between the output and what the page shows, or "" if they
// match.
func mismatch(shown []string, output, dir string) string {
	var got []string
	if output = strings.TrimRight(output, "\n"); output != "" {
		got = strings.Split(output, "\n")
	}
	for i := range got {
		got[i] = regular(got[i], dir)
	}
	shown = slices.Clone(shown)
	for len(shown) > 0 && strings.TrimSpace(shown[len(shown)-1]) == "" {
		shown = shown[:len(shown)-1]
	}
	at, anywhere := 0, false
	for _, want := range shown {
		if strings.TrimSpace(want) == "…" {
			anywhere = true
			continue
		}
		form := lineForm(regular(want, dir))
		if anywhere {
			for at < len(got) && !form.MatchString(got[at]) {
				at++
			}
			anywhere = false
		}
		if at >= len(got) {
			return fmt.Sprintf("the output has no line %q", want)
		}
		if !form.MatchString(got[at]) {
			return fmt.Sprintf("the output has %q where the page shows %q", got[at], want)
		}
		at++
	}
	if at < len(got) && !anywhere {
		return fmt.Sprintf("the page does not show the line %q", got[at])
	}
	return ""
}

func lineForm(line string) *regexp.Regexp {
	return regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(line), "…", ".*") + "$")
}

// varying lists patterns for text that differs from run to run, such as times, with a placeholder
// for each.
var varying = []struct {
	form *regexp.Regexp
	as   string
}{
	{regexp.MustCompile(`\d{8}-\d{6}-[0-9a-f]{8}`), "RUN"},
	{regexp.MustCompile(`v4_\d{8}_\d{6}`), "TEAM"},
	{regexp.MustCompile(`msg_\d{8}_\d{6}`), "MESSAGE"},
	{regexp.MustCompile(`inbox-\d+-[0-9a-f]+`), "INBOX"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT[\d:.]+Z`), "TIME"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\d`), "DATE"},
	{regexp.MustCompile(`\b(\d+h \d+m|\d+m \d+s|\d+s|\d+ms)\b`), "TOOK"},
	{regexp.MustCompile(`[\d.]+k? tokens(, <?\$[\d.]+)?`), "TOKENS"},
	{regexp.MustCompile(`[ \t]+`), " "},
}

func regular(line, dir string) string {
	line = strings.ReplaceAll(line, dir, "/src/demo")
	for _, v := range varying {
		line = v.form.ReplaceAllString(line, v.as)
	}
	return strings.TrimSpace(line)
}
