package session

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"gaffer/statefile"
	"gaffer/statefile/jsontree"
	"gaffer/statefile/timestamp"
)

// Check returns the violations of the session protocol in v, the content of a status.json. It
// limits the number of findings. The findings contain path, the path of the document.
func Check(path string, v jsontree.Value) []statefile.Finding {
	c := checker{path: path}
	status, mismatches := Decode(v)
	c.mismatches(mismatches)
	if v.Kind() != jsontree.Object {
		return c.found
	}
	c.session(v, status)
	c.ending(v, status)
	c.agents(v)
	c.summary(v)
	c.waves(v)
	return c.found
}

type checker struct {
	path  string
	found []statefile.Finding
}

func (c *checker) invalid(at, name, text string, args ...any) {
	c.add(statefile.Invalid, at, name, text, args)
}

func (c *checker) irregular(at, name, text string, args ...any) {
	c.add(statefile.Irregular, at, name, text, args)
}

// mostFindings is the largest number of violations that [Check] reports for one document. If there
// are more, Check adds one more finding, which says so.
const mostFindings = 1000

func (c *checker) add(severity statefile.Severity, at, name, text string, args []any) {
	switch {
	case len(c.found) > mostFindings:
		return
	case len(c.found) == mostFindings:
		at, name, text, args = "", "more-findings", "there are more than %d findings", []any{mostFindings}
	}
	c.found = append(c.found, statefile.Finding{
		Path: c.path, At: at, Name: name, Severity: severity, Text: fmt.Sprintf(text, args...),
	})
}

func (c *checker) mismatches(all []jsontree.Mismatch) {
	for _, m := range all {
		name := "wrong-type"
		if m.Want == wantTime {
			name = "bad-timestamp"
		}
		c.invalid(m.Path, name, "%s where %s should be", m.Found, m.Want)
	}
}

// required lists the top-level JSON members without which a session's document is invalid. If
// another top-level member is missing, the finding has only the severity Irregular.
var required = []string{"session_id", "status", "agents"}

func (c *checker) session(v jsontree.Value, s Status) {
	for _, name := range []string{
		"schema_version", "session_id", "source", "source_file", "started_at", "status", "agents", "summary", "waves",
	} {
		switch {
		case !v.Get(name).Absent():
		case slices.Contains(required, name):
			c.invalid(name, "missing-field", "is missing")
		default:
			c.irregular(name, "missing-field", "is missing")
		}
	}
	if s.SchemaVersion != "" && s.SchemaVersion != SchemaVersion {
		c.irregular("schema_version", "unknown-schema-version", "%q where %q should be", shorten(s.SchemaVersion), SchemaVersion)
	}
	if s.Source != "" && !slices.Contains(sources, s.Source) {
		c.irregular("source", "unknown-source", "%q where %s should be", shorten(s.Source), orList(sources))
	}
	c.status("status", v.Get("status"), sessionStates)
	c.time("started_at", v.Get("started_at"))
	c.time("completed_at", v.Get("completed_at"))
}

// status adds a finding if v is a string that is not in words, the list of the allowed statuses.
// The parameter path says where v is in the document, such as agents[2].status.
func (c *checker) status(path string, v jsontree.Value, words []State) {
	if text, ok := v.Str(); ok && !slices.Contains(words, State(text)) {
		c.invalid(path, "unknown-status", "%q where %s should be", shorten(text), orList(words))
	}
}

// ending checks the status and the end time of the session v. It adds a finding if the session's
// status contradicts the statuses of its agents, or if the session is complete but has no agents.
// It adds another finding if the session has ended but has no end time in completed_at.
func (c *checker) ending(v jsontree.Value, s Status) {
	sum := s.Count()
	switch {
	case s.Status == Running && sum.Total > 0 && sum.final():
		c.irregular("status", "unfinished-session", "running although every agent has ended; should be %s", sum.outcome())
	case s.Status == Complete && sum.Total == 0 && v.Get("agents").Kind() == jsontree.Array:
		c.irregular("agents", "empty-session", "the session is complete and has no agents")
	case s.Status == Complete && sum.Failed > 0:
		c.irregular("status", "status-disagrees", "complete although an agent has failed; should be failed")
	case s.Status.Final() && !sum.final():
		c.irregular("status", "status-disagrees", "%s although an agent has not ended", s.Status)
	}
	if s.Status.Final() && v.Get("completed_at").Absent() {
		c.irregular("completed_at", "missing-field", "is missing although the session is %s", s.Status)
	}
}

func (c *checker) agents(v jsontree.Value) {
	first := map[string]int{}
	for i, agent := range v.Get("agents").Items() {
		if agent.Kind() != jsontree.Object {
			continue // [checker.mismatches] has already reported this value
		}
		at := fmt.Sprintf("agents[%d]", i)
		c.agentID(at, i, agent, first)
		c.agent(at, agent)
	}
}

func (c *checker) agentID(at string, i int, agent jsontree.Value, first map[string]int) {
	id, ok := agent.Get("id").Str()
	if !ok {
		if agent.Get("id").Absent() {
			c.invalid(at+".id", "missing-field", "is missing")
		}
		return
	}
	if err := statefile.CheckName("agent id", id); err != nil {
		c.invalid(at+".id", "bad-agent-id", "%v", err)
	}
	if other, taken := first[id]; taken {
		c.invalid(at+".id", "duplicate-agent", "%q is already the id of agents[%d]", shorten(id), other)
		return
	}
	first[id] = i
}

func (c *checker) agent(at string, agent jsontree.Value) {
	state := stateOf(agent.Get("status"), Queued)
	if agent.Get("status").Absent() {
		c.irregular(at+".status", "missing-field", "is missing; read as queued")
	}
	c.status(at+".status", agent.Get("status"), agentStates)
	if state == Running && agent.Get("started_at").Absent() {
		c.irregular(at+".started_at", "missing-field", "is missing although the agent runs")
	}
	if state.Final() && !agent.Get("pid").Absent() {
		c.irregular(at+".pid", "pid-left", "%s although the agent is %s; should be null", formatValue(agent.Get("pid")), state)
	}
	if code, ok := agent.Get("exit_code").Float(); ok && code != 0 && state == Complete {
		c.invalid(at+".exit_code", "complete-with-exit-code", "%s although the agent is complete", formatValue(agent.Get("exit_code")))
	}
	if d, ok := agent.Get("duration_seconds").Float(); ok && d < 0 {
		c.irregular(at+".duration_seconds", "negative-duration", "%s; the clock was set back", formatValue(agent.Get("duration_seconds")))
	}
	c.time(at+".started_at", agent.Get("started_at"))
	c.time(at+".completed_at", agent.Get("completed_at"))
}

// time adds a finding if v is a time but is not written in RFC 3339 and UTC. It ignores a value
// that cannot be parsed as a time, because [checker.mismatches] reports it.
func (c *checker) time(at string, v jsontree.Value) {
	text, ok := v.Str()
	if !ok {
		return
	}
	here, err := timestamp.Parse(text, time.UTC)
	if err != nil {
		return
	}
	there, _ := timestamp.Parse(text, time.FixedZone("", 3600)) // cannot fail: text was parsed above
	switch {
	case !here.Equal(there):
		c.irregular(at, "naive-timestamp", "%q has no zone; read as local time", text)
	case !timestamp.Strict(text):
		c.irregular(at, "loose-timestamp", "%q is not RFC 3339", text)
	case !timestamp.UTC(text):
		c.irregular(at, "offset-timestamp", "%q has an offset where Z or +00:00 should be", text)
	}
}

func (c *checker) summary(v jsontree.Value) {
	given := v.Get("summary")
	// The summary counts the agents. If the summary or the agents are missing or have the wrong
	// type, there is nothing to compare. [checker.session] and [checker.mismatches] have already
	// reported that.
	if given.Kind() != jsontree.Object || v.Get("agents").Kind() != jsontree.Array {
		return
	}
	var sum Summary
	for _, agent := range v.Get("agents").Items() {
		sum.add(stateOf(agent.Get("status"), Queued))
	}
	for _, want := range sum.counts() {
		if f, ok := given.Get(want.name).Float(); !ok || f != float64(want.n) {
			c.invalid("summary."+want.name, "summary-disagrees", "%s where %d should be", formatValue(given.Get(want.name)), want.n)
		}
	}
}

func (c *checker) waves(v jsontree.Value) {
	states := map[string]State{}
	for _, agent := range v.Get("agents").Items() {
		id := idOf(agent.Get("id"))
		if _, twice := states[id]; !twice {
			states[id] = stateOf(agent.Get("status"), Queued)
		}
	}
	for i, wave := range v.Get("waves").Items() {
		at := fmt.Sprintf("waves[%d]", i)
		c.status(at+".status", wave.Get("status"), waveStates)
		for j, id := range wave.Get("agents").Items() {
			if text, ok := id.Str(); ok && states[text] == "" {
				c.invalid(fmt.Sprintf("%s.agents[%d]", at, j), "unknown-agent", "there is no agent %q", shorten(text))
			}
		}
		was := State(wave.Get("status").Text())
		if is, ok := waveState(was, wave.Get("agents"), states); ok && is != was {
			c.irregular(at+".status", "wave-disagrees", "%s although its agents make it %s", formatValue(wave.Get("status")), is)
		}
	}
}

// formatValue formats a JSON value for the text of a finding.
func formatValue(v jsontree.Value) string {
	if v.Kind() == jsontree.Missing {
		return "nothing"
	}
	return shorten(string(v.Raw()))
}

// shorten limits the length of text from another program, for use in a message.
func shorten(text string) string {
	const most = 60
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}
