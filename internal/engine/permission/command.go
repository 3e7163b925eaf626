package permission

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// commandPattern is the pattern of a rule for Bash. It is the exact text of a command, or the first
// words of commands: "go test:*" and "go test *" match go test with any arguments.
type commandPattern struct {
	text string // the exact command; empty if prefix is set
	// words are the words of text if text is a simple command. If prefix is set, they are the first
	// words that a command must have.
	words []string
	// prefix is set if more words may follow. lastIsPrefix is set too if the last element of words
	// may be only the beginning of a word, as in the pattern "npm run test*".
	prefix, lastIsPrefix bool
}

func parseCommandPattern(text string) (*commandPattern, error) {
	p := &commandPattern{text: text}
	rest, colon := strings.CutSuffix(text, ":*")
	if !colon {
		rest, p.prefix = strings.CutSuffix(text, " *")
	}
	if !colon && !p.prefix {
		rest, p.lastIsPrefix = strings.CutSuffix(text, "*")
	}
	p.prefix = colon || p.prefix || p.lastIsPrefix
	words, plain := simpleWords(rest)
	if !p.prefix {
		if strings.Contains(text, "*") && plain != nil {
			return nil, errors.New("gaffer supports * only at the end of a command")
		}
		if plain == nil {
			p.words = words
		}
		return p, nil
	}
	if plain != nil {
		return nil, fmt.Errorf("the words before * must be those of one command: %w", plain)
	}
	p.text, p.words = "", words
	return p, nil
}

// simpleWords returns the words of the simple command in text. Variables that the command sets come
// first, as NAME=value. It returns an error if text is not one simple command, or if the shell
// would change one of its words.
func simpleWords(text string) ([]string, error) {
	c := readCommand(text)
	switch {
	case c.failed:
		return nil, errors.New("this is not a command that gaffer can read")
	case len(c.parts) != 1 || c.parts[0].tool != bashTool || c.parts[0].opaque:
		return nil, errors.New("a pattern names one simple command, without redirections")
	}
	var words []string
	for _, w := range c.parts[0].words {
		if !w.literal {
			return nil, errors.New("a word contains *, $ or another character that the shell replaces")
		}
		words = append(words, w.text)
	}
	return words, nil
}

// word is a word of a command. If literal is false, the shell computes the word's value, for
// example from a variable.
type word struct {
	text    string
	literal bool
}

// answer says whether a rule matches a tool call, or a part of the call. The answer is maybe if
// this depends on something that only the shell knows, such as the value of a variable.
type answer int

const (
	no answer = iota
	maybe
	yes
)

// matches says whether the pattern matches the command with these words. The command must begin
// with the pattern's words. If the pattern is exact, the command must have no further words. The
// result is maybe if it depends on a word that the shell computes.
func (p *commandPattern) matches(words []word) answer {
	if len(p.words) == 0 || len(words) < len(p.words) || !p.prefix && len(words) > len(p.words) {
		// The command has too few or too many words for the pattern. But a word that the shell
		// computes, for example from a variable, may become several words or none when the command
		// runs. Then the command may match the pattern after all, so the result is at most maybe.
		if slices.ContainsFunc(words, func(w word) bool { return !w.literal }) && len(p.words) > 0 {
			return min(maybe, p.begins(words))
		}
		return no
	}
	return p.begins(words)
}

func (p *commandPattern) begins(words []word) answer {
	for i, want := range p.words {
		if i >= len(words) {
			return maybe
		}
		w := words[i]
		switch {
		case !w.literal:
			return maybe
		case w.text == want, p.lastIsPrefix && i == len(p.words)-1 && strings.HasPrefix(w.text, want):
		default:
			return no
		}
	}
	return yes
}

// part is a part of a tool call that the rules must allow: a simple shell command, a file that is
// read or written, or the whole call of another tool.
type part struct {
	tool   string // the tool that is called, such as Bash; Edit or Read if the part is the file of a shell redirection
	words  []word // for Bash
	path   string // for Edit and Read; relative to the work folder or absolute; empty if unknown
	opaque bool   // no rule with a pattern can allow the part
	// hidden is set if the part is inside an argument of another part. In sh -c 'rm x', for
	// example, rm x is a hidden part. Allow rules are not compared with hidden parts: a rule that
	// allows the whole sh command is enough, and a rule that allows only rm x does not help. Deny
	// and ask rules are compared with hidden parts too.
	hidden bool
}

// command is a parsed shell command.
type command struct {
	parts  []part
	failed bool // the text cannot be parsed; parts is incomplete
	// moves is set if the command may change its work folder, as cd does, so that relative paths
	// cannot be resolved.
	moves bool
}

// maxCommand is the maximum length of a command that is parsed, in bytes.
const maxCommand = 64 << 10

// maxBrackets is how many opening brackets a command may have. Parsing deeply nested commands takes
// long.
const maxBrackets = 1000

// maxNesting is how many shells may be nested in a command. For example, sh -c 'sh -c ls' has two
// nested shells.
const maxNesting = 5

// readCommand parses a shell command and returns its parts. If the command may change its work
// folder, readCommand removes relative paths of files from the parts, because the folder to which
// they are relative is then unknown.
func readCommand(text string) *command {
	r := &commandReader{}
	r.script(text, 0)
	if r.moves {
		r.hidePaths()
	}
	return &r.command
}

// hidePaths removes the relative paths of files from the parts, because the command runs outside of
// the work folder, or may leave that folder. No pattern can then allow these parts.
func (c *command) hidePaths() {
	for i, p := range c.parts {
		if p.tool != bashTool && !path.IsAbs(p.path) {
			c.parts[i].path, c.parts[i].opaque = "", true
		}
	}
}

type commandReader struct {
	command
	nesting int
}

func (r *commandReader) script(text string, nesting int) {
	before := r.nesting
	r.nesting = nesting
	defer func() { r.nesting = before }()
	if len(text) > maxCommand || strings.Count(text, "(")+strings.Count(text, "{") > maxBrackets || !utf8.ValidString(text) || strings.ContainsFunc(text, isControl) || nesting > maxNesting {
		r.unreadable()
		return
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	if err != nil {
		r.unreadable()
		return
	}
	r.statements(file.Stmts)
}

// unreadable records that the current script cannot be parsed. If the script is an argument of a
// command such as sh -c, unreadable adds one hidden part with an unknown word, which any deny or
// ask rule may match. If the script is the whole command, unreadable sets failed.
func (r *commandReader) unreadable() {
	if r.nesting > 0 {
		r.add(part{tool: bashTool, words: []word{{}}})
		return
	}
	r.failed = true
}

func (r *commandReader) add(p part) {
	p.hidden = r.nesting > 0
	r.parts = append(r.parts, p)
}

func (r *commandReader) statements(list []*syntax.Stmt) {
	for _, s := range list {
		r.statement(s)
	}
}

func (r *commandReader) statement(s *syntax.Stmt) {
	for _, redirect := range s.Redirs {
		r.redirect(redirect)
	}
	switch c := s.Cmd.(type) {
	case nil:
	case *syntax.CallExpr:
		r.call(c)
	case *syntax.BinaryCmd:
		r.statement(c.X)
		r.statement(c.Y)
	case *syntax.Subshell:
		r.statements(c.Stmts)
	case *syntax.Block:
		r.statements(c.Stmts)
	case *syntax.IfClause:
		for ; c != nil; c = c.Else {
			r.statements(c.Cond)
			r.statements(c.Then)
		}
	case *syntax.WhileClause:
		r.statements(c.Cond)
		r.statements(c.Do)
	case *syntax.TimeClause:
		if c.Stmt != nil {
			r.statement(c.Stmt)
		}
	default: // some other constructs, such as functions, can change what later commands mean
		r.opaque(c)
	}
}

// opaque adds a part that no rule with a pattern can allow. It also adds the commands inside the
// syntax node n as parts, because a deny rule may match one of them.
func (r *commandReader) opaque(n syntax.Node) {
	r.add(part{tool: bashTool, opaque: true})
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CallExpr:
			r.call(n)
			return false
		case *syntax.Redirect:
			r.redirect(n)
			return false
		case *syntax.ExtGlob:
			r.unreadable() // the text of an extended glob may contain commands, and is not parsed
		}
		return true
	})
}

func (r *commandReader) call(c *syntax.CallExpr) {
	p := part{tool: bashTool}
	for _, a := range c.Assigns {
		if a.Naked || a.Append || a.Index != nil || a.Array != nil || a.Name == nil {
			r.opaque(a)
			p.words = append(p.words, word{})
			continue
		}
		value := word{literal: true}
		if a.Value != nil {
			value = r.word(a.Value)
		}
		p.words = append(p.words, word{a.Name.Value + "=" + value.text, value.literal})
	}
	assigns := len(p.words)
	for _, w := range c.Args {
		p.words = append(p.words, r.word(w))
	}
	r.add(p)
	args := p.words[assigns:]
	if len(args) == 0 {
		return
	}
	moving := []string{"cd", "pushd", "popd", "eval", "source", ".", "command", "builtin"}
	r.moves = r.moves || !args[0].literal || slices.Contains(moving, args[0].text)
	r.hidden(args)
}

// word returns the value of a word. It also adds the commands in the word, such as $(date), as
// parts.
func (r *commandReader) word(w *syntax.Word) word {
	value := word{literal: true}
	if lit, ok := w.Parts[0].(*syntax.Lit); ok && len(w.Parts) == 1 && lit.Value == "[" {
		return word{"[", true}
	}
	for i, p := range w.Parts {
		text, literal := r.wordPart(p, i == 0)
		value.text += text
		value.literal = value.literal && literal
	}
	return value
}

func (r *commandReader) wordPart(p syntax.WordPart, first bool) (string, bool) {
	switch p := p.(type) {
	case *syntax.Lit:
		return unescape(p.Value, first)
	case *syntax.SglQuoted:
		return p.Value, !p.Dollar
	case *syntax.DblQuoted:
		text, literal := "", !p.Dollar
		for _, inner := range p.Parts {
			if lit, ok := inner.(*syntax.Lit); ok {
				text += unescapeQuoted(lit.Value)
				continue
			}
			_, _ = r.wordPart(inner, false)
			literal = false
		}
		return text, literal
	case *syntax.CmdSubst:
		if p.TempFile || p.ReplyVar {
			r.opaque(p)
			return "", false
		}
		r.statements(p.Stmts)
		return "", false
	case *syntax.ProcSubst:
		r.statements(p.Stmts)
		return "", false
	case *syntax.ParamExp:
		if isPlainParameter(p) {
			return "", false
		}
	}
	r.opaque(p)
	return "", false
}

// isPlainParameter reports whether the expansion is only $NAME or ${NAME}. Other forms can contain
// commands, or execute commands in the value of a variable.
func isPlainParameter(p *syntax.ParamExp) bool {
	return p.Param != nil && p.Flags == nil && !p.Excl && !p.Length && !p.Width && !p.IsSet && p.NestedParam == nil && p.Index == nil &&
		len(p.Modifiers) == 0 && p.Slice == nil && p.Repl == nil && p.Names == 0 && p.Exp == nil
}

// unescape returns the value of unquoted text. The second result is whether the text is literal,
// which means that the shell replaces no part of it. first says that the text is the beginning of a
// word.
func unescape(text string, first bool) (string, bool) {
	var b strings.Builder
	literal := !first || !strings.HasPrefix(text, "~")
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && i+1 < len(text):
			if i++; text[i] != '\n' {
				b.WriteByte(text[i])
			}
		case strings.IndexByte("*?[]{}", c) >= 0:
			literal = false
			b.WriteByte(c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), literal
}

func unescapeQuoted(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+1 < len(text) && strings.IndexByte("$`\"\\\n", text[i+1]) >= 0 {
			if i++; text[i] == '\n' {
				continue
			}
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

// redirect adds the file that a redirection reads or writes.
func (r *commandReader) redirect(rd *syntax.Redirect) {
	if rd.N != nil && strings.Trim(rd.N.Value, "0123456789") != "" { // {NAME}>FILE sets the variable NAME
		r.add(part{tool: bashTool, opaque: true})
	}
	var target word
	if rd.Word != nil {
		target = r.word(rd.Word)
	}
	switch rd.Op {
	case syntax.Hdoc, syntax.DashHdoc:
		if rd.Hdoc != nil {
			for _, p := range rd.Hdoc.Parts {
				if _, ok := p.(*syntax.Lit); !ok {
					_, _ = r.wordPart(p, false)
				}
			}
		}
		return
	case syntax.WordHdoc:
		return
	case syntax.DplIn, syntax.DplOut:
		if target.literal && strings.Trim(target.text, "0123456789-") == "" {
			return // the redirection only copies a file descriptor, as in 2>&1
		}
	}
	if target.literal && slices.Contains([]string{"/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr"}, target.text) {
		return
	}
	p := part{tool: editTool, path: target.text, opaque: !target.literal || target.text == ""}
	if rd.Op == syntax.RdrIn {
		p.tool = readTool
	}
	if p.opaque {
		p.path = ""
	}
	r.add(p)
}

// hidden adds the commands that a command such as eval or sh -c runs. Only deny and ask rules are
// compared with them. Allow rules are compared with the eval or sh -c command itself, which is a
// part too.
func (r *commandReader) hidden(args []word) {
	var script []word
	switch name := path.Base(args[0].text); {
	case !args[0].literal:
		return
	case name == "eval":
		script = args[1:]
	case slices.Contains([]string{"sh", "bash", "dash", "zsh", "ksh"}, name):
		for i, a := range args[1:] {
			if a.literal && strings.HasPrefix(a.text, "-") && strings.HasSuffix(a.text, "c") && i+2 < len(args) {
				script = args[i+2 : i+3]
			}
		}
	}
	if len(script) == 0 {
		return
	}
	var texts []string
	for _, w := range script {
		if !w.literal {
			r.nesting++
			r.unreadable()
			r.nesting--
			return
		}
		texts = append(texts, w.text)
	}
	r.script(strings.Join(texts, " "), r.nesting+1)
}

// runners returns the names of programs that run the command in their arguments.
func runners() []string {
	return []string{
		"sudo", "doas", "env", "command", "builtin", "exec", "nohup", "nice", "ionice", "time", "timeout", "stdbuf", "setsid", "xargs", "busybox",
		"find", "watch", "strace", "chroot", "unshare", "parallel",
	}
}

// views returns the variants of a simple command with which a deny or ask rule is compared. The
// first is the unchanged command. The others are: the command without the variables that it sets;
// the command with the name of the program instead of its path; and, if the program runs another
// command, as sudo does, the words that may be that other command.
func views(words []word) (list [][]word) {
	list = append(list, words)
	for len(words) > 0 && isAssignment(words[0]) {
		words = words[1:]
		list = append(list, words)
	}
	if len(words) == 0 || !words[0].literal {
		return list
	}
	name := path.Base(words[0].text)
	if name != words[0].text {
		list = append(list, append([]word{{name, true}}, words[1:]...))
	}
	if slices.Contains(runners(), name) {
		for i := 1; i < len(words); i++ {
			if i > maxViews {
				return append(list, []word{{}})
			}
			list = append(list, words[i:])
			if words[i].literal && strings.Contains(words[i].text, "/") {
				list = append(list, append([]word{{path.Base(words[i].text), true}}, words[i+1:]...))
			}
		}
	}
	return list
}

// maxViews is how many words after a program such as sudo are examined as the beginning of another
// command. If there are more, it is unknown what the program runs, so any deny or ask rule may
// match it.
const maxViews = 50

func isAssignment(w word) bool {
	name, _, ok := strings.Cut(w.text, "=")
	return ok && name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == ""
}
