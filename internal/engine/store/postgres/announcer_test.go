package postgres

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestWhatIsNewIsToldAtOnceAndThenNotTooOften(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said atomic.Int32
		h := &announcer{say: func() { said.Add(1) }}
		if !h.now() {
			t.Error("the first is not told with its session")
		}
		for range 100 {
			if h.now() {
				t.Error("one that follows at once is told with its session")
			}
		}
		time.Sleep(2 * sayEvery)
		synctest.Wait()
		if said.Load() != 1 {
			t.Errorf("told %d times, want once for all that followed", said.Load())
		}
		if !h.now() || h.now() {
			t.Error("after a while the next is told with its session, and one only")
		}
		h.stop()
		if said.Load() != 2 || h.now() {
			t.Errorf("told %d times: what was still to be said when it was stopped is missing", said.Load())
		}
	})
}
