package app

import (
	"context"
	"fmt"
	"strings"
	"time"

	"gaffer/fleet"
	"gaffer/internal/ui/phrase"
	"gaffer/internal/ui/report"
)

// maxNoteTasks is the maximum number of tasks of one kind, such as failed tasks, that the
// notification with the morning report lists.
const maxNoteTasks = 5

// dailyReport returns the morning report on all projects as the title and text of a notification.
// The title is a summary. The text lists the cost, and the tasks that need the user. ok is false if
// there is nothing to report between the times since and until.
func (a *App) dailyReport(ctx context.Context, since, until time.Time) (title, text string, ok bool, err error) {
	r, err := a.query.Morning(ctx, fleet.MorningQuery{Since: since}, until)
	summary := report.MorningSummary(r)
	if err != nil || summary == "" {
		return "", "", false, err
	}
	var lines []string
	if r.Cost.USD != nil {
		lines = append(lines, "cost: "+phrase.Money(*r.Cost.USD))
	}
	for _, part := range []struct {
		word string
		list []fleet.MorningTask
	}{{"waits for you", r.Waiting}, {"failed", r.Failed}, {"to review", r.Review}} {
		for i, t := range part.list {
			if i == maxNoteTasks {
				lines = append(lines, fmt.Sprintf("and %d more: %s", len(part.list)-i, part.word))
				break
			}
			lines = append(lines, phrase.Line(phrase.Join(": ", part.word, fleet.ShortRun(t.Run)+"/"+t.Task, t.Why)))
		}
	}
	return "Morning report: " + summary, strings.Join(lines, "\n"), true, nil
}
