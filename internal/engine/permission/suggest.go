package permission

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Suggest returns rules that would allow the call, the narrowest first. It returns none for a
// question that is not about a tool.
func Suggest(call Call) []string {
	if call.Tool == "" {
		return nil
	}
	req := analyse(call)
	var texts []string
	switch {
	case call.Tool == bashTool:
		// Suggest a rule with the exact command. But suggest no such rule if the command ends with
		// *: in a rule, this * is a wildcard, so the rule would match other commands too.
		if exact, err := Parse(bashTool + "(" + strings.TrimSpace(req.text) + ")"); err == nil && req.hasText(exact) {
			texts = append(texts, exact.Text)
		}
		if len(req.parts) == 1 && !req.failed && !req.parts[0].opaque {
			if prefix := usualPrefix(req.parts[0].words); prefix != "" {
				texts = append(texts, bashTool+"("+prefix+":*)")
			}
		}
	case isEdit(call.Tool) || isRead(call.Tool):
		tool := editTool
		if isRead(call.Tool) {
			tool = readTool
		}
		texts = req.suggestPaths(tool)
	case call.Tool == fetchTool && req.host != "":
		texts = append(texts, fetchTool+"(domain:"+req.host+")")
	default:
		texts = append(texts, call.Tool)
	}
	return slices.DeleteFunc(texts, func(text string) bool {
		r, err := Parse(text)
		return err != nil || !r.Names(call)
	})
}

// subcommands returns the names of programs whose first argument is a subcommand, such as go and
// git.
func subcommands() []string {
	return []string{"go", "git", "npm", "pnpm", "yarn", "cargo", "make", "docker", "podman", "kubectl", "gh", "bun", "deno", "uv", "pip", "poetry", "dotnet", "mvn", "gradle"}
}

var plainWord = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z][a-z0-9-]*$`) })

// usualPrefix returns the program and its subcommand, such as "go test". If the subcommand is
// "run", it adds the next word, as in "npm run test". For programs without subcommands, it returns
// "": a rule for all calls of rm, for example, would be too wide to suggest.
func usualPrefix(words []word) string {
	if len(words) < 2 || !words[0].literal || !words[1].literal || !slices.Contains(subcommands(), words[0].text) || !plainWord().MatchString(words[1].text) {
		return ""
	}
	prefix := words[0].text + " " + words[1].text
	if words[1].text == "run" && len(words) > 2 && words[2].literal && plainWord().MatchString(words[2].text) {
		prefix += " " + words[2].text
	}
	return prefix
}

func (req *request) suggestPaths(tool string) (texts []string) {
	if len(req.parts) != 1 || req.parts[0].path == "" {
		return []string{tool}
	}
	inside, rooted := req.locate(req.parts[0].path)
	file, prefix := inside, ""
	if file == nil {
		file, prefix = rooted, "//"
	}
	for i, s := range file {
		file[i] = escapeGlob(s)
	}
	if len(file) == 0 {
		return []string{tool}
	}
	whole := prefix + strings.Join(file, "/")
	if prefix == "" && len(file) == 1 {
		// With a slash, the pattern matches only this file. Without a slash, it would match files
		// with the same name in all folders.
		whole = "/" + whole
	}
	texts = append(texts, tool+"("+whole+")")
	if len(file) > 1 {
		texts = append(texts, tool+"("+prefix+path.Join(file[:len(file)-1]...)+"/**)")
	}
	return texts
}

func escapeGlob(s string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(s)
}

// Script returns the script in a command of the form bash -lc 'go test ./...', which only runs a
// script in a system shell. Some agent programs send all their commands in this form. For any other
// command, ok is false.
func Script(text string) (script string, ok bool) {
	c := readCommand(text)
	if len(c.parts) == 0 || c.failed || c.parts[0].opaque || c.parts[0].tool != bashTool {
		return "", false
	}
	for _, p := range c.parts[1:] {
		if !p.hidden {
			return "", false
		}
	}
	words := c.parts[0].words
	if len(words) != 3 || !words[0].literal || !words[1].literal || !words[2].literal {
		return "", false
	}
	shell := words[0].text
	for _, folder := range []string{"/bin/", "/usr/bin/", "/usr/local/bin/"} {
		shell = strings.TrimPrefix(shell, folder)
	}
	isShell := slices.Contains([]string{"sh", "bash", "dash", "zsh", "ksh"}, shell)
	if !isShell || words[1].text != "-c" && words[1].text != "-lc" {
		return "", false
	}
	return words[2].text, true
}
