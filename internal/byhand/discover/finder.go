package discover

import (
	"cmp"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"gaffer/internal/attempt/tmux"
	"gaffer/internal/byhand/agentproc"
	"gaffer/internal/byhand/hookevents"
	"gaffer/statefile/host"
)

// Finder sees the agents that people have started on this machine. It is safe
// for concurrent use.
type Finder struct {
	folder hookevents.Folder
	home   string
	now    func() time.Time

	mu      sync.Mutex
	known   map[identity]facts
	records map[string]record    // rollouts that were read, by their paths
	seen    map[string]Sighting  // the last look, by ids
	silent  map[string]time.Time // servers of tmux that did not answer, and when
}

// identity is a process, and the program that it runs.
type identity struct {
	pid   int
	start uint64
	name  string
}

// facts are what a process was started with.
type facts struct {
	attempt string
	home    string
	config  string // Claude's folder
	socket  string // of tmux
	pane    string
}

// record is a rollout as it was read.
type record struct {
	size    int64
	changed time.Time
	rollout *Rollout
	read    time.Time
}

// NewLookout looks with the documents below gaffer's state, for a user whose home
// is given.
func NewLookout(state, home string, now func() time.Time) *Finder {
	return &Finder{
		folder: hookevents.In(state), home: home, now: now,
		known: map[identity]facts{}, records: map[string]record{}, seen: map[string]Sighting{}, silent: map[string]time.Time{},
	}
}

const (
	forgetDead    = time.Hour      // after the last word of a process that has ended
	forgetUnknown = 24 * time.Hour // of one that nobody knows
	shun          = time.Minute    // a server that did not answer
)

// Look returns the agents that are there, by their names. Those that gaffer runs
// itself are not among them. It forgets what was said by sessions long gone.
func (l *Finder) Look(ctx context.Context) ([]Sighting, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := l.gather(l.documents())
	l.titles(ctx, all)
	return l.judge(ctx, all), ctx.Err()
}

// Glimpse is like Look for a prompt: it asks no tmux server, so it starts no
// process, and it changes nothing. What only a title or a screen tells is missing.
func (l *Finder) Glimpse(ctx context.Context) []Sighting {
	l.mu.Lock()
	defer l.mu.Unlock()
	sessions := l.folder.Sessions()
	docs := make([]*document, len(sessions))
	for i := range sessions {
		docs[i] = &document{session: sessions[i]}
	}
	return l.judge(ctx, l.gather(docs))
}

func (l *Finder) judge(ctx context.Context, all []*found) []Sighting {
	now := l.now()
	list := []Sighting{}
	seen := map[string]Sighting{}
	for _, f := range all {
		l.screen(ctx, f, now)
		s, ok := Judge(f.evidence, now)
		if !ok {
			continue
		}
		if s.Since.IsZero() {
			s.Since = now
			if before := l.seen[s.ID]; before.Status == s.Status {
				s.Since = before.Since
			}
		}
		if s.Program == agentproc.Claude {
			m := l.folder.Meter(s.Session)
			s.Context, s.CostUSD = m.Context, m.CostUSD
		}
		seen[s.ID] = s
		list = append(list, s)
	}
	l.seen = seen
	slices.SortFunc(list, func(a, b Sighting) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID)) })
	return list
}

// found is an agent of which evidence is gathered.
type found struct {
	evidence Evidence
	facts    facts
	terminal uint64
}

// gather joins processes and documents. A process counts with the session of
// which its hooks spoke last. One with another home is not this person's: a test's,
// for instance.
func (l *Finder) gather(docs []*document) []*found {
	var list []*found
	known := map[identity]facts{}
	for _, p := range agentproc.Agents() {
		id := identity{p.PID, p.Start, p.Program}
		f, sure := l.factsOf(id)
		if sure {
			known[id] = f
		}
		if f.attempt == "" && (f.home == "" || f.home == l.home) {
			list = append(list, l.agent(p, f, docs))
		}
	}
	l.known = known
	return append(list, l.unclaimed(docs, list)...)
}

// factsOf are not sure without any variable: a process has the name of its program
// a moment before the environment.
func (l *Finder) factsOf(id identity) (f facts, sure bool) {
	if f, ok := l.known[id]; ok {
		return f, true
	}
	v := agentproc.Variables(id.pid, "GAFFER_ATTEMPT", "CLAUDE_CONFIG_DIR", "HOME", "TMUX", "TMUX_PANE")
	f = facts{attempt: v["GAFFER_ATTEMPT"], home: v["HOME"], config: v["CLAUDE_CONFIG_DIR"], pane: v["TMUX_PANE"]}
	if f.config == "" {
		f.config = filepath.Join(cmp.Or(v["HOME"], l.home), ".claude")
	}
	f.socket = socketOf(v["TMUX"])
	for pid, i := id.pid, 0; f.socket == "" && i < 5; i++ { // a program may hide it from what it starts
		p, ok := agentproc.Look(pid)
		if !ok || p.Parent <= 1 {
			break
		}
		pid = p.Parent
		f.socket = socketOf(agentproc.Variables(pid, "TMUX")["TMUX"])
	}
	return f, len(v) > 0
}

func socketOf(variable string) string {
	socket, _, _ := strings.Cut(variable, ",")
	if !filepath.IsAbs(socket) {
		return ""
	}
	return socket
}

// agent gathers what is known of a process without asking others.
func (l *Finder) agent(p agentproc.Process, f facts, docs []*document) *found {
	e := Evidence{Program: p.Program, Alive: host.Alive, Stopped: p.State == 'T', Dir: agentproc.FolderOf(p.PID)}
	self := host.OS().Self()
	e.Process = host.Process{PID: p.PID, Start: p.Start, Boot: self.Boot, Space: self.Space, Host: self.Host}
	for _, d := range docs {
		if d.session.Program != p.Program || d.session.Process != e.Process {
			continue
		}
		d.claimed = true
		if e.Hook == nil || d.session.At.After(e.Hook.At) {
			e.Hook = &d.session
		}
	}
	if e.Hook == nil {
		e.Hook = orphan(docs, p.Program, e.Dir)
	}
	switch p.Program {
	case agentproc.Claude:
		e.File = readNote(f.config, p.PID)
	case agentproc.Codex:
		e.Rollout = l.rollout(p.PID, e.Hook)
	}
	return &found{evidence: e, facts: f, terminal: p.Terminal}
}

// readNote reads what Claude says of one of its processes.
func readNote(config string, pid int) *Note {
	data, err := hookevents.ReadSmall(filepath.Join(config, "sessions", strconv.Itoa(pid)+".json"), 64<<10)
	if err != nil {
		return nil
	}
	var n struct {
		PID       int    `json:"pid"`
		SessionID string `json:"sessionId"`
		Dir       string `json:"cwd"`
		Start     string `json:"procStart"`
		Status    string `json:"status"`
		UpdatedAt int64  `json:"statusUpdatedAt"`
		For       string `json:"waitingFor"`
	}
	if json.Unmarshal(data, &n) != nil || n.PID != pid {
		return nil
	}
	note := &Note{Session: n.SessionID, Dir: n.Dir, Status: n.Status, For: hookevents.Line(n.For)}
	note.Start, _ = strconv.ParseUint(n.Start, 10, 64)
	if n.UpdatedAt > 0 {
		note.Since = time.UnixMilli(n.UpdatedAt).UTC()
	}
	return note
}

// rollout reads the record that a process of Codex has open, or that its hooks
// name, if it has changed.
func (l *Finder) rollout(pid int, hook *hookevents.Session) *Rollout {
	path := agentproc.RolloutOf(pid)
	if path == "" && hook != nil && filepath.IsAbs(hook.Transcript) {
		path = hook.Transcript
	}
	if path == "" {
		return nil
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil
	}
	r, ok := l.records[path]
	if !ok || r.size != info.Size() || !r.changed.Equal(info.ModTime()) {
		read, err := readRollout(path)
		if err != nil {
			return nil
		}
		r = record{size: info.Size(), changed: info.ModTime(), rollout: read}
	}
	r.read = l.now()
	l.records[path] = r
	l.forgetRecords()
	return r.rollout
}

func (l *Finder) forgetRecords() {
	for path, r := range l.records {
		if l.now().Sub(r.read) > time.Minute {
			delete(l.records, path)
		}
	}
}

// titles asks each server of tmux once, if the title of one of its panes can
// count. A pane is known by its terminal.
func (l *Finder) titles(ctx context.Context, list []*found) {
	now := l.now()
	asked := map[string]map[uint64]tmux.Pane{}
	for _, f := range list {
		f.evidence.Pane = f.facts.pane
		socket := f.facts.socket
		if socket == "" || !f.evidence.needsTitle(now) {
			continue
		}
		panes, ok := asked[socket]
		if !ok {
			panes = l.panes(ctx, socket, now)
			asked[socket] = panes
		}
		if p, ok := panes[f.terminal]; ok && f.terminal != 0 {
			f.evidence.Title, f.evidence.Pane = &Title{Text: p.Title, Host: p.Host}, p.ID
		}
	}
}

func (l *Finder) panes(ctx context.Context, socket string, now time.Time) map[uint64]tmux.Pane {
	if when, ok := l.silent[socket]; ok && now.Sub(when) < shun {
		return nil
	}
	delete(l.silent, socket)
	list, err := tmux.Panes(ctx, socket)
	if tmux.Silent(err) {
		l.silent[socket] = now
	}
	by := make(map[uint64]tmux.Pane, len(list))
	for _, p := range list {
		by[agentproc.DeviceOf(p.Terminal)] = p
	}
	return by
}

// screen looks at a pane if nothing else speaks of what is in it.
func (l *Finder) screen(ctx context.Context, f *found, now time.Time) {
	e := &f.evidence
	if f.facts.socket == "" || e.Title == nil || e.Stopped || e.settled(now) {
		return
	}
	if _, silent := l.silent[f.facts.socket]; !silent {
		e.Screen, _ = tmux.Screen(ctx, f.facts.socket, e.Pane)
	}
}
