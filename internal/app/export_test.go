package app

import "context"

// Owe notes that the documents of a run are owed.
func (a *App) Owe(ctx context.Context, run string) error { return a.owe(ctx, run, "") }
