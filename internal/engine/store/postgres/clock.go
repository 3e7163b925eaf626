package postgres

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	// measureEvery is how often the database's clock is read. checkEvery is how often the
	// local clock is checked for steps, because the user may have set it or the machine may
	// have slept. checkEvery is also the retry interval after a failed measurement.
	measureEvery = 5 * time.Second
	checkEvery   = time.Second
	// maxRoundTrip is the longest round trip of a valid measurement. The error of a
	// measurement is at most half of its round trip.
	maxRoundTrip = time.Second
	// If the database's clock steps back by less than maxHiddenStep, this clock stands still
	// instead. It follows larger steps.
	maxHiddenStep = time.Minute
)

// clock estimates the time of the database's clock: the last measured time plus the time
// that has passed since. So all processes that share a database use the same clock.
type clock struct {
	local func() time.Time // reads the local clock, with its monotonic reading
	// open acquires a connection. It returns a function that reads the database's
	// clock, and one that releases the connection.
	open func(context.Context) (ask func() (time.Time, error), done func(), err error)

	mu         sync.Mutex
	database   time.Time // time of the database's clock at measuredAt
	measuredAt time.Time // time of the last measurement, by the local clock
	last       time.Time // the last result of now

	cancel context.CancelFunc
	done   sync.WaitGroup
}

// Now returns the time of the database's clock, with an error of at most half a round
// trip. It does not go backwards, unless the database's clock was set back by a minute
// or more.
func (s *Store) Now() time.Time { return s.clock.now() }

// clockOf returns a clock that reads the database's clock on a connection of the pool. The
// connection is acquired before the measurement, so that waiting for it does not count as
// part of the round trip.
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

// start reads the database's clock once, and then keeps measuring it in the background
// until stop is called.
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
			_ = c.measure(within, maxRoundTrip) // if it fails, the last measurement stays in use
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

// measurementDue reports whether a new measurement is needed: after measureEvery, or if
// the clock has stepped. The parameters are the time since the last measurement by the
// wall clock and by the monotonic clock.
func measurementDue(wall, monotonic time.Duration) bool {
	return monotonic >= measureEvery || (wall-monotonic).Abs() > checkEvery
}

// measure reads the database's clock. If within is not zero, a measurement with a
// longer round trip is discarded.
func (c *clock) measure(ctx context.Context, within time.Duration) error {
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
	if within > 0 && trip > within {
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
