package natsbus

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// stream is where the events of the installation live in the broker.
type stream struct {
	name     string
	prefix   string
	replicas int
}

// retention bounds the stream: what is older is read from the table.
const retention = 7 * 24 * time.Hour

func (s stream) subject(partition int) string { return s.prefix + strconv.Itoa(partition) }

// ensure creates the stream when it is missing and refuses one that keeps events less safely than configured. Whether
// the servers sync each message to disk (sync_interval: always) cannot be seen from here.
func (s stream) ensure(ctx context.Context, js jetstream.JetStream) error {
	found, err := js.Stream(ctx, s.name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		found, err = s.create(ctx, js)
	}
	if err != nil {
		return fmt.Errorf("stream %s: %w", s.name, err)
	}
	cfg := found.CachedInfo().Config
	switch {
	case cfg.Storage != jetstream.FileStorage:
		return fmt.Errorf("stream %s is kept in memory; file storage is needed", s.name)
	case cfg.Replicas < s.replicas:
		return fmt.Errorf("stream %s has %d replicas; %d are configured", s.name, cfg.Replicas, s.replicas)
	case !slices.Contains(cfg.Subjects, s.prefix+"*"):
		return fmt.Errorf("stream %s does not hold the subjects %s*", s.name, s.prefix)
	}
	return nil
}

func (s stream) create(ctx context.Context, js jetstream.JetStream) (jetstream.Stream, error) {
	created, err := js.CreateStream(ctx, jetstream.StreamConfig{
		Name:        s.name,
		Description: "Atelier's events; a copy of the table bus_events, which decides",
		Subjects:    []string{s.prefix + "*"},
		Storage:     jetstream.FileStorage,
		Replicas:    s.replicas,
		MaxAge:      retention,
		DenyDelete:  true,
	})
	if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) { // another instance was first
		return js.Stream(ctx, s.name)
	}
	return created, err
}
