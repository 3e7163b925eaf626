package server

import (
	"fmt"
	"io"
	"log/slog"

	"gaffer/internal/api/credential"
)

// NewLog returns a logger that writes JSON lines. It redacts tokens in messages, values
// and errors.
func NewLog(w io.Writer, level slog.Level) *slog.Logger {
	return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level, ReplaceAttr: redact}))
}

func redact(_ []string, a slog.Attr) slog.Attr {
	switch a.Value.Kind() {
	case slog.KindString:
		a.Value = slog.StringValue(credential.Redact(a.Value.String()))
	case slog.KindAny:
		switch v := a.Value.Any().(type) {
		case error:
			a.Value = slog.StringValue(credential.Redact(v.Error()))
		case *slog.Source, slog.Level:
		default:
			a.Value = slog.StringValue(credential.Redact(fmt.Sprint(v)))
		}
	}
	return a
}
