package postgres

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	// measureEvery is how often the database's clock is read.
	measureEvery = 5 * time.Second
	// checkEvery is how often the process checks whether it must read the database's clock again.
	// It must do so if measureEvery has passed since the last successful reading. It must also do
	// so if the local clock has jumped, because the user has set it or the machine was asleep.
	checkEvery = time.Second
	// maxRoundTrip is the longest round trip to the database that a measurement of its clock may
	// take. A measurement that takes longer is ignored, because its error is up to half of the
	// round trip. The first measurement has no limit.
	maxRoundTrip = time.Second
	// maxHiddenStep says how Now reacts if the database's clock is set back. If it is set back by
	// less than maxHiddenStep, Now returns the same time until the clock has caught up. If it is
	// set back by maxHiddenStep or more, Now goes back too.
	maxHiddenStep = time.Minute
)

// clock estimates the current time of the database's clock: the time that this clock showed at the
// last measurement, plus the time that has passed since then. So all processes that share a
// database use the same clock, even if their local clocks differ.
type clock struct {
	local func() time.Time // returns the local time, with a monotonic clock reading
	// open acquires a connection. It returns ask, which reads the database's clock on this
	// connection, and done, which releases the connection.
	open func(context.Context) (ask func() (time.Time, error), done func(), err error)

	mu         sync.Mutex
	database   time.Time // what the database's clock showed at measuredAt
	measuredAt time.Time // local time of the last measurement
	last       time.Time // the last result of the method now

	cancel context.CancelFunc
	done   sync.WaitGroup
}

// Now returns an estimate of the time of the database's clock. Normally the error is at most about
// half a round trip to the database. The returned time goes backwards only if the database's clock
// was set back by a minute or more.
func (s *Store) Now() time.Time { return s.clock.now() }

// clockOf returns a clock that reads the database's clock through a connection of the pool. The
// connection is acquired before a measurement starts, so that the wait for the connection is not
// part of the measured round trip.
func clockOf(pool *pgxpool.Pool) *clock {
	return &clock{local: time.Now, open: func(ctx context.Context) (ask func() (time.Time, error), done func(), err error) {
		conn, err := pool.Acquire(ctx)
		if err != nil {
			return nil, nil, err
		}
		return func() (theirs time.Time, err error) {
			err = conn.QueryRow(ctx, "SELECT clock_timestamp()").Scan(&theirs)
			return theirs, err
		}, conn.Release, nil
	}}
}

// start reads the database's clock once, and then regularly in the background until stop is called.
// It returns an error if the first read fails.
func (c *clock) start(ctx context.Context) error {
	if err := c.measure(ctx, 0); err != nil {
		return err
	}
	running, cancel := context.WithCancel(context.Background())
	c.cancel = cancel
	c.done.Go(func() { c.keepMeasuring(running) })
	return nil
}

func (c *clock) stop() {
	if c.cancel != nil {
		c.cancel()
		c.done.Wait()
	}
}

func (c *clock) keepMeasuring(ctx context.Context) {
	tick := time.NewTicker(checkEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if c.needsMeasurement() {
			within, cancel := context.WithTimeout(ctx, 2*maxRoundTrip)
			_ = c.measure(within, maxRoundTrip) // if this fails, the clock keeps using the last measurement
			cancel()
		}
	}
}

func (c *clock) needsMeasurement() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.local()
	return measurementDue(now.Round(0).Sub(c.measuredAt.Round(0)), now.Sub(c.measuredAt))
}

// measurementDue reports whether the database's clock must be read again, because measureEvery has
// passed or the local clock has jumped. The parameters wall and monotonic are the time since the
// last measurement, by the wall clock and by the monotonic clock. If they differ by more than
// checkEvery, the local clock has jumped.
func measurementDue(wall, monotonic time.Duration) bool {
	return monotonic >= measureEvery || (wall-monotonic).Abs() > checkEvery
}

// measure reads the database's clock. If the round trip takes longer than maxTrip, measure ignores
// the result and returns nil. A maxTrip of zero means no limit.
func (c *clock) measure(ctx context.Context, maxTrip time.Duration) error {
	ask, done, err := c.open(ctx)
	if err != nil {
		return err
	}
	defer done()
	before := c.local()
	theirs, err := ask()
	if err != nil {
		return err
	}
	trip := c.local().Sub(before)
	if maxTrip > 0 && trip > maxTrip {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.database, c.measuredAt = theirs, before.Add(trip/2)
	return nil
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.database.Add(c.local().Sub(c.measuredAt))
	if back := c.last.Sub(now); back > 0 && back < maxHiddenStep {
		return c.last
	}
	c.last = now
	return now
}
