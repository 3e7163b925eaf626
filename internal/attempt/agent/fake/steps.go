package fake

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// step is one kind of action that a prompt can contain. For example, the line "fake: work 1s"
// contains the action work.
type step struct {
	name, args, doc string
	do              func(a *actor, args string) error
}

// steps returns all kinds of steps, in the order of the help text.
func steps() []step {
	return []step{
		{"say", "TEXT", "says it; the last of them is the result; \\n begins a new line", (*actor).say},
		{"work", "DURATION [TEXT | TEXT]", "takes its time, with signs of progress; says the texts meanwhile", (*actor).work},
		{"tool", "COMMAND", "runs a shell command", (*actor).tool},
		{"write", "FILE TEXT", "writes a file; \\n begins a new line", (*actor).writeFile},
		{"usage", "INPUT OUTPUT [USD [CACHED]]", "what it says it has used", (*actor).use},
		{"spend", "INPUT OUTPUT [USD [CACHED]]", "the same, and reports it at once; ends if that is more than it may spend", (*actor).spend},
		{"ask", "QUESTION | OPTION | OPTION", "asks a person and says the answer", (*actor).ask},
		{"permission", "TOOL COMMAND", "asks to be allowed a tool", (*actor).permission},
		{"fail", "[TEXT]", "ends with an error", (*actor).fail},
		{"exit", "CODE", "exits without a last word", (*actor).exit},
		{"hang", "", "does nothing any more", func(a *actor, _ string) error { a.hang(); return nil }},
		{"result-then-hang", "", "says its last word and does not exit", func(a *actor, _ string) error { a.hangs = true; return errFinished }},
		{"loop", "", "retries without end and gets nowhere", (*actor).loop},
		{"compact", "", "makes its conversation shorter", func(a *actor, _ string) error { a.protocol.compact(); return nil }},
		{"torn", "", "prints half a line of what would be a success", func(a *actor, _ string) error { a.protocol.halfDone(); return nil }},
		{"limit", "SECONDS|TIME", "ends with a rate limit that is over after so long, or at a time such as 2026-11-20T03:00:00Z", (*actor).limit},
		{"overflow", "", "ends with too long a conversation", func(*actor, string) error { return failing(fault{long: true}) }},
		{"api-error", "STATUS", "ends with an HTTP error of the model's servers", (*actor).apiError},
		{"ignore-term", "", "ignores SIGINT, SIGTERM and SIGHUP from here on", func(a *actor, _ string) error { a.ignoreSignals(); return nil }},
		{"success-on-term", "", "from here on, SIGINT and SIGTERM make it say success and exit 0", func(a *actor, _ string) error { a.finishOnSignal(); return nil }},
		{"orphan", "DURATION", "leaves a process behind, in a session of its own", (*actor).orphan},
		{"forks", "N DURATION", "starts so many processes", (*actor).forks},
		{"flood", "BYTES", "prints that much, in lines", (*actor).flood},
		{"line", "BYTES", "prints one line of that length", (*actor).longLine},
		{"binary", "", "prints every byte, broken UTF-8 and escape sequences", func(a *actor, _ string) error { a.write(binary()); return nil }},
		{"on-attempt", "N ACTION", "does the action in attempt N only", func(a *actor, args string) error { return a.attempts(args, true) }},
		{"unless-attempt", "N ACTION", "does the action in all attempts but N", func(a *actor, args string) error { return a.attempts(args, false) }},
		{"file-once", "FILE ACTION", "does the action if there is no such file, and makes it", (*actor).once},
	}
}

// Help returns the help text of the fake agent.
func Help() string {
	var b strings.Builder
	b.WriteString(`An agent without a model, for trying things out. Its prompt is free text, and each
line of it that begins with "fake:" is a step:

`)
	for _, s := range steps() {
		fmt.Fprintf(&b, "  fake: %-34s %s\n", strings.TrimSpace(s.name+" "+s.args), s.doc)
	}
	b.WriteString(`
It then says that it is done, and exits. BYTES may be 50MB, a DURATION 1m30s.
Which attempt it is says GAFFER_ATTEMPT_NUMBER.

  --protocol claude|codex|plain    how it speaks; plain without it
  --prompt-file FILE               where the prompt is; otherwise on stdin, or the
                                   arguments of plain
  --scripts FILE                   does what FILE has for GAFFER_TASK instead: below a
                                   line "== TASK", which may be a pattern
`)
	return b.String()
}

func (a *actor) say(text string) error {
	text = strings.ReplaceAll(text, `\n`, "\n")
	a.result = text
	a.protocol.say(text)
	return nil
}

func (a *actor) work(args string) error {
	word, texts, _ := strings.Cut(args, " ")
	d, err := parseDuration(word)
	if err != nil {
		return err
	}
	if texts != "" {
		all := strings.Split(texts, "|")
		for _, text := range all {
			if a.isStopped() {
				break
			}
			a.protocol.say(strings.TrimSpace(text))
			a.sleep(d / time.Duration(len(all)))
		}
		return nil
	}
	const beat = 500 * time.Millisecond
	done := a.protocol.tool("Bash", object{"command": "work " + args})
	for spent := time.Duration(0); spent < d && !a.isStopped(); spent += beat {
		a.sleep(min(beat, d-spent))
		a.protocol.say(fmt.Sprintf("%s of %s", min(spent+beat, d), d))
	}
	done("worked\n", 0)
	return nil
}

func (a *actor) tool(command string) error {
	done := a.protocol.tool("Bash", object{"command": command})
	output, code := a.shell(command)
	done(output, code)
	return nil
}

func (a *actor) writeFile(args string) error {
	file, text, err := splitWord(args)
	if err != nil {
		return err
	}
	text = strings.ReplaceAll(text, `\n`, "\n") + "\n"
	done := a.protocol.tool("Write", object{"file_path": file, "content": text})
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		return err
	}
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		return err
	}
	done("wrote "+file+"\n", 0)
	return nil
}

func (a *actor) use(args string) error {
	var u usage
	if n, err := fmt.Sscan(args, &u.input, &u.output, &u.usd, &u.cached); n < 2 {
		return fmt.Errorf("found %q, want two numbers of tokens, maybe a cost, and maybe the cached tokens: %w", args, err)
	}
	a.usage = u
	return nil
}

func (a *actor) spend(args string) error {
	if err := a.use(args); err != nil {
		return err
	}
	if !a.protocol.spend(a.usage) {
		return failing(fault{budget: true})
	}
	return nil
}

func (a *actor) ask(args string) error {
	var options []string
	for i, o := range strings.Split(args, "|") {
		if o = strings.TrimSpace(o); i > 0 && o != "" {
			options = append(options, o)
		}
	}
	question, _, _ := strings.Cut(args, "|")
	question = strings.TrimSpace(question)
	answer, ok := a.protocol.ask(question, options)
	if !ok {
		return a.say("Nobody answered: " + question)
	}
	return a.say(fmt.Sprintf("The answer to %q is %q.", question, answer))
}

func (a *actor) permission(args string) error {
	tool, input, err := splitWord(args)
	if err != nil {
		return err
	}
	if a.protocol.permission(tool, input) {
		return a.say("I was allowed to use " + tool + ".")
	}
	return a.say("I was not allowed to use " + tool + ".")
}

func failing(f fault) error { return scriptEnd{fault: &f} }

func (a *actor) fail(text string) error {
	if text == "" {
		text = "The fake agent was told to fail."
	}
	return failing(fault{text: text})
}

func (a *actor) exit(args string) error {
	code, err := strconv.Atoi(args)
	if err != nil || code < 0 || code > 255 {
		return fmt.Errorf("found %q, want an exit code", args)
	}
	return scriptEnd{code: code}
}

func (a *actor) loop(string) error {
	for n := 1; !a.isStopped(); n++ {
		a.protocol.retry(n)
		a.sleep(100 * time.Millisecond)
	}
	return nil
}

func (a *actor) limit(args string) error {
	if reset, err := time.Parse(time.RFC3339, args); err == nil {
		return failing(fault{text: "usage limit reached", status: 429, reset: reset})
	}
	d, err := parseDuration(args)
	if err != nil {
		return err
	}
	// Round up to whole seconds: the protocols report reset times in seconds.
	reset := time.Now().Add(d + time.Second - time.Nanosecond).Truncate(time.Second)
	return failing(fault{text: "usage limit reached", status: 429, reset: reset})
}

func (a *actor) apiError(args string) error {
	status, err := strconv.Atoi(args)
	if err != nil || status < 400 || status > 599 {
		return fmt.Errorf("found %q, want an HTTP status such as 529", args)
	}
	return failing(fault{status: status})
}

func (a *actor) attempts(args string, on bool) error {
	word, line, err := splitWord(args)
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(word)
	if err != nil {
		return fmt.Errorf("found %q, want the number of an attempt", word)
	}
	if (a.attempt == n) != on {
		return nil
	}
	return a.do(line)
}

func (a *actor) once(args string) error {
	file, line, err := splitWord(args)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	if errors.Is(err, os.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return a.do(line)
}

func (a *actor) flood(args string) error {
	n, err := parseSize(args)
	if err != nil {
		return err
	}
	line := strings.Repeat("flood ", 166) + "\n"
	block := []byte(strings.Repeat(line, 64))
	for ; n > 0 && !a.isStopped(); n -= len(block) {
		a.write(block[:min(n, len(block))])
	}
	a.line("")
	return nil
}

func (a *actor) longLine(args string) error {
	n, err := parseSize(args)
	if err != nil {
		return err
	}
	block := []byte(strings.Repeat("long ", 13000))
	for ; n > 0 && !a.isStopped(); n -= len(block) {
		a.write(block[:min(n, len(block))])
	}
	a.line("")
	return nil
}

// binary returns bytes that programs do not expect in text, such as control characters.
func binary() []byte {
	var b []byte
	for c := range 256 {
		b = append(b, byte(c))
	}
	return append(b, "\xff\xfe\xc3( \x1b[31mred\x1b[0m \x1b]0;title\x07\n"...)
}
