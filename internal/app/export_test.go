package app

import "context"

// Owe exposes owe to tests.
func (a *App) Owe(ctx context.Context, run string) error { return a.owe(ctx, run, "") }
