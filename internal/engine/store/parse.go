package store

import (
	"bytes"
	"strconv"
	"time"
	"unicode/utf8"
)

// Tasks, attempts and events are read most often, so they have hand-written parsers. A
// parser reads only the output of AppendJSON: its members, in its order, without
// escapes. For any other text ParseJSON returns false; the row's content is then
// undefined, and the caller must use package json.

// ParseJSON reads the task.
func (t *Task) ParseJSON(text []byte) bool {
	p := parser{rest: text}
	p.skip('{')
	p.text("run", &t.Run)
	p.text("task", &t.Task)
	p.number("seq", &t.Seq)
	p.text("name", &t.Name)
	p.text("status", (*string)(&t.Status))
	p.count("wave", &t.Wave)
	p.texts("needs", &t.Needs)
	p.count("blockers", &t.Blockers)
	p.bool("ready", &t.Ready)
	p.time("not_before", &t.NotBefore)
	p.count("priority", &t.Priority)
	p.text("labels", &t.Labels)
	p.text("lane", &t.Lane)
	p.count("retries", &t.Retries)
	p.count("attempts", &t.Attempts)
	p.count("tries", &t.Tries)
	p.count("lost", &t.Lost)
	p.text("attempt", &t.Attempt)
	p.text("last", &t.Last)
	p.bool("fresh", &t.Fresh)
	p.amount("reserve", &t.Reserve)
	p.number("timeout", (*int64)(&t.Timeout))
	p.text("outcome", &t.Outcome)
	return p.end()
}

// ParseJSON reads the attempt.
func (a *Attempt) ParseJSON(text []byte) bool {
	p := parser{rest: text}
	p.skip('{')
	p.text("id", &a.ID)
	p.text("run", &a.Run)
	p.text("task", &a.Task)
	p.count("number", &a.Number)
	p.number("token", &a.Token)
	p.text("worker", &a.Worker)
	p.text("after", &a.After)
	p.text("status", (*string)(&a.Status))
	p.time("lease", &a.Lease)
	p.time("deadline", &a.Deadline)
	p.time("started", &a.Started)
	p.time("ended", &a.Ended)
	p.text("stop", &a.Stop)
	p.amount("carried", &a.Carried)
	p.text("state", &a.State)
	p.text("doing", &a.Doing)
	p.text("source", &a.Source)
	p.time("said", &a.Said)
	p.text("thread", &a.Thread)
	p.text("log", &a.Log)
	p.number("log_from", &a.LogFrom)
	p.count("pid", &a.PID)
	p.amount("spent", &a.Spent)
	p.text("compacted", &a.Compacted)
	p.count("compactions", &a.Compactions)
	p.text("class", (*string)(&a.Class))
	p.text("summary", &a.Summary)
	p.count("exit", &a.Exit)
	p.text("answer", &a.Answer)
	p.texts("denied", &a.Denied)
	p.number("waited", (*int64)(&a.Waited))
	p.time("waiting_since", &a.WaitingSince)
	return p.end()
}

// ParseJSON reads the event.
func (e *Event) ParseJSON(text []byte) bool {
	p := parser{rest: text}
	p.skip('{')
	p.number("seq", &e.Seq)
	p.time("at", &e.At)
	p.text("kind", &e.Kind)
	p.text("run", &e.Run)
	p.text("task", &e.Task)
	p.text("attempt", &e.Attempt)
	p.text("from", &e.From)
	p.text("to", &e.To)
	p.text("who", &e.Who)
	p.text("why", &e.Why)
	return p.end()
}

// parser reads a JSON object whose members come in a known order. Each of its methods
// reads the next member if that has the given name, and otherwise does nothing.
type parser struct {
	rest   []byte
	some   bool // a member of the object was read
	failed bool // the text is not in the supported form
}

func (p *parser) fail() { p.rest, p.failed = nil, true }

func (p *parser) skip(c byte) {
	if len(p.rest) == 0 || p.rest[0] != c {
		p.fail()
		return
	}
	p.rest = p.rest[1:]
}

// end reports whether the whole text was parsed.
func (p *parser) end() bool {
	p.skip('}')
	return !p.failed && len(p.rest) == 0
}

// member reports whether the next member has the given name. If so, it advances to the
// value.
func (p *parser) member(name string) bool {
	rest := p.rest
	if p.some {
		if len(rest) == 0 || rest[0] != ',' {
			return false
		}
		rest = rest[1:]
	}
	n := len(name)
	if len(rest) < n+3 || rest[0] != '"' || string(rest[1:n+1]) != name || rest[n+1] != '"' || rest[n+2] != ':' {
		return false
	}
	p.rest, p.some = rest[n+3:], true
	return true
}

func (p *parser) text(name string, to *string) {
	if p.member(name) {
		*to = string(p.string())
	}
}

// string reads a string without escapes.
func (p *parser) string() []byte {
	p.skip('"')
	end := bytes.IndexByte(p.rest, '"')
	if end < 0 {
		p.fail()
		return nil
	}
	text, ascii := p.rest[:end], true
	for _, c := range text {
		if c < ' ' || c == '\\' {
			p.fail()
			return nil
		}
		ascii = ascii && c < utf8.RuneSelf
	}
	if !ascii && !utf8.Valid(text) {
		p.fail()
		return nil
	}
	p.rest = p.rest[end+1:]
	return text
}

func (p *parser) number(name string, to *int64) {
	if !p.member(name) {
		return
	}
	end := 0
	for end < len(p.rest) && (p.rest[end] == '-' || '0' <= p.rest[end] && p.rest[end] <= '9') {
		end++
	}
	digits := bytes.TrimPrefix(p.rest[:end], []byte("-"))
	n, err := strconv.ParseInt(string(p.rest[:end]), 10, 64)
	if err != nil || len(digits) > 1 && digits[0] == '0' {
		p.fail()
		return
	}
	*to, p.rest = n, p.rest[end:]
}

func (p *parser) count(name string, to *int) {
	n := int64(*to)
	p.number(name, &n)
	if *to = int(n); int64(*to) != n {
		p.fail()
	}
}

func (p *parser) bool(name string, to *bool) {
	if !p.member(name) {
		return
	}
	for _, value := range []bool{true, false} {
		if text := strconv.FormatBool(value); bytes.HasPrefix(p.rest, []byte(text)) {
			*to, p.rest = value, p.rest[len(text):]
			return
		}
	}
	p.fail()
}

func (p *parser) time(name string, to *time.Time) {
	if p.member(name) && to.UnmarshalText(p.string()) != nil {
		p.fail()
	}
}

// texts reads a non-empty list. AppendJSON does not write empty lists.
func (p *parser) texts(name string, to *[]string) {
	if !p.member(name) {
		return
	}
	p.skip('[')
	*to = append(*to, string(p.string()))
	for len(p.rest) > 0 && p.rest[0] == ',' {
		p.skip(',')
		*to = append(*to, string(p.string()))
	}
	p.skip(']')
}

func (p *parser) amount(name string, to *Amount) {
	if !p.member(name) {
		return
	}
	p.skip('{')
	p.some = false
	p.number("micro_usd", &to.MicroUSD)
	p.number("tokens", &to.Tokens)
	p.some = true
	p.skip('}')
}
