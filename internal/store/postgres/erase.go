package postgres

import (
	"context"

	"github.com/google/uuid"
)

// EraseVersions implements store.NoteErasure.
func (q *session) EraseVersions(ctx context.Context, tenantID, layer uuid.UUID, notes, past []uuid.UUID) (int64, error) {
	const of = " = ANY($3::uuid[])"
	const ended = " AND to_rev < 9223372036854775807"
	q.later("DELETE FROM vectors WHERE tenant = $1 AND layer = $2 AND note"+of, tenantID, layer, notes)
	q.later("DELETE FROM links WHERE tenant = $1 AND layer = $2 AND source"+of, tenantID, layer, notes)
	q.later("DELETE FROM links WHERE tenant = $1 AND layer = $2 AND target"+of, tenantID, layer, notes)
	q.later("DELETE FROM links WHERE tenant = $1 AND layer = $2 AND source"+of+ended, tenantID, layer, past)
	q.later("DELETE FROM links WHERE tenant = $1 AND layer = $2 AND target"+of+ended, tenantID, layer, past)
	q.later("DELETE FROM usage WHERE tenant = $1 AND layer = $2 AND note"+of, tenantID, layer, notes)
	erased, err := q.exec(ctx, "DELETE FROM notes WHERE tenant = $1 AND layer = $2 AND id"+of, tenantID, layer, notes)
	if err != nil {
		return 0, err
	}
	q.later(`DELETE FROM vectors v USING notes n WHERE v.tenant = $1 AND v.layer = $2 AND v.note = ANY($3::uuid[])
 AND n.tenant = $1 AND n.layer = $2 AND n.id = v.note AND n.from_rev = v.from_rev AND n.to_rev < 9223372036854775807`, tenantID, layer, past)
	n, err := q.exec(ctx, "DELETE FROM notes WHERE tenant = $1 AND layer = $2 AND id"+of+ended, tenantID, layer, past)
	return erased + n, err
}

// named is the condition that a document has one of the ids $4.
func named(column string) string {
	return "EXISTS (SELECT FROM unnest($4::text[]) e WHERE strpos(" + column + "::text, e) > 0)"
}

// EraseJobs implements store.NoteErasure.
func (q *session) EraseJobs(ctx context.Context, tenantID, collection uuid.UUID, notes []uuid.UUID) (int64, error) {
	gone, err := q.exec(ctx, "DELETE FROM jobs WHERE tenant = $1 AND collection = $2 AND note = ANY($3::uuid[]) AND state NOT IN ('queued', 'running')", tenantID, collection, notes)
	if err != nil {
		return 0, err
	}
	cleared, err := q.exec(ctx, `UPDATE jobs SET result = NULL, error = '', payload = CASE WHEN state IN ('queued', 'running') THEN payload END
 WHERE tenant = $1 AND collection = $2 AND $3::int = 0 AND result IS NOT NULL AND `+named("result"), tenantID, collection, 0, idTexts(notes))
	return gone + cleared, err
}

// EraseReviews implements store.NoteErasure.
func (q *session) EraseReviews(ctx context.Context, tenantID, collection uuid.UUID, notes []uuid.UUID) (int64, error) {
	return q.exec(ctx, "DELETE FROM reviews WHERE tenant = $1 AND collection = $2 AND (trigger = ANY($3::uuid[]) OR "+named("changes")+")", tenantID, collection, notes, idTexts(notes))
}

// EraseProposals implements store.NoteErasure.
func (q *session) EraseProposals(ctx context.Context, tenantID uuid.UUID, from, notes []uuid.UUID) (int64, error) {
	return q.exec(ctx, "DELETE FROM reviews WHERE tenant = $1 AND $2::int = 0 AND changes #>> '{0,merge,collection}' = ANY($3::text[]) AND "+named("changes"),
		tenantID, 0, idTexts(from), idTexts(notes))
}

// RaiseEpoch implements store.NoteErasure.
func (q *session) RaiseEpoch(_ context.Context, tenantID, layer uuid.UUID) error {
	q.later("UPDATE collection_heads SET erase_epoch = erase_epoch + 1 WHERE tenant = $1 AND collection = $2", tenantID, layer)
	return nil
}

// ClearJobs implements store.NoteErasure.
func (q *session) ClearJobs(_ context.Context, tenantID, collection uuid.UUID, texts []string) error {
	q.later(`UPDATE jobs SET result = NULL WHERE tenant = $1 AND collection = $2 AND $3::int = 0 AND result IS NOT NULL AND state NOT IN ('queued', 'running')
 AND `+named("result"), tenantID, collection, 0, texts)
	return nil
}
