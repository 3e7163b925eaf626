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

// lastCall is how long a run that has ended waits for its last notifications. The next
// gaffer sends those that are still unsent.
const lastCall = 3 * time.Second

// notifying holds the notification channels of a process. They are created at first
// use.
type notifying struct {
	once     sync.Once
	channels []NotifyChannel
}

// open creates the channels once. It then removes the webhook's signing secret from the
// environment, because agents would inherit it.
func (n *notifying) open(opts Options) []NotifyChannel {
	n.once.Do(func() {
		n.channels = notifyChannels(opts)
		_ = os.Unsetenv(secretEnv) // a valid name can always be unset
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

// startNotifier starts a notifier for a run, or for all runs if run is empty. It begins after
// event from, or with new events if from is zero. It returns nil if no kinds of events
// or no channels are configured.
func (a *App) startNotifier(run string, from int64) *notify.Notifier {
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

// notifyAbout sends notifications about a run's events after from, until end is called. end
// waits up to lastCall for the last ones, and not at all if ctx has ended.
func (a *App) notifyAbout(ctx context.Context, run string, from int64) (end func()) {
	t := a.startNotifier(run, from)
	if t == nil {
		return func() {}
	}
	return func() { t.Finish(ctx, lastCall) }
}
