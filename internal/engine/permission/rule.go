package permission

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// Rule is a parsed rule. The zero value matches no call.
type Rule struct {
	Text  string
	Grant bool // a user has made the rule by answering a question

	all     bool // the rule matches every call
	tool    string
	server  bool    // the rule is for all tools of an MCP server; tool is mcp__SERVER
	pattern pattern // nil if the rule matches all calls of the tool
}

// pattern is the parsed text between the parentheses of a rule. It is a [*commandPattern], a
// [*pathPattern] or a [domainPattern].
type pattern any

// MaxRule is the maximum length of a rule in bytes.
const MaxRule = 16 << 10

// RuleError says why a text is not a rule.
type RuleError struct{ Rule, Why string }

func (e *RuleError) Error() string { return fmt.Sprintf("rule %.100q: %s", e.Rule, e.Why) }

// Invalid returns true, so that commands exit with code 5 and the server answers with status 400.
func (e *RuleError) Invalid() bool { return true }

var toolName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([A-Za-z][A-Za-z0-9_-]*)(?:\((?s:(.*))\))?$`)
})

// mcpPrefix is the beginning of the names of MCP tools, such as mcp__SERVER__TOOL.
const mcpPrefix = "mcp__"

// Parse parses a rule. If the text is not a rule, the error is a [*RuleError].
func Parse(text string) (Rule, error) {
	wrong := func(format string, args ...any) (Rule, error) {
		return Rule{}, &RuleError{text, fmt.Sprintf(format, args...)}
	}
	switch {
	case strings.TrimSpace(text) == "":
		return wrong("is empty; want a tool, or a tool with a pattern such as Bash(go test:*)")
	case len(text) > MaxRule:
		return wrong("has %d bytes, and may have %d", len(text), MaxRule)
	case !utf8.ValidString(text) || strings.ContainsFunc(text, isControl):
		return wrong("contains characters that are not text")
	}
	text = strings.TrimSpace(text)
	if name, all := strings.CutSuffix(text, "__*"); all && strings.HasPrefix(text, mcpPrefix) {
		return Rule{Text: text, tool: name, server: true}, nil
	}
	m := toolName().FindStringSubmatch(text)
	if m == nil {
		return wrong("want a tool, or a tool with a pattern in parentheses, such as Bash(go test:*)")
	}
	server, isMCP := strings.CutPrefix(m[1], mcpPrefix)
	r := Rule{Text: text, tool: m[1], server: isMCP && !strings.Contains(server, "__")}
	content := strings.TrimSpace(m[2])
	if r.tool == text || content == "*" {
		return r, nil
	}
	if content == "" {
		return wrong("has an empty pattern; write %s to name all its calls", r.tool)
	}
	var err error
	switch r.tool {
	case bashTool:
		r.pattern, err = parseCommandPattern(content)
	case editTool, readTool:
		r.pattern, err = parsePathPattern(content)
	case fetchTool:
		r.pattern, err = parseDomainPattern(content)
	case "Write", "MultiEdit", "NotebookEdit":
		return wrong("%s takes no pattern; Edit(%s) covers all tools that change files", r.tool, content)
	case "Grep", "Glob", "LS":
		return wrong("%s takes no pattern; Read(%s) covers all tools that read files", r.tool, content)
	default:
		return wrong("%s takes no pattern: only Bash, Edit, Read and WebFetch do", r.tool)
	}
	if err != nil {
		return wrong("%v", err)
	}
	return r, nil
}

// Everything returns a rule that matches every call. It is used as an ask rule in place of a deny
// or ask rule that cannot be parsed, so that the user is asked about the calls that the unreadable
// rule may forbid.
func Everything(text string) Rule { return Rule{Text: text, all: true} }

func isControl(c rune) bool { return c < ' ' && c != '\n' && c != '\t' || c == 0x7f }

// ParseAll parses several rules. It stops at the first text that is not a rule.
func ParseAll(texts []string) ([]Rule, error) {
	var rules []Rule
	for _, text := range texts {
		r, err := Parse(text)
		if err != nil {
			return nil, err
		}
		rules = append(rules, r)
	}
	return rules, nil
}

// Tool returns the name of the rule's tool, and the text of its pattern without the parentheses.
// The pattern is empty if the rule matches all calls of the tool.
func (r Rule) Tool() (name, pattern string) {
	if r.pattern == nil {
		return r.tool, ""
	}
	m := toolName().FindStringSubmatch(r.Text)
	return r.tool, strings.TrimSpace(m[2])
}

// Names of tools whose rules may have patterns.
const (
	bashTool  = "Bash"
	editTool  = "Edit"
	readTool  = "Read"
	fetchTool = "WebFetch"
)

// searchTool reads all files of a folder.
const searchTool = "Grep"

// covers reports whether the rule applies to a tool: the rule is for this tool, for its MCP server,
// or for every call. A rule for Edit also applies to the other tools that change files, and a rule
// for Read to the other tools that read files.
func (r Rule) covers(tool string) bool {
	switch {
	case r.all || r.tool == tool:
		return true
	case r.tool == editTool:
		return isEdit(tool)
	case r.tool == readTool:
		return isRead(tool)
	}
	return r.server && strings.HasPrefix(tool, r.tool+"__")
}

func isEdit(tool string) bool {
	return slices.Contains([]string{editTool, "Write", "MultiEdit", "NotebookEdit"}, tool)
}

func isRead(tool string) bool {
	return slices.Contains([]string{readTool, "NotebookRead", "Grep", "Glob", "LS"}, tool)
}

// domainPattern is the pattern of a rule for WebFetch: the name of a host, or "*.NAME" for all
// subdomains of NAME.
type domainPattern string

func parseDomainPattern(text string) (domainPattern, error) {
	host, ok := strings.CutPrefix(text, "domain:")
	if !ok {
		return "", fmt.Errorf("want WebFetch(domain:HOST)")
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if bare := strings.TrimPrefix(host, "*."); bare == "" || strings.ContainsAny(bare, "/*:@ \t\n") {
		return "", fmt.Errorf("%q is not the name of a host", host)
	}
	return domainPattern(host), nil
}

func (d domainPattern) matches(host string) bool {
	if parent, ok := strings.CutPrefix(string(d), "*."); ok {
		return strings.HasSuffix(host, "."+parent)
	}
	return host == string(d)
}

// pathPattern is a pattern for paths of files. Each segment is a pattern of [path.Match]. The
// segment ** matches any number of segments.
type pathPattern struct {
	absolute bool // the pattern starts at the file system's root, not at the work folder
	segments []string
}

func parsePathPattern(text string) (*pathPattern, error) {
	p := &pathPattern{absolute: strings.HasPrefix(text, "//")}
	if strings.HasPrefix(text, "~") {
		return nil, fmt.Errorf("~ is not supported; write //home/NAME/… for a path outside the work folder")
	}
	clean := strings.Trim(strings.TrimPrefix(text, "./"), "/")
	if clean == "" {
		return nil, fmt.Errorf("names no path")
	}
	p.segments = strings.Split(clean, "/")
	for _, s := range p.segments {
		if _, err := path.Match(s, ""); err != nil || s == "" || s == "." || s == ".." {
			return nil, fmt.Errorf("segment %q of the path is not a pattern", s)
		}
	}
	// As in .gitignore, a pattern without a slash matches files at any depth.
	if !p.absolute && !strings.Contains(text, "/") {
		p.segments = append([]string{"**"}, p.segments...)
	}
	return p, nil
}

// matches reports whether the pattern matches the file with these path segments, or a folder that
// contains the file.
func (p *pathPattern) matches(file []string) bool {
	for n := len(file); n > 0; n-- {
		if matchSegments(p.segments, file[:n]) {
			return true
		}
	}
	return false
}

func matchSegments(pattern, file []string) bool {
	// The loop handles one segment of the pattern at a time. reached[i] says whether the segments
	// handled so far match the first i segments of the file.
	reached := make([]bool, len(file)+1)
	reached[0] = true
	for k, s := range pattern {
		next := make([]bool, len(file)+1)
		for i := range reached {
			switch {
			// A ** at the end of a pattern matches at least one segment: src/** does not match src.
			case s == "**" && k == len(pattern)-1:
				next[i] = i > 0 && (reached[i-1] || next[i-1])
			case s == "**":
				next[i] = reached[i] || i > 0 && next[i-1]
			case i > 0 && reached[i-1]:
				ok, _ := path.Match(s, file[i-1]) // cannot fail: the pattern was checked when it was parsed
				next[i] = ok
			}
		}
		reached = next
	}
	return reached[len(file)]
}

// matchesBelow reports whether the pattern can match a file in the folder with these path segments.
func (p *pathPattern) matchesBelow(folder []string) bool {
	if p.matches(folder) {
		return true
	}
	// The folder matches the first segments of the pattern, and a file can match the others.
	for n := range p.segments {
		if matchSegments(p.segments[:n], folder) {
			return true
		}
	}
	return false
}

// protected returns the names of folders with settings or hooks that change what programs do later.
// An allow rule for Edit, or for another tool that changes files, allows changes in such a folder
// only if its pattern contains the folder's name.
func protected() []string { return []string{".git", ".claude", ".codex"} }

// names reports whether one of the pattern's segments is equal to the parameter segment, ignoring
// upper and lower case.
func (p *pathPattern) names(segment string) bool {
	return slices.ContainsFunc(p.segments, func(s string) bool { return strings.EqualFold(s, segment) })
}
