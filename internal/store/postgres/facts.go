package postgres

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// Facts describe a running server to an operator.
type Facts struct {
	Server, Vector string // versions of Postgres and of pgvector
	Role           string
	Skew           time.Duration // of the server's clock against this process'; above 0: it is ahead
	// Unsafe names the settings of the server with which a crash may lose or damage what was acknowledged: "fsync",
	// "full_page_writes". synchronous_commit is not one of them: connections set it.
	Unsafe []string
}

// Facts queries the server.
func (s *Store) Facts(ctx context.Context) (f Facts, err error) {
	err = s.reading(ctx, uuid.Nil, func(ctx context.Context, q *session) error {
		if _, err := q.get(ctx, "SELECT current_setting('server_version'), ("+vectorVersion+"), current_user::text", nil, &f.Server, &f.Vector, &f.Role); err != nil {
			return err
		}
		const unsafe = "SELECT coalesce(array_agg(name ORDER BY name), '{}') FROM pg_settings WHERE name IN ('fsync', 'full_page_writes') AND setting = 'off'"
		if _, err := q.get(ctx, unsafe, nil, &f.Unsafe); err != nil {
			return err
		}
		var at time.Time
		before := time.Now()
		_, err := q.get(ctx, "SELECT clock_timestamp()", nil, &at)
		f.Skew = at.Sub(before.Add(time.Since(before) / 2))
		return err
	})
	return f, err
}
