package store

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestAnAnnouncedEventWakesWaitingReaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b EventSignal
		nothing := func(context.Context) (int64, error) { return 0, nil }
		done := make(chan error)
		for range 3 {
			go func() { done <- b.Wait(t.Context(), 4, time.Hour, nothing) }()
		}
		synctest.Wait()
		b.Announce(4) // not greater than 4, so the waiter stays blocked
		synctest.Wait()
		start := time.Now()
		b.Announce(5)
		for range 3 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		if waited := time.Since(start); waited > 0 {
			t.Errorf("woken after %s", waited)
		}
	})
}

func TestAWaitingReaderPollsRegularly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b EventSignal
		looks := int64(0)
		start := time.Now()
		err := b.Wait(t.Context(), 3, time.Second, func(context.Context) (int64, error) {
			looks++
			return looks, nil
		})
		if err != nil || looks != 4 || time.Since(start) != 3*time.Second {
			t.Errorf("%v after %d looks and %s", err, looks, time.Since(start))
		}
	})
}

func TestAPollThatFailsEndsTheWait(t *testing.T) {
	var b EventSignal
	bad := errors.New("bad")
	if err := b.Wait(t.Context(), 0, time.Hour, func(context.Context) (int64, error) { return 0, bad }); !errors.Is(err, bad) {
		t.Errorf("error is %v", err)
	}
}
