package discover

import (
	"time"

	"gaffer/internal/byhand/agentproc"
	"gaffer/internal/byhand/hookevents"
	"gaffer/statefile/host"
)

// document is the stored state of one session of an agent, and the path of the file that holds it.
// The method FindQuickly leaves the path empty, because it must not delete files.
type document struct {
	session hookevents.Session
	path    string
	claimed bool // the session belongs, or may belong, to one of the processes that were found
}

func (l *Finder) documents() []*document {
	sessions, paths := l.folder.All(l.now())
	list := make([]*document, len(sessions))
	for i := range sessions {
		list[i] = &document{session: sessions[i], path: paths[i]}
	}
	return list
}

// sessionWithoutProcess looks for sessions of a program in the folder dir that have not ended and
// whose process is unknown. The process is unknown, for example, if Codex's background server ran
// the session's hooks. If there is exactly one such session, sessionWithoutProcess returns it. It
// returns nil if there are several, because it cannot know which one is right, and nil if an
// earlier call has already marked the session as claimed. It marks all sessions that it finds as
// claimed, so that the method unclaimed does not list them as additional agents.
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

// unclaimed returns a possible agent for each session to which no process was matched, for example
// because the agent has no terminal. It leaves out sessions that have ended, and sessions of agents
// that gaffer runs. If one process has several such sessions, unclaimed uses only the one with the
// latest event. It also deletes the files of sessions that are no longer needed, except when it
// runs for FindQuickly.
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

// isOld reports whether the stored state of a session is no longer needed. The parameter alive says
// whether the session's process is running.
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
