package postgres

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	// measureEvery is how often the database's clock is looked at; checkEvery how
	// often ours is, which may have been set or have slept, or when that failed.
	measureEvery = 5 * time.Second
	checkEvery   = time.Second
	// maxTrip is how long a look may take: what it says may be wrong by half of
	// that.
	maxTrip = time.Second
	// maxBack is by how much the database's clock may be set back without being
	// followed: so long this one stands still.
	maxBack = time.Minute
)

// clock is the database's clock as this process knows it: what it was at a moment,
// and how much time has passed since. All who share a database so share a clock.
type clock struct {
	ours func() time.Time // of this machine, with its monotonic reading
	// open returns how to ask for the database's, and what to do after that.
	open func(context.Context) (ask func() (time.Time, error), done func(), err error)

	mu     sync.Mutex
	theirs time.Time // at that moment
	moment time.Time // by ours
	last   time.Time // that was told

	cancel context.CancelFunc
	done   sync.WaitGroup
}

// Now is the time by the database's clock, up to half the time that it takes to ask
// for it. It does not go back, unless the database's clock was set back by more than
// a minute.
func (s *Store) Now() time.Time { return s.clock.now() }

// clockOf has a connection of its own, so that to wait for one is not taken for the
// way to the database.
func clockOf(pool *pgxpool.Pool) *clock {
	return &clock{ours: time.Now, open: func(ctx context.Context) (ask func() (time.Time, error), done func(), err error) {
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

// start looks at the database's clock for the first time, and then again and again
// until stop.
func (c *clock) start(ctx context.Context) error {
	if err := c.measure(ctx, 0); err != nil {
		return err
	}
	running, cancel := context.WithCancel(context.Background())
	c.cancel = cancel
	c.done.Go(func() { c.keep(running) })
	return nil
}

func (c *clock) stop() {
	if c.cancel != nil {
		c.cancel()
		c.done.Wait()
	}
}

func (c *clock) keep(ctx context.Context) {
	tick := time.NewTicker(checkEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if c.due() {
			within, cancel := context.WithTimeout(ctx, 2*maxTrip)
			_ = c.measure(within, maxTrip) // until the next time, what is known must do
			cancel()
		}
	}
}

func (c *clock) due() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.ours()
	return isDue(now.Round(0).Sub(c.moment.Round(0)), now.Sub(c.moment))
}

// isDue tells whether it is time to look, given how much time has passed by our
// wall clock and by our monotonic one: after a while, or if one of them has gone on
// without the other.
func isDue(wall, monotonic time.Duration) bool {
	return monotonic >= measureEvery || (wall-monotonic).Abs() > checkEvery
}

// measure takes in what the database's clock says. A look that took longer than
// that, if it is not zero, is passed over.
func (c *clock) measure(ctx context.Context, within time.Duration) error {
	ask, done, err := c.open(ctx)
	if err != nil {
		return err
	}
	defer done()
	before := c.ours()
	theirs, err := ask()
	if err != nil {
		return err
	}
	trip := c.ours().Sub(before)
	if within > 0 && trip > within {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.theirs, c.moment = theirs, before.Add(trip/2)
	return nil
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.theirs.Add(c.ours().Sub(c.moment))
	if back := c.last.Sub(now); back > 0 && back < maxBack {
		return c.last
	}
	c.last = now
	return now
}
