package identity

import (
	"context"
	"sync"

	"atelier/internal/sqldb"
)

// seenKind says of what a last use is noted.
type seenKind int

const (
	seenSession seenKind = iota
	seenToken
	seenService
	seenKey
)

// sightings collects what was used since the last time it was written, so that a request never waits for that.
type sightings struct {
	mu   sync.Mutex
	used map[seenKind]map[string]bool
}

// maxSightings bounds the memory between two writes; what does not fit is noted when it is used the next time.
const maxSightings = 50_000

func (s *sightings) note(kind seenKind, id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.used == nil {
		s.used = map[seenKind]map[string]bool{}
	}
	if s.used[kind] == nil {
		s.used[kind] = map[string]bool{}
	}
	if len(s.used[kind]) < maxSightings {
		s.used[kind][id] = true
	}
}

func (s *sightings) take() map[seenKind]map[string]bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	used := s.used
	s.used = nil
	return used
}

// NoteKey notes that an API key was used.
func (i *Identity) NoteKey(keyID string) { i.seen.note(seenKey, keyID) }

// flushSeen writes when sessions, access tokens, service accounts and API keys were last used.
func (i *Identity) flushSeen(ctx context.Context) error {
	used := i.seen.take()
	now := sqldb.Millis(i.deps.Clock.Now())
	for id := range used[seenKey] {
		if err := i.deps.TouchKey(ctx, id); err != nil {
			return err
		}
	}
	for kind, statement := range map[seenKind]string{
		seenSession: `UPDATE gw_sessions SET seen_at = $1 WHERE id = $2`,
		seenToken:   `UPDATE gw_access_tokens SET used_at = $1 WHERE id = $2`,
		seenService: `UPDATE gw_service_accounts SET used_at = $1 WHERE user_id = $2`,
	} {
		if len(used[kind]) == 0 {
			continue
		}
		err := i.deps.DB.Tx(ctx, func(tx *sqldb.Tx) error {
			for id := range used[kind] {
				if _, err := tx.Exec(ctx, statement, now, id); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
