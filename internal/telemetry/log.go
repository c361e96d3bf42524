// Package telemetry makes the process visible: logs, metrics and traces.
package telemetry

import (
	"io"
	"log/slog"
)

// NewLogger returns the process's logger: text for people, JSON for machines.
func NewLogger(w io.Writer, level, format string) *slog.Logger {
	var least slog.Level
	if least.UnmarshalText([]byte(level)) != nil {
		least = slog.LevelInfo
	}
	options := &slog.HandlerOptions{Level: least}
	if format == "text" {
		return slog.New(slog.NewTextHandler(w, options))
	}
	return slog.New(slog.NewJSONHandler(w, options))
}
