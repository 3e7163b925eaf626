package discover

import (
	"time"

	"gaffer/internal/byhand/agentproc"
	"gaffer/internal/byhand/hookevents"
	"gaffer/statefile/host"
)

// document is the stored state of one session of an agent, with the path of its file. If path is
// empty, the Finder does not delete the file.
type document struct {
	session hookevents.Session
	path    string
	claimed bool // one of the processes that were found has, or may have, this session
}

func (l *Finder) documents() []*document {
	sessions, paths := l.folder.All(l.now())
	list := make([]*document, len(sessions))
	for i := range sessions {
		list[i] = &document{session: sessions[i], path: paths[i]}
	}
	return list
}

// sessionWithoutProcess returns the session of a program in the folder dir, if the session has not
// ended and its process is unknown. The process is unknown, for example, if Codex's background
// server ran the session's hooks. If there are several such sessions, or the only one was claimed
// before, sessionWithoutProcess returns nil, because it cannot know which session is the right one.
// In each case it marks these sessions as claimed, so that they do not count as additional agents.
func sessionWithoutProcess(docs []*document, program, dir string) *hookevents.Session {
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

// unclaimed returns a candidate for each session to which no process was matched, for example
// because the agent has no terminal. It leaves out sessions that have ended, and sessions of agents
// that gaffer runs. Of several sessions of one process, only the one with the latest event counts.
// unclaimed also deletes the documents that are no longer needed.
func (l *Finder) unclaimed(docs []*document, seen []*candidate) []*candidate {
	var list []*candidate
	newest := map[host.Process]*candidate{}
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
		f := &candidate{evidence: Evidence{Program: s.Program, Process: s.Process, Alive: alive, Dir: s.Dir, Hook: s}}
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

// isOld reports whether the document of a session is no longer needed.
func (l *Finder) isOld(s hookevents.Session, alive host.Liveness, seen []*candidate) bool {
	age := l.now().Sub(s.At)
	switch alive {
	case host.Dead:
		return age > forgetDead
	case host.Unknown:
		return age > forgetUnknown
	}
	return age > time.Minute && superseded(s, seen)
}

// superseded reports whether the process of session s has reported a later event for another
// session.
func superseded(s hookevents.Session, seen []*candidate) bool {
	for _, f := range seen {
		if h := f.evidence.Hook; h != nil && h.Process == s.Process && h.Session != s.Session && h.At.After(s.At) {
			return true
		}
	}
	return false
}
