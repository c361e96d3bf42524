package natsbus

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/nats-io/nats.go/jetstream"
)

// Check connects and asks the cluster for its JetStream, without making or changing anything.
func Check(ctx context.Context, cfg Config, log *slog.Logger) error {
	if _, err := cfg.stream(); err != nil {
		return err
	}
	conn, err := cfg.dial(log, nil)
	if err != nil {
		return err
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		return err
	}
	if _, err := js.AccountInfo(ctx); err != nil {
		return fmt.Errorf("ask for JetStream: %w", err)
	}
	return nil
}
