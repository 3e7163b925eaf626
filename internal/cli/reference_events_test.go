package cli

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gaffer/internal/config"
)

// streamTypes describes the types of changes on the stream GET /v1/stream.
var streamTypes = map[string]string{
	"agents":    "a worker, or an agent that was started by hand, has changed",
	"channels":  "a channel or a chain is new or has changed",
	"inputs":    "an input for an agent was sent or taken",
	"events":    "a client has reported an event",
	"lanes":     "an account of an agent program is paused, or open again",
	"runs":      "a run has changed, with the numbers of its tasks",
	"tasks":     "a task has another status",
	"attempts":  "an agent has started, waits for the user, works again, or is to stop",
	"questions": "a question was asked, answered or closed",
	"reviews":   "the review of a change has changed",
	"messages":  "a message to an agent was sent, delivered or withdrawn",
	"seen":      "when agents were last seen; only with `?seen=1`",
}

// storedKinds describes the kinds of events in the database.
var storedKinds = map[string]string{
	"run.queued":    "the run waits to start",
	"run.running":   "the run has started",
	"run.complete":  "all tasks of the run are complete",
	"run.failed":    "the run has ended, and a task has failed",
	"run.cancelled": "the user has cancelled the run",
	"run.stopping":  "no more tasks of the run start",
	"run.resumed":   "the run continues after it had ended or was interrupted",
	"run.budget":    "the user has changed the budget of the run",

	"task.queued":    "the task is in a run and waits, also before a retry",
	"task.running":   "a worker has taken the task",
	"task.complete":  "the task is complete",
	"task.failed":    "the task has failed and is not retried",
	"task.cancelled": "the task was cancelled",
	"task.ready":     "the task may start",
	"task.waiting":   "the task may not start any more",
	"task.blocked":   "the task waits for one more task",
	"task.unblocked": "the task waits for one task less",
	"task.due":       "the time before which the task could not start has passed",

	"attempt.started":   "the agent of the attempt has started",
	"attempt.waiting":   "the agent waits for the user",
	"attempt.working":   "the agent works again",
	"attempt.stopping":  "the agent is to stop",
	"attempt.compacted": "the agent has shortened its conversation",

	"question.asked":    "an agent asks the user",
	"question.answered": "the question is answered",
	"question.closed":   "the agent does not wait for the answer any more",

	"review.open":      "the change is to be reviewed",
	"review.commented": "the review has comments that the agent does not have yet",
	"review.sent_back": "the agent works on the comments",
	"review.approved":  "the user has approved the change",
	"review.merged":    "the change is merged",
	"review.discarded": "the user has discarded the change",
	"review.changed":   "something else in the review has changed",

	"message.sent":      "a message to an agent waits",
	"message.delivered": "the agent has the message",
	"message.withdrawn": "the message was taken back",

	"grant.made":    "an answer to a request for permission holds for later requests",
	"grant.removed": "such an answer holds no longer",

	"lane.paused":   "an account of an agent program is paused",
	"lane.open":     "the account is used again",
	"lane.accounts": "the accounts that workers may use have changed",

	"budget.warning": "most of a budget is spent",
	"budget.spent":   "your limit of a day or a month is reached",

	"worker.changed": "a worker is new, or its status has changed",

	"schedule.waiting":  "a planned run waits for the end of an earlier one",
	"schedule.starting": "a planned run is being started",
	"schedule.started":  "a planned run has started",
	"schedule.failed":   "a planned run could not be started",
	"schedule.skipped":  "a planned run was left out by a rule",

	"channel.added": "a channel is new",
	"chain.added":   "a chain is new",
	"chain.changed": "a chain has another status",
	"input.added":   "an input for an agent was sent",
	"input.claimed": "an agent has taken an input",
	"note.added":    "a client has reported an event",

	"token.made":    "an access token is new",
	"token.revoked": "an access token is revoked",
	"store.pruned":  "old data was deleted",
}

var storedKind = regexp.MustCompile(`^(run|task|attempt|question|review|message|lane|budget|grant|worker|channel|chain|input|note|token|schedule|store)\.[a-z_]+$`)

// notKinds are texts in the code that look like the kind of an event and are none.
var notKinds = []string{
	"task.prompt",            // the type of a client's own event
	"review.md", "worker.md", // pages
	"channel.name", "worker.host", "worker.id", "worker.name", "worker.programs", "worker.slots", "worker.version", // fields in messages of errors
}

func TestTheReferenceHasEveryEvent(t *testing.T) {
	var b strings.Builder
	b.WriteString("# Events\n\nWhat gaffer reports about changes, and where. This page is generated from the program.\n")

	b.WriteString("\n## Notifications\n\nThe `kind` of a [notification](../notifications.md). The setting `notify.events` chooses among the first five.\n\n| kind | sent when |\n| --- | --- |\n")
	writeConstants(t, &b, constants(t, "../record/notify/notify.go", "Kind"))

	b.WriteString("\n## The coordinator's stream\n\nThe `type` of a change on `GET /v1/stream` ([protocol](../protocols/coordinator.md)).\n\n| type | sent when |\n| --- | --- |\n")
	types := append(mapValues(t, "../api/protocol/updates.go", "types"), mapValues(t, "../api/protocol/runupdates.go", "runTypes")...)
	writeTexts(t, &b, append(types, "seen"), streamTypes)

	b.WriteString("\n## The viewer's messages\n\nThe `type` of a message on `GET /ws` and `GET /api/stream` ([viewer](../protocols/viewer.md)). The socket also sends `error` when it cannot do what a client asked.\n\n| type | sent when |\n| --- | --- |\n")
	writeConstants(t, &b, constants(t, "../api/viewers/message.go", ""))

	b.WriteString("\n## The activity feed\n\nThe kinds of events in the feed of a [workflow](../protocols/workflow.md), which `gaffer emit` adds. Events of other kinds are kept and shown as they are.\n\n| kind | means |\n| --- | --- |\n")
	var feed []constant
	for _, c := range constants(t, "../../workflow/event.go", "") {
		if strings.Contains(c.value, "-") { // the other constants of this file are results and modes of checks
			feed = append(feed, c)
		}
	}
	writeConstants(t, &b, feed)

	b.WriteString("\n## The database\n\nThe `kind` of an event in the [database](../schema.md), in the view `events`.\n\n| kind | means |\n| --- | --- |\n")
	var stored []string
	settings := config.Names()
	for text := range textsInCode(t, storedKind) {
		if !slices.Contains(settings, text) && !slices.Contains(notKinds, text) {
			stored = append(stored, text)
		}
	}
	for prefix, statuses := range map[string][]constant{
		"run.": constants(t, "../engine/store/rows.go", "Status"), "task.": constants(t, "../engine/store/rows.go", "Status"),
		"review.": constants(t, "../../fleet/review.go", "ReviewState"), "schedule.": constants(t, "../../fleet/schedule.go", "FireStatus"),
	} {
		for _, s := range statuses {
			stored = append(stored, prefix+s.value)
		}
	}
	writeTexts(t, &b, stored, storedKinds)
	checkPage(t, "events.md", b.String())
}

func writeConstants(t *testing.T, b *strings.Builder, list []constant) {
	for _, c := range list {
		if c.comment == "" {
			t.Errorf("the event %s has no text: write it behind the constant %s", c.value, c.name)
		}
		fmt.Fprintf(b, "| %s | %s |\n", code(c.value), cell(c.comment))
	}
}

// writeTexts writes a row for each name, sorted by subject, with the text of the table. Each name
// needs a text, and each text a name.
func writeTexts(t *testing.T, b *strings.Builder, names []string, texts map[string]string) {
	slices.Sort(names)
	names = slices.Compact(names)
	for _, name := range names {
		if texts[name] == "" {
			t.Errorf("the event %s has no text in this file", name)
		}
		fmt.Fprintf(b, "| %s | %s |\n", code(name), texts[name])
	}
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		if !slices.Contains(names, name) {
			t.Errorf("no code makes the event %s, which has a text in this file", name)
		}
	}
}
