package page

import (
	"context"
	"log/slog"
)

// errorHandler is a log handler that passes errors to the function notice, as messages for the
// user. It drops all other log entries, because they would mix with the output of the command.
type errorHandler struct{ notice func(text string) }

// Enabled implements [slog.Handler].
func (f *errorHandler) Enabled(_ context.Context, level slog.Level) bool {
	return level >= slog.LevelError
}

// Handle implements [slog.Handler].
func (f *errorHandler) Handle(_ context.Context, r slog.Record) error {
	text := "dashboard: " + r.Message
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "error" || a.Key == "route" {
			text += ": " + a.Value.String()
		}
		return true
	})
	f.notice(text)
	return nil
}

// WithAttrs implements [slog.Handler].
func (f *errorHandler) WithAttrs([]slog.Attr) slog.Handler { return f }

// WithGroup implements [slog.Handler].
func (f *errorHandler) WithGroup(string) slog.Handler { return f }
