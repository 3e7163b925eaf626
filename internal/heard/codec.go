package heard

import (
	"strconv"
	"time"

	"gaffer/statefile/host"
	"gaffer/statefile/jsonview"
)

// encode and decode do what encoding/json does with a [Session], which takes as
// long to learn what a Session is as all the rest of a hook takes.

func (s Session) encode() []byte {
	b := object{'{'}
	b.text("program", s.Program, true)
	b.text("session", s.Session, true)
	if s.Process != (host.Process{}) {
		b.name("process")
		b = append(b, encodeProcess(s.Process)...)
	}
	b.text("attempt", s.Attempt, false)
	b.text("dir", s.Dir, false)
	b.text("transcript", s.Transcript, false)
	b.text("model", s.Model, false)
	b.text("status", string(s.Status), true)
	b.text("since", s.Since.Format(time.RFC3339Nano), true)
	b.text("event", s.Event, true)
	b.text("at", s.At.Format(time.RFC3339Nano), true)
	b.text("error", s.Error, false)
	b.truth("ended", s.Ended)
	b.list("asked", len(s.Asked), func(i int) []byte {
		a, b := s.Asked[i], object{'{'}
		b.text("agent", a.Agent, false)
		b.text("tool", a.Tool, false)
		b.text("what", a.What, false)
		b.text("question", a.Question, false)
		return b.end()
	})
	b.number("helpers", int64(s.Helpers), false)
	b.text("compacting", s.Compacting, false)
	b.list("trails", len(s.Trails), func(i int) []byte {
		t, b := s.Trails[i], object{'{'}
		b.text("agent", t.Agent, false)
		b.text("tool", t.Tool, true)
		b.text("input", t.Input, true)
		b.number("same", int64(t.Same), true)
		b.number("failed", int64(t.Failed), true)
		return b.end()
	})
	b.text("loop", s.Loop, false)
	return b.end()
}

func encodeProcess(p host.Process) []byte {
	b := object{'{'}
	b.number("pid", int64(p.PID), true)
	b.number("start", int64(p.Start), true)
	b.text("boot", p.Boot, true)
	b.text("space", p.Space, true)
	b.text("host", p.Host, true)
	return b.end()
}

// object is one that is being written.
type object []byte

func (b *object) name(name string) {
	if len(*b) > 1 {
		*b = append(*b, ',')
	}
	*b = append(append(append(*b, '"'), name...), '"', ':')
}

func (b *object) text(name, value string, always bool) {
	if value == "" && !always {
		return
	}
	b.name(name)
	*b = jsonview.Quote(*b, value)
}

func (b *object) number(name string, value int64, always bool) {
	if value == 0 && !always {
		return
	}
	b.name(name)
	*b = strconv.AppendInt(*b, value, 10)
}

func (b *object) float(name string, value float64) {
	b.name(name)
	*b = strconv.AppendFloat(*b, value, 'f', -1, 64)
}

func (b *object) truth(name string, value bool) {
	if value {
		b.name(name)
		*b = append(*b, "true"...)
	}
}

func (b *object) list(name string, n int, item func(int) []byte) {
	if n == 0 {
		return
	}
	b.name(name)
	for i := range n {
		*b = append(append(*b, "[,"[min(i, 1)]), item(i)...)
	}
	*b = append(*b, ']')
}

func (b *object) end() []byte { return append(*b, '}') }

// decode is false for what is no object. A member of another form is empty.
func decode(data []byte) (Session, bool) {
	v, err := jsonview.Parse(data)
	if err != nil || v.Kind() != jsonview.Object {
		return Session{}, false
	}
	text := func(name string) string { return v.Get(name).Text() }
	s := Session{
		Program: text("program"), Session: text("session"), Process: decodeProcess(v.Get("process")), Attempt: text("attempt"),
		Dir: text("dir"), Transcript: text("transcript"), Model: text("model"),
		Status: Status(text("status")), Since: moment(text("since")), Event: text("event"), At: moment(text("at")), Error: text("error"),
		Helpers: number(v.Get("helpers")), Compacting: text("compacting"), Loop: text("loop"),
	}
	s.Ended, _ = v.Get("ended").Bool()
	for _, a := range v.Get("asked").Items() {
		s.Asked = append(s.Asked, Asked{
			Agent: a.Get("agent").Text(), Tool: a.Get("tool").Text(), What: a.Get("what").Text(), Question: a.Get("question").Text(),
		})
	}
	for _, t := range v.Get("trails").Items() {
		s.Trails = append(s.Trails, Trail{
			Agent: t.Get("agent").Text(), Tool: t.Get("tool").Text(), Input: t.Get("input").Text(),
			Same: number(t.Get("same")), Failed: number(t.Get("failed")),
		})
	}
	return s, true
}

func decodeProcess(v jsonview.Value) host.Process {
	return host.Process{
		PID: number(v.Get("pid")), Start: uint64(number(v.Get("start"))),
		Boot: v.Get("boot").Text(), Space: v.Get("space").Text(), Host: v.Get("host").Text(),
	}
}

func number(v jsonview.Value) int {
	n, _ := v.Int()
	return int(n)
}

func moment(text string) time.Time {
	t, _ := time.Parse(time.RFC3339Nano, text)
	return t
}
