package viewers

import (
	"sync"
	"time"
)

// owners caches which runs documents belong to: documents change often, their runs hardly
// ever.
type owners struct {
	mu    sync.Mutex
	runs  map[string]string // by session; "" for another program's
	until time.Time

	session   string // of the team
	run       string
	teamUntil time.Time
}

const (
	remember = time.Minute
	// unknown is short, because a team's documents exist a moment before its run does.
	unknown = 2 * time.Second
)

// sessions returns the runs of sessions. It calls ask for those that are not cached.
func (o *owners) sessions(ids []string, now time.Time, ask func(ids []string) (map[string]string, error)) map[string]string {
	o.mu.Lock()
	defer o.mu.Unlock()
	if now.After(o.until) {
		o.runs, o.until = map[string]string{}, now.Add(remember)
	}
	var news []string
	for _, id := range ids {
		if _, known := o.runs[id]; !known {
			news = append(news, id)
		}
	}
	found := map[string]string{}
	if len(news) > 0 {
		asked, err := ask(news)
		for _, id := range news {
			if found[id] = asked[id]; err == nil {
				o.runs[id] = asked[id]
			}
		}
	}
	for _, id := range ids {
		if run := o.runs[id]; run != "" {
			found[id] = run
		}
	}
	return found
}

// team returns the run of a team's session.
func (o *owners) team(session string, now time.Time, ask func() (string, error)) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	if session == o.session && now.Before(o.teamUntil) {
		return o.run
	}
	run, err := ask()
	if err == nil {
		o.session, o.run, o.teamUntil = session, run, now.Add(unknown)
	}
	if run != "" {
		o.teamUntil = now.Add(remember)
	}
	return run
}
