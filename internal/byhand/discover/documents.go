package discover

import (
	"time"

	"gaffer/internal/byhand/agentproc"
	"gaffer/internal/byhand/hookevents"
	"gaffer/statefile/host"
)

// document is what hooks have said of a session, and where that is kept. One
// without a path is never removed.
type document struct {
	session hookevents.Session
	path    string
	claimed bool // by a process
}

func (l *Finder) documents() []*document {
	sessions, paths := l.folder.All(l.now())
	list := make([]*document, len(sessions))
	for i := range sessions {
		list[i] = &document{session: sessions[i], path: paths[i]}
	}
	return list
}

// orphan is the only session of a program in a folder whose process nobody knows:
// a server has run its hooks. Of several none can be told to be a process's, and
// none is one more agent.
func orphan(docs []*document, program, dir string) *hookevents.Session {
	var all []*document
	claimed := false
	for _, d := range docs {
		s := d.session
		if s.Program == program && s.Process.PID == 0 && s.Dir == dir && !s.Ended {
			all, claimed = append(all, d), claimed || d.claimed
			d.claimed = true
		}
	}
	if len(all) != 1 || claimed {
		return nil
	}
	return &all[0].session
}

// unclaimed are the sessions of agents without a terminal, and of those whose
// process cannot be seen. What is long gone is removed.
func (l *Finder) unclaimed(docs []*document, seen []*found) []*found {
	var list []*found
	newest := map[host.Process]*found{}
	for _, d := range docs {
		s := &d.session
		alive := host.OS().Alive(s.Process)
		if l.isOld(*s, alive, seen) {
			if d.path != "" {
				l.folder.Remove(*s, d.path)
			}
			continue
		}
		if d.claimed || s.Attempt != "" || s.Ended {
			continue
		}
		f := &found{evidence: Evidence{Program: s.Program, Process: s.Process, Alive: alive, Dir: s.Dir, Hook: s}}
		if before := newest[s.Process]; s.Process.PID != 0 && before != nil {
			if s.At.After(before.evidence.Hook.At) {
				before.evidence = f.evidence
			}
			continue
		}
		if s.Program == agentproc.Codex && alive == host.Alive {
			f.evidence.Rollout = l.rollout(s.Process.PID, s)
		}
		newest[s.Process] = f
		list = append(list, f)
	}
	return list
}

// isOld tells whether a document is of no use any more.
func (l *Finder) isOld(s hookevents.Session, alive host.Liveness, seen []*found) bool {
	age := l.now().Sub(s.At)
	switch alive {
	case host.Dead:
		return age > forgetDead
	case host.Unknown:
		return age > forgetUnknown
	}
	return age > time.Minute && superseded(s, seen)
}

// superseded tells whether the process of a session has gone on with another.
func superseded(s hookevents.Session, seen []*found) bool {
	for _, f := range seen {
		if h := f.evidence.Hook; h != nil && h.Process == s.Process && h.Session != s.Session && h.At.After(s.At) {
			return true
		}
	}
	return false
}
