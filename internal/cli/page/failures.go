package page

import (
	"context"
	"log/slog"
)

// failures is a log handler that passes on only errors, because they are printed
// between the lines of a run.
type failures struct{ tell func(text string) }

// Enabled implements [slog.Handler].
func (f *failures) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelError }

// Handle implements [slog.Handler].
func (f *failures) Handle(_ context.Context, r slog.Record) error {
	text := "dashboard: " + r.Message
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "error" || a.Key == "route" {
			text += ": " + a.Value.String()
		}
		return true
	})
	f.tell(text)
	return nil
}

// WithAttrs implements [slog.Handler].
func (f *failures) WithAttrs([]slog.Attr) slog.Handler { return f }

// WithGroup implements [slog.Handler].
func (f *failures) WithGroup(string) slog.Handler { return f }
