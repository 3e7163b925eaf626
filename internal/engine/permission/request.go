package permission

import (
	"encoding/json"
	"net/url"
	"path"
	"slices"
	"strings"
)

// request is a parsed tool call.
type request struct {
	call   Call
	text   string // the command, if the tool is Bash
	host   string // host of the URL, if the tool is WebFetch; may be empty
	parts  []part
	failed bool // the command cannot be parsed; parts is incomplete
	// escapes is set if the call turns off the sandbox in which the agent's program runs commands.
	// No rule can allow such a call; only the user or the policy can.
	escapes bool
}

// analyse parses a call and splits it into parts. A shell command has one part for each simple
// command, and one for each file that a redirection reads or writes. A call of a tool for files has
// one part for each file. Any other call has one part.
func analyse(call Call) *request {
	req := &request{call: call}
	if call.Tool == "" {
		req.call.Tool = UserQuestion
	}
	// Use a map, because the names of members must match exactly. If the input were decoded into a
	// struct, names in the wrong case would match too.
	input := map[string]json.RawMessage{}
	_ = json.Unmarshal(call.Input, &input) // an input that is not an object has no members
	member := func(name string) (text string) {
		if json.Unmarshal(input[name], &text) != nil {
			return ""
		}
		return text
	}
	switch {
	case call.Tool == bashTool:
		req.text = member("command")
		c := readCommand(req.text)
		if cwd := member("cwd"); cwd != "" && path.Clean(cwd) != path.Clean(call.Dir) {
			c.hidePaths()
		}
		req.parts, req.failed = c.parts, c.failed || len(c.parts) == 0
		req.escapes = string(input["dangerouslyDisableSandbox"]) == "true"
	case isEdit(call.Tool), isRead(call.Tool):
		var paths []string
		_ = json.Unmarshal(input["paths"], &paths)
		for _, name := range []string{"file_path", "notebook_path", "path"} {
			if p := member(name); p != "" {
				paths = append(paths, p)
			}
		}
		for _, p := range paths {
			req.parts = append(req.parts, part{tool: call.Tool, path: p, opaque: p == ""})
		}
		switch {
		case len(paths) > 0:
		case call.Tool == searchTool: // it searches the work folder
			req.parts = []part{{tool: call.Tool, path: "."}}
		default:
			req.parts = []part{{tool: call.Tool}}
		}
	case call.Tool == fetchTool:
		if u, err := url.Parse(member("url")); err == nil && (u.Scheme == "https" || u.Scheme == "http") {
			req.host = strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
		}
		req.parts = []part{{tool: call.Tool}}
	default:
		req.parts = []part{{tool: req.call.Tool}}
	}
	return req
}

// named says whether the rule matches the call or one of its parts: yes, no, or maybe if this
// depends on something that only the shell knows. It is used for deny and ask rules. For allow
// rules, see the method covered.
func (req *request) named(r Rule) answer {
	if r.covers(req.call.Tool) && r.pattern == nil {
		return yes
	}
	if req.hasText(r) {
		return yes
	}
	found := no
	if _, ok := r.pattern.(*commandPattern); ok && req.failed {
		found = maybe
	}
	for _, p := range req.parts {
		found = max(found, req.partNamed(r, p))
	}
	return found
}

func (req *request) partNamed(r Rule, p part) answer {
	if !r.covers(p.tool) {
		return no
	}
	found := no
	switch pattern := r.pattern.(type) {
	case nil:
		return yes
	case *commandPattern:
		for _, v := range views(p.words) {
			found = max(found, pattern.matches(v))
		}
	case *pathPattern:
		if p.path == "" {
			if p.opaque {
				return maybe
			}
			return no
		}
		inside, rooted := req.locate(p.path)
		switch {
		case pattern.absolute && pattern.matches(rooted), !pattern.absolute && pattern.matches(inside):
			return yes
		case !pattern.absolute && inside == nil && req.call.Dir == "":
			return maybe
		case p.tool == searchTool && req.mayContain(p.path, pattern):
			return maybe
		}
	case domainPattern:
		if pattern.matches(req.host) {
			return yes
		}
	}
	return found
}

// covered returns the rules that together allow all parts of the call, except for scripts inside
// arguments, which need no rule. It returns no rules if any other part is not allowed. exact is set
// if one rule has the exact text of the command.
func (req *request) covered(rules []Rule) (used []Rule, exact bool) {
	if req.escapes {
		return nil, false
	}
	for _, r := range rules {
		if req.hasText(r) {
			return []Rule{r}, true
		}
	}
	for _, r := range rules {
		if r.pattern == nil && r.covers(req.call.Tool) && !isEdit(req.call.Tool) {
			return []Rule{r}, false
		}
	}
	if req.failed {
		return nil, false
	}
	seen := map[string]bool{}
	for _, p := range req.parts {
		if p.hidden {
			continue
		}
		r, ok := req.allows(rules, p)
		if !ok {
			return nil, false
		}
		if !seen[r.Text] {
			seen[r.Text] = true
			used = append(used, r)
		}
	}
	return used, false
}

// allows returns the first of the rules that allows the part p. The bool is false if none does.
func (req *request) allows(rules []Rule, p part) (Rule, bool) {
	for _, r := range rules {
		if req.ruleAllows(r, p) {
			return r, true
		}
	}
	return Rule{}, false
}

func (req *request) ruleAllows(r Rule, p part) bool {
	if p.opaque || !r.covers(p.tool) {
		return false
	}
	switch pattern := r.pattern.(type) {
	case nil:
		return !isEdit(p.tool) || !req.isProtected(p.path, nil)
	case *commandPattern:
		return pattern.matches(p.words) == yes
	case *pathPattern:
		if p.path == "" || req.isProtected(p.path, pattern) {
			return false
		}
		inside, rooted := req.locate(p.path)
		return pattern.absolute && pattern.matches(rooted) || !pattern.absolute && pattern.matches(inside)
	case domainPattern:
		return pattern.matches(req.host)
	}
	return false
}

// answeredByGrant reports whether grants already allow a call that the ask rule matches, so that
// the user need not be asked again. A grant is a rule that the user has made by answering an
// earlier question. The result is true if a grant has the exact text of the command. It is also
// true if each part of the call that the ask rule may match is allowed by a grant that is at least
// as narrow as the ask rule. It is always false if the call turns off the sandbox.
func (req *request) answeredByGrant(allow []Rule, ask Rule) bool {
	if req.escapes {
		return false
	}
	grants := slices.DeleteFunc(slices.Clone(allow), func(r Rule) bool { return !r.Grant })
	for _, r := range grants {
		if req.hasText(r) || r.pattern == nil && r.covers(req.call.Tool) && !isEdit(req.call.Tool) && r.within(ask) {
			return true
		}
	}
	answered := false
	for _, p := range req.parts {
		if req.partNamed(ask, p) == no {
			continue
		}
		answered = slices.ContainsFunc(grants, func(r Rule) bool { return req.ruleAllows(r, p) && r.within(ask) })
		if !answered {
			return false
		}
	}
	return answered
}

// hasText reports whether the rule's pattern is the exact text of the call's command.
func (req *request) hasText(r Rule) bool {
	c, ok := r.pattern.(*commandPattern)
	return ok && req.call.Tool == bashTool && c.text != "" && c.text == strings.TrimSpace(req.text)
}

// within reports whether the rule outer matches every call that the rule r matches. If this is
// unknown, it returns false.
func (r Rule) within(outer Rule) bool {
	if !outer.covers(r.tool) {
		return false
	}
	if outer.pattern == nil || r.Text == outer.Text {
		return true
	}
	inner, ok := r.pattern.(*commandPattern)
	around, both := outer.pattern.(*commandPattern)
	if !ok || !both || len(inner.words) == 0 || inner.lastIsPrefix {
		return false
	}
	words := make([]word, len(inner.words))
	for i, w := range inner.words {
		words[i] = word{w, true}
	}
	return (around.prefix || !inner.prefix) && around.matches(words) == yes
}

// mayContain reports whether the pattern can match a file in a folder.
func (req *request) mayContain(folder string, pattern *pathPattern) bool {
	inside, rooted := req.locate(folder)
	switch {
	case pattern.absolute:
		return pattern.matchesBelow(rooted)
	case inside != nil:
		return pattern.matchesBelow(inside)
	}
	// A folder that contains the work folder also contains what the pattern matches there.
	dir := segments(path.Clean(req.call.Dir))
	return rooted != nil && len(rooted) <= len(dir) && slices.Equal(rooted, dir[:len(rooted)])
}

// locate returns the segments of a path in two forms: inside is relative to the work folder, and
// rooted is relative to the root of the file system. inside is nil if the path is not known to be
// in the work folder, and empty if it is the work folder. rooted is nil if the path is relative and
// the work folder is unknown.
func (req *request) locate(name string) (inside, rooted []string) {
	dir := path.Clean(req.call.Dir)
	known := path.IsAbs(req.call.Dir)
	full := path.Clean(name)
	if !path.IsAbs(name) {
		if full == ".." || strings.HasPrefix(full, "../") {
			if !known {
				return nil, nil
			}
		} else if !known {
			return segments(full), nil
		}
		full = path.Join(dir, name)
	}
	rooted = segments(full)
	if rest, ok := strings.CutPrefix(full+"/", strings.TrimSuffix(dir, "/")+"/"); known && ok {
		inside = segments(rest)
	}
	return inside, rooted
}

// segments returns the names in a clean path. There are none in "/", "." and "".
func segments(p string) []string {
	p = strings.Trim(p, "/")
	if p == "" || p == "." {
		return []string{}
	}
	return strings.Split(p, "/")
}

// isProtected reports whether a file is in one of the [protected] folders and the pattern of the
// allow rule does not contain the name of this folder. In that case, the rule cannot allow a change
// of the file. A nil pattern contains no name.
func (req *request) isProtected(name string, pattern *pathPattern) bool {
	file := segments(path.Clean(name))
	if inside, _ := req.locate(name); inside != nil {
		file = inside
	}
	for _, s := range file {
		for _, folder := range protected() {
			if strings.EqualFold(s, folder) && (pattern == nil || !pattern.names(folder)) {
				return true
			}
		}
	}
	return false
}
