package access

import (
	"context"
	"database/sql"
	"slices"
	"time"

	"atelier/internal/errs"
	"atelier/internal/sqldb"
)

// MaxTopics is how many topics of a workspace somebody can be in: each event that is read is compared with all of them.
const MaxTopics = 1000

// CreateTopic makes a topic of a workspace, and tells whether it is new.
func CreateTopic(ctx context.Context, tx *sqldb.Tx, workspaceID, topic string, now time.Time) (bool, error) {
	n, err := tx.Exec(ctx, `INSERT INTO access_topics (workspace_id, topic, created_at) VALUES ($1, $2, $3) ON CONFLICT (workspace_id, topic) DO NOTHING`,
		workspaceID, topic, sqldb.Millis(now))
	return n > 0, err
}

// HasTopic tells whether a workspace has a topic.
func HasTopic(ctx context.Context, r sqldb.Reader, workspaceID, topic string) (bool, error) {
	var one int
	err := r.QueryRow(ctx, `SELECT 1 FROM access_topics WHERE workspace_id = $1 AND topic = $2`, workspaceID, topic).Scan(&one)
	if sqldb.IsNotFound(err) {
		return false, nil
	}
	return err == nil, err
}

// JoinTopic lets somebody into a topic that exists, and tells whether that is new; quota_exceeded when they are in too many.
func JoinTopic(ctx context.Context, tx *sqldb.Tx, workspaceID, topic, userID string, now time.Time) (bool, error) {
	n, err := tx.Exec(ctx, `INSERT INTO access_topic_members (workspace_id, user_id, topic, joined_at) VALUES ($1, $2, $3, $4)
		ON CONFLICT (workspace_id, user_id, topic) DO NOTHING`, workspaceID, userID, topic, sqldb.Millis(now))
	if err != nil || n == 0 {
		return false, err
	}
	joined, err := Topics(ctx, tx, workspaceID, userID)
	if err == nil && len(joined) > MaxTopics {
		err = errs.Newf(errs.QuotaExceeded, "Somebody can be in %d topics of a workspace at most.", MaxTopics)
	}
	return true, err
}

// Topics lists the topics of a workspace that somebody is in.
func Topics(ctx context.Context, r sqldb.Reader, workspaceID, userID string) ([]string, error) {
	return sqldb.All(ctx, r, func(rows *sql.Rows) (topic string, err error) {
		err = rows.Scan(&topic)
		return topic, err
	}, `SELECT topic FROM access_topic_members WHERE workspace_id = $1 AND user_id = $2`, workspaceID, userID)
}

// WithTopic is the ability of somebody who has just joined a topic.
func (a *Ability) WithTopic(topic string) *Ability {
	if slices.Contains(a.topics, topic) {
		return a
	}
	more := *a
	more.topics = append(slices.Clone(a.topics), topic)
	more.granted = make(map[string][]*rule, len(a.granted)+1)
	for subject, rules := range a.granted {
		more.granted[subject] = slices.DeleteFunc(slices.Clone(rules), ofTopics)
	}
	if a.doc != nil {
		more.bind()
	}
	more.readTopics()
	return &more
}

// readTopics lets the caller read the events that are meant for the topics that it is in.
func (a *Ability) readTopics() {
	if len(a.topics) == 0 {
		return
	}
	list := make([]scalar, 0, len(a.topics))
	for _, topic := range a.topics {
		list = append(list, scalar{kind: isText, text: topic})
	}
	a.readEvents(topicPath, map[string]any{"$in": a.topics}, test{op: opIn, list: list})
}

// topicPath is where an event says which topic it is meant for.
const topicPath = "target.userTopic"

// ofTopics tells whether a rule is the one that readTopics makes.
func ofTopics(r *rule) bool {
	_, ok := r.written[topicPath]
	return ok && r.ref.Source == FromGrant
}
