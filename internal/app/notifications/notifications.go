// Package notifications creates the notification channels that the settings configure, and sends
// notifications about runs over these channels.
package notifications

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"gaffer/coordinator"
	"gaffer/internal/config"
	"gaffer/internal/engine/store"
	"gaffer/internal/record/notify"
)

// finishWithin is how long a process waits, after its run has ended, until its last notifications
// are sent. A later gaffer process sends those that are still unsent.
const finishWithin = 3 * time.Second

// Settings are the settings and the environment of the notification channels.
type Settings struct {
	Config *config.Config
	Getenv func(string) string
	Now    func() time.Time
}

// Options are the settings and dependencies of a [Notifications].
type Options struct {
	Settings
	Store  store.Store
	Clock  func() time.Time // current time according to the store
	NewID  func() string
	Notice func(text string) // prints a message for the user
	// Report returns the morning report for a period, see [notify.DailyReport].
	Report func(ctx context.Context, since, until time.Time) (title, text string, ok bool, err error)
}

// Notifications sends notifications about the runs in a store.
type Notifications struct {
	opts Options
	// channels creates the channels at its first call. It also removes the webhook's secret from
	// the environment, because agents would inherit it.
	channels func() []Channel
}

// New returns a Notifications with these options.
func New(opts Options) *Notifications {
	return &Notifications{opts, sync.OnceValue(func() []Channel {
		list := channelsOf(opts.Settings)
		_ = os.Unsetenv(secretEnv) // ignore the error: a valid name can always be unset
		return list
	})}
}

func kindsOf(c *config.Config) (kinds []notify.Kind) {
	for _, k := range c.List("notify.events") {
		kinds = append(kinds, notify.Kind(k))
	}
	return kinds
}

func rulesOf(c *config.Config) notify.Rules {
	from, to := c.Hours("notify.quiet")
	return notify.Rules{
		Quiet: notify.QuietHours{From: from, To: to, Zone: time.Local}, Burst: c.Number("notify.burst"),
		HoldQuestions: c.Choice("notify.quiet_questions") == "true",
	}
}

// Start starts a notifier, which sends notifications about the events of one run, or of all runs if
// run is empty. The notifier continues after the last event that an earlier notifier has read. If
// there was no earlier notifier, it begins after the event with the sequence number cursor, or with
// new events if cursor is zero. Only a notifier for all runs sends the morning report. Start
// returns nil if no channel can be used, or if the notifier would have nothing to send.
func (n *Notifications) Start(run string, cursor int64) *notify.Notifier {
	all, kinds := n.channels(), kindsOf(n.opts.Config)
	for _, c := range all {
		if c.Problem != "" {
			n.opts.Notice(fmt.Sprintf("notify %s: %s", c.Name, c.Problem))
		}
	}
	channels := usable(all)
	var daily *notify.DailyReport
	if minute, set := n.opts.Config.Clock("notify.report"); set && run == "" && n.opts.Report != nil {
		daily = &notify.DailyReport{Minute: minute, Zone: time.Local, Make: n.opts.Report}
	}
	if len(kinds) == 0 && daily == nil || len(channels) == 0 {
		return nil
	}
	return notify.Start(notify.Options{
		Store: n.opts.Store, Channels: channels, Run: run, From: cursor, Kinds: kinds, Rules: rulesOf(n.opts.Config), Now: n.opts.Clock, ID: n.opts.NewID(),
		Notice: n.opts.Notice, Daily: daily, OfflineAfter: coordinator.OfflineAfter,
	})
}

// StartRun sends notifications about a run's events until stop is called. cursor is the sequence
// number of the event after which it begins; see [Notifications.Start] for the exact rule. stop
// waits up to finishWithin until the last notifications are sent. It does not wait if ctx has
// ended.
func (n *Notifications) StartRun(ctx context.Context, run string, cursor int64) (stop func()) {
	notifier := n.Start(run, cursor)
	if notifier == nil {
		return func() {}
	}
	return func() { notifier.Finish(ctx, finishWithin) }
}
