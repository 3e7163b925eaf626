package runner

import (
	"testing"
	"time"
)

func TestThoseWhoWaitForLongWakeUpTogetherAndNotLater(t *testing.T) {
	base := time.Date(2026, 2, 1, 12, 0, 0, 0, time.UTC)
	for after := time.Duration(0); after < 2*late; after += 7 * time.Millisecond {
		now := base.Add(after)
		wait := together(now, late)
		if wait <= 0 || wait > late || now.Add(wait).UnixNano()%int64(late) != 0 {
			t.Errorf("%s after: %s", after, wait)
		}
	}
	if got := together(base, soon); got != soon {
		t.Errorf("a short wait is %s", got)
	}
}
