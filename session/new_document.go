package session

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"time"

	"gaffer/statefile"
	"gaffer/statefile/jsontree"
)

// build returns the JSON document of the new session that d describes. The caller must have checked
// d with [Draft.check]. The path of each agent's log file begins with logPrefix.
func (d Draft) build(id, logPrefix string, now time.Time) ([]byte, error) {
	text, err := marshal(Status{
		SchemaVersion: SchemaVersion,
		SessionID:     id,
		Source:        d.Source,
		SourceFile:    d.SourceFile,
		StartedAt:     Time{now},
		Status:        Running,
		Agents:        []Agent{},
		Waves:         []Wave{},
	})
	if err != nil {
		return nil, err
	}
	doc, err := jsontree.Parse(text)
	if err != nil {
		return nil, err
	}
	agents := doc.Root().Child("agents")
	for _, given := range d.Agents.Items() {
		agents.Append(newAgent(given, path.Join(logPrefix, sessionsName, id)))
	}
	waves := doc.Root().Child("waves")
	for _, wave := range d.waves() {
		waves.Append(wave)
	}
	setDerived(doc.Root(), now)
	if err := doc.Err(); err != nil { // the JSON values of the draft's agents or waves are nested too deeply
		return nil, &DraftError{"agents", err.Error()}
	}
	return formatDocument(doc.Bytes())
}

// formatDocument formats the JSON text of a session's document. It returns a DraftError if the
// document is nested too deeply or is too large, because gaffer could not read such a document
// again.
func formatDocument(text []byte) ([]byte, error) {
	data, err := jsontree.Format(text)
	if syntax := (*jsontree.SyntaxError)(nil); errors.As(err, &syntax) {
		return nil, &DraftError{"agents", syntax.Problem}
	}
	if err == nil && len(data) > statefile.MaxSize {
		return nil, &DraftError{"agents", fmt.Sprintf("the document would be larger than %d MiB", statefile.MaxSize>>20)}
	}
	return data, err
}

// newAgent returns the JSON object for an agent in the document of a new session. The parameter
// given is the agent as the caller of [Store.Create] described it. newAgent sets missing JSON
// members to their default values. It always overwrites the member log_file, because the store
// decides where the log of the agent is. dir is the folder of this log.
func newAgent(given jsontree.Value, dir string) jsontree.Value {
	doc, err := jsontree.Parse(given.Raw())
	if err != nil {
		return given // cannot happen: the text comes from a parsed document
	}
	agent := doc.Root()
	if agent.Get("status").Absent() {
		agent.Set("status", string(Queued))
	}
	for _, name := range []string{"started_at", "completed_at", "duration_seconds", "exit_code", "pid"} {
		if agent.Get(name).Kind() == jsontree.Missing {
			agent.Set(name, nil)
		}
	}
	agent.Set("log_file", path.Join(dir, agent.Get("id").Text()+".log"))
	if agent.Get("error").Kind() == jsontree.Missing {
		agent.Set("error", nil)
	}
	return doc.Value()
}

// waves returns the waves of the new session. If d.Waves is missing or null, waves derives them
// from the member "wave" of each agent, the number of its wave.
func (d Draft) waves() []any {
	var waves []any
	for _, given := range d.Waves.Items() {
		waves = append(waves, newWave(given))
	}
	if !d.Waves.Absent() {
		return waves
	}
	members := map[int][]string{}
	for _, item := range d.Agents.Items() {
		var a Agent
		if jsontree.Decode(item, &a); a.Wave != nil {
			members[*a.Wave] = append(members[*a.Wave], a.ID)
		}
	}
	for _, n := range slices.Sorted(maps.Keys(members)) {
		waves = append(waves, Wave{Wave: n, Status: Pending, Agents: members[n]})
	}
	return waves
}

func newWave(given jsontree.Value) jsontree.Value {
	doc, err := jsontree.Parse(given.Raw())
	if err != nil {
		return given // cannot happen: the text comes from a parsed document
	}
	if wave := doc.Root(); wave.Get("status").Absent() {
		wave.Set("status", string(Pending))
	}
	return doc.Value()
}

// marshal encodes v like json.Marshal, but without HTML escapes and with a newline at the end.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return b.Bytes(), err
}
