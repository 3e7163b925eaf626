package fake

import (
	"fmt"
	"strings"
	"time"
)

// plain imitates a program without a protocol.
type plain struct {
	*stdio
	options
	oneTurn
}

func (p *plain) begin() (string, error) {
	if p.given {
		return p.prompt, nil
	}
	return p.readAll()
}

func (p *plain) say(text string) { p.line(text) }

func (p *plain) tool(_ string, input object) func(string, int) {
	p.line("$ " + commandOf(input))
	return func(output string, code int) {
		p.write([]byte(output))
		if code != 0 {
			p.line(fmt.Sprintf("exit code %d", code))
		}
	}
}

func (p *plain) ask(question string, options []string) (string, bool) {
	if len(options) > 0 {
		question += " [" + strings.Join(options, "/") + "]"
	}
	p.line("question: " + question)
	answer, err := p.in.ReadString('\n')
	answer = strings.TrimSpace(answer)
	return answer, err == nil && answer != ""
}

func (p *plain) permission(tool, input string) bool {
	answer, ok := p.ask(fmt.Sprintf("may I use %s: %s?", tool, input), []string{"yes", "no"})
	return ok && strings.HasPrefix(strings.ToLower(answer), "y")
}

func (p *plain) retry(n int) { p.line(fmt.Sprintf("retry %d: no connection", n)) }

func (p *plain) compact() {}

func (p *plain) halfDone() { p.write([]byte("Don")) }

func (p *plain) done(text string, _ usage) { p.line(text) }

func (p *plain) failed(f fault, _ usage) int {
	text := f.message()
	if !f.reset.IsZero() {
		text = "rate limit reached, resets at " + f.reset.UTC().Format(time.RFC3339)
	}
	p.writeStderr("error: " + text)
	return 1
}
