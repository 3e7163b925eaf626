package runs

import (
	"context"
	"time"

	"gaffer/fleet"
)

// searchTime is how long a search may take. After that time, it returns what it has found so far.
const searchTime = time.Second

// Search implements [server.Runs].
func (d *runReader) Search(ctx context.Context, text string, limit int) (fleet.Found, error) {
	ctx, cancel := context.WithTimeout(ctx, searchTime)
	defer cancel()
	return d.query.Search(ctx, text, limit)
}
