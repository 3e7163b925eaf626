package app_test

import (
	"strings"
	"testing"
	"time"

	"gaffer/internal/app"
)

func TestTheMorningNotificationNamesWhatNeedsTheUser(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	a := p.open()
	defer a.Close()
	began := time.Now().Add(-time.Minute)
	if title, text, ok, err := app.MorningNote(t.Context(), a, began, time.Now()); ok || err != nil {
		t.Errorf("before anything has happened: %q %q %v", title, text, err)
	}
	p.run(shell("a", "true"), shell("b", "exit 3"), shell("c", "true", "b"))
	title, text, ok, err := app.MorningNote(t.Context(), a, began, time.Now())
	if title != "Morning report: 1 failed, 1 complete without a change, 1 skipped" || !strings.Contains(text, "failed: ") || !strings.Contains(text, "/b: exit code 3") || !ok || err != nil {
		t.Errorf("the notification is %q\n%s\n%v", title, text, err)
	}
}
