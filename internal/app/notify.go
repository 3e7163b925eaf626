package app

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"gaffer/coordinator"
	"gaffer/internal/config"
	"gaffer/internal/record/notify"
)

// lastCall is how long a run that has ended waits for the last of what a person is
// told. What is not told by then the next gaffer tells.
const lastCall = 3 * time.Second

// notifying is how a process tells a person something, made when it first does.
type notifying struct {
	once     sync.Once
	channels []NotifyChannel
}

// open takes the secret that signs messages out of the environment, once it is
// read: agents would get it.
func (n *notifying) open(opts Options) []NotifyChannel {
	n.once.Do(func() {
		n.channels = notifyChannels(opts)
		_ = os.Unsetenv(secretEnv) // a name without a mistake can be unset
	})
	return n.channels
}

func notifyKinds(c *config.Config) (kinds []notify.Kind) {
	for _, k := range c.List("notify.events") {
		kinds = append(kinds, notify.Kind(k))
	}
	return kinds
}

func notifyRules(c *config.Config) notify.Rules {
	from, to := c.Hours("notify.quiet")
	return notify.Rules{
		Quiet: notify.Quiet{From: from, To: to, Zone: time.Local}, Burst: c.Number("notify.burst"),
		Questions: c.Choice("notify.quiet_questions") == "true",
	}
}

// teller begins to tell a person of a run, or of everything if that is empty, after
// an event, or from now on if that is zero. It is nil if there is nothing to tell,
// or no way to.
func (a *App) teller(run string, from int64) *notify.Notifier {
	all, kinds := a.notify.open(a.opts), notifyKinds(a.opts.Config)
	for _, c := range all {
		if c.Problem != "" {
			a.opts.Notice(fmt.Sprintf("notify %s: %s", c.Name, c.Problem))
		}
	}
	channels := usable(all)
	if len(kinds) == 0 || len(channels) == 0 {
		return nil
	}
	return notify.Start(notify.Options{
		Store: a.store, Channels: channels, Run: run, From: from, Kinds: kinds, Rules: notifyRules(a.opts.Config), Now: a.clock(), ID: newID(),
		Notice: a.opts.Notice, OfflineAfter: coordinator.OfflineAfter,
	})
}

// tellOf tells a person what happens in a run after an event, until the end is
// called. That waits for the last of it, but not for long, and not at all when ctx
// has ended.
func (a *App) tellOf(ctx context.Context, run string, from int64) (end func()) {
	t := a.teller(run, from)
	if t == nil {
		return func() {}
	}
	return func() { t.Finish(ctx, lastCall) }
}
