package runs

import (
	"context"
	"time"

	"gaffer/fleet"
)

// defaultSearchTime is the default of [Options.SearchTime].
const defaultSearchTime = time.Second

// Search implements [server.Runs].
func (d *runReader) Search(ctx context.Context, text string, limit int) (fleet.Found, error) {
	ctx, cancel := context.WithTimeout(ctx, d.searchTime)
	defer cancel()
	return d.query.Search(ctx, text, limit)
}
