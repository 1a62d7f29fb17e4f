package postgres

import (
	"context"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/store"
)

func (q *session) tools(ctx context.Context, rest string, args ...any) ([]memory.OwnTool, error) {
	return collect(ctx, q, "SELECT "+store.ToolColumns+" FROM tools t "+rest, args, store.ScanTool)
}

// ToolByID implements store.ToolRows.
func (q *session) ToolByID(ctx context.Context, tenantID, id uuid.UUID) (memory.OwnTool, bool, error) {
	return first(q.tools(ctx, "WHERE t.tenant = $1 AND t.id = $2", tenantID, id))
}

// ToolByName implements store.ToolRows.
func (q *session) ToolByName(ctx context.Context, tenantID uuid.UUID, name string) (memory.OwnTool, bool, error) {
	return first(q.tools(ctx, "WHERE t.tenant = $1 AND t.name = $2", tenantID, store.Clean(name)))
}

// ToolsAfter implements store.ToolRows.
func (q *session) ToolsAfter(ctx context.Context, tenantID uuid.UUID, name string, n int) ([]memory.OwnTool, error) {
	return q.tools(ctx, "WHERE t.tenant = $1 AND t.name > $2 ORDER BY t.name LIMIT $3", tenantID, store.Clean(name), limit(n))
}

// ToolsOf implements store.ToolRows.
func (q *session) ToolsOf(ctx context.Context, tenantID, collection uuid.UUID) ([]memory.OwnTool, error) {
	return q.tools(ctx, "JOIN attachments a ON a.tenant = t.tenant AND a.block = t.id WHERE a.tenant = $1 AND a.collection = $2 AND a.mode = 'tool' ORDER BY t.name", tenantID, collection)
}

// InsertTool implements store.ToolRows.
func (q *session) InsertTool(ctx context.Context, tenantID uuid.UUID, t memory.OwnTool, spec string) error {
	_, err := q.exec(ctx, "INSERT INTO tools (tenant, id, name, spec, created_at, updated_at) VALUES ($1, $2, $3, $4, $5, $6)",
		tenantID, t.ID, t.Name, spec, t.CreatedAt, t.UpdatedAt)
	if isUniqueViolation(err, "tools_name") {
		err = store.ToolTaken(t.Name)
	}
	return err
}

// UpdateTool implements store.ToolRows.
func (q *session) UpdateTool(ctx context.Context, tenantID uuid.UUID, t memory.OwnTool, spec string) error {
	_, err := q.exec(ctx, "UPDATE tools SET spec = $3, updated_at = $4 WHERE tenant = $1 AND id = $2", tenantID, t.ID, spec, t.UpdatedAt)
	return err
}

// DeleteTool implements store.ToolRows.
func (q *session) DeleteTool(_ context.Context, tenantID, id uuid.UUID) error {
	q.later("DELETE FROM attachments WHERE tenant = $1 AND block = $2", tenantID, id)
	q.later("DELETE FROM tools WHERE tenant = $1 AND id = $2", tenantID, id)
	return nil
}
