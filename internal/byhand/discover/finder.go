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

// Finder finds the agents that users have started on this machine. It is safe for
// concurrent use.
type Finder struct {
	folder hookevents.Folder
	home   string
	now    func() time.Time

	mu           sync.Mutex
	environments map[identity]startEnvironment
	rollouts     map[string]cachedRollout // parsed logs of Codex threads, by path
	seen         map[string]Agent         // agents that the last Find or FindQuickly returned, by id
	// unansweredAt holds, for each tmux server that has failed to answer a query, the time of the
	// last failure. The keys are the paths of the servers' sockets.
	unansweredAt map[string]time.Time
}

// identity identifies a process, and the agent program that it runs.
type identity struct {
	pid   int
	start uint64
	name  string
}

// startEnvironment holds values from the environment with which a process was started.
type startEnvironment struct {
	attempt string
	home    string
	config  string // path of Claude's configuration folder
	socket  string // path of the tmux server's socket
	pane    string
}

// cachedRollout is a parsed rollout, which is Codex's log of a thread. The fields size and changed
// are the size and the modification time that the log file had when it was parsed.
type cachedRollout struct {
	size    int64
	changed time.Time
	rollout *Rollout
	read    time.Time // time of the last use
}

// NewFinder returns a Finder for the user whose home folder is home. The Finder reads the state of
// the agents' sessions from files that gaffer's hooks write. The parameter state is gaffer's state
// folder, which contains these files.
func NewFinder(state, home string, now func() time.Time) *Finder {
	return &Finder{
		folder: hookevents.NewFolder(state), home: home, now: now,
		environments: map[identity]startEnvironment{}, rollouts: map[string]cachedRollout{}, seen: map[string]Agent{}, unansweredAt: map[string]time.Time{},
	}
}

const (
	// forgetDead applies to a session whose process has ended. It is how long the session's state
	// file is kept after the session's last event.
	forgetDead = time.Hour
	// forgetUnknown is the same for a session if it is unknown whether its process is running.
	forgetUnknown = 24 * time.Hour
	// skipUnansweredFor is how long a tmux server is not queried after it has failed to answer.
	skipUnansweredFor = time.Minute
)

// Find returns the running agents, sorted by name. It leaves out the agents that gaffer runs
// itself. It also deletes the state files of sessions if they are no longer needed.
func (l *Finder) Find(ctx context.Context) ([]Agent, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := l.gather(l.documents())
	l.readTitles(ctx, all)
	return l.statuses(ctx, all), ctx.Err()
}

// FindQuickly does the same as Find, but fast enough for a status line. It starts no process and
// deletes no file. It queries no tmux server, so it misses a status that only the title or the text
// of a tmux pane shows.
func (l *Finder) FindQuickly(ctx context.Context) []Agent {
	l.mu.Lock()
	defer l.mu.Unlock()
	sessions := l.folder.Sessions()
	docs := make([]*document, len(sessions))
	for i := range sessions {
		docs[i] = &document{session: sessions[i]}
	}
	return l.statuses(ctx, l.gather(docs))
}

func (l *Finder) statuses(ctx context.Context, all []*candidate) []Agent {
	now := l.now()
	list := []Agent{}
	seen := map[string]Agent{}
	for _, f := range all {
		l.readScreen(ctx, f, now)
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
			m := l.folder.Usage(s.Session)
			s.Context, s.CostUSD = m.Context, m.CostUSD
		}
		seen[s.ID] = s
		list = append(list, s)
	}
	l.seen = seen
	slices.SortFunc(list, func(a, b Agent) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID)) })
	return list
}

// candidate is a possible agent, with the evidence gathered so far.
type candidate struct {
	evidence    Evidence
	environment startEnvironment
	terminal    uint64
}

// gather returns a candidate for each process of an agent in a terminal, and for each session that
// belongs to none of these processes. If a process has several sessions, gather uses the one with
// the latest hook event. It skips agents that gaffer runs. It also skips processes with another
// HOME, such as agents of a test, because they do not belong to this user's setup.
func (l *Finder) gather(docs []*document) []*candidate {
	var list []*candidate
	known := map[identity]startEnvironment{}
	for _, p := range agentproc.Agents() {
		id := identity{p.PID, p.Start, p.Program}
		f, sure := l.environmentOf(id)
		if sure {
			known[id] = f
		}
		if f.attempt == "" && (f.home == "" || f.home == l.home) {
			list = append(list, l.agent(p, f, docs))
		}
	}
	l.environments = known
	return append(list, l.unclaimed(docs, list)...)
}

// environmentOf returns the variables of a process's environment that gaffer needs. The result sure
// is false if the process has none of these variables. The caller must then read them again later,
// because the environment of a process that has just started may not be visible yet.
func (l *Finder) environmentOf(id identity) (f startEnvironment, sure bool) {
	if f, ok := l.environments[id]; ok {
		return f, true
	}
	v := agentproc.Variables(id.pid, "GAFFER_ATTEMPT", "CLAUDE_CONFIG_DIR", "HOME", "TMUX", "TMUX_PANE")
	f = startEnvironment{attempt: v["GAFFER_ATTEMPT"], home: v["HOME"], config: v["CLAUDE_CONFIG_DIR"], pane: v["TMUX_PANE"]}
	if f.config == "" {
		f.config = filepath.Join(cmp.Or(v["HOME"], l.home), ".claude")
	}
	f.socket = socketOf(v["TMUX"])
	// If the process has no variable TMUX, look for it in the ancestors: a program may remove TMUX
	// from the environment of its children.
	for pid, i := id.pid, 0; f.socket == "" && i < 5; i++ {
		p, ok := agentproc.Find(pid)
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

// agent returns a candidate for an agent process, with all the evidence about the process that can
// be collected without starting another program.
func (l *Finder) agent(p agentproc.Process, f startEnvironment, docs []*document) *candidate {
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
		e.Hook = sessionWithoutProcess(docs, p.Program, e.Dir)
	}
	switch p.Program {
	case agentproc.Claude:
		e.File = readSessionFile(f.config, p.PID)
	case agentproc.Codex:
		e.Rollout = l.rollout(p.PID, e.Hook)
	}
	return &candidate{evidence: e, environment: f, terminal: p.Terminal}
}

// readSessionFile reads the session file that Claude has written for a process. It returns nil if
// there is no valid file. config is Claude's configuration folder.
func readSessionFile(config string, pid int) *SessionFile {
	data, err := hookevents.ReadSmallFile(filepath.Join(config, "sessions", strconv.Itoa(pid)+".json"), 64<<10)
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
	note := &SessionFile{Session: n.SessionID, Dir: n.Dir, Status: n.Status, For: hookevents.OneLine(n.For)}
	note.Start, _ = strconv.ParseUint(n.Start, 10, 64)
	if n.UpdatedAt > 0 {
		note.Since = time.UnixMilli(n.UpdatedAt).UTC()
	}
	return note
}

// rollout returns the state of a Codex thread according to its rollout, which is Codex's log of the
// thread. It reads the log file that the process has open. If there is none, it reads the log file
// that the hooks have named. It returns nil if it cannot read a log. While the result is cached,
// rollout reads the file again only if the file has changed.
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
	r, ok := l.rollouts[path]
	if !ok || r.size != info.Size() || !r.changed.Equal(info.ModTime()) {
		read, err := readRollout(path)
		if err != nil {
			return nil
		}
		r = cachedRollout{size: info.Size(), changed: info.ModTime(), rollout: read}
	}
	r.read = l.now()
	l.rollouts[path] = r
	l.dropUnusedRollouts()
	return r.rollout
}

func (l *Finder) dropUnusedRollouts() {
	for path, r := range l.rollouts {
		if l.now().Sub(r.read) > time.Minute {
			delete(l.rollouts, path)
		}
	}
}

// readTitles adds the titles of tmux panes to the candidates. It queries only the tmux servers of
// agents whose status may depend on a title, and each server only once. An agent's pane is the one
// with the same terminal device as the agent's process.
func (l *Finder) readTitles(ctx context.Context, list []*candidate) {
	now := l.now()
	asked := map[string]map[uint64]tmux.Pane{}
	for _, f := range list {
		f.evidence.Pane = f.environment.pane
		socket := f.environment.socket
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
	if when, ok := l.unansweredAt[socket]; ok && now.Sub(when) < skipUnansweredFor {
		return nil
	}
	delete(l.unansweredAt, socket)
	list, err := tmux.Panes(ctx, socket)
	if tmux.IsTimeout(err) {
		l.unansweredAt[socket] = now
	}
	by := make(map[uint64]tmux.Pane, len(list))
	for _, p := range list {
		by[agentproc.DeviceOf(p.Terminal)] = p
	}
	return by
}

// readScreen adds the text of an agent's tmux pane to the evidence, if nothing else shows the
// agent's status. It does nothing if readTitles has found no pane of the agent.
func (l *Finder) readScreen(ctx context.Context, f *candidate, now time.Time) {
	e := &f.evidence
	if f.environment.socket == "" || e.Title == nil || e.Stopped || e.knownWithoutScreen(now) {
		return
	}
	if _, silent := l.unansweredAt[f.environment.socket]; !silent {
		e.Screen, _ = tmux.Screen(ctx, f.environment.socket, e.Pane)
	}
}
