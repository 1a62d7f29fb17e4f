package sqlite

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
	return first(q.tools(ctx, "WHERE t.tenant = ? AND t.id = ?", tenantID, id))
}

// ToolByName implements store.ToolRows.
func (q *session) ToolByName(ctx context.Context, tenantID uuid.UUID, name string) (memory.OwnTool, bool, error) {
	return first(q.tools(ctx, "WHERE t.tenant = ? AND t.name = ?", tenantID, name))
}

// ToolsAfter implements store.ToolRows.
func (q *session) ToolsAfter(ctx context.Context, tenantID uuid.UUID, name string, n int) ([]memory.OwnTool, error) {
	return q.tools(ctx, "WHERE t.tenant = ? AND t.name > ? ORDER BY t.name LIMIT +?", tenantID, name, limit(n))
}

// ToolsOf implements store.ToolRows.
func (q *session) ToolsOf(ctx context.Context, tenantID, collection uuid.UUID) ([]memory.OwnTool, error) {
	return q.tools(ctx, "JOIN attachments a ON a.tenant = t.tenant AND a.block = t.id WHERE a.tenant = ? AND a.collection = ? AND a.mode = 'tool' ORDER BY t.name", tenantID, collection)
}

// InsertTool implements store.ToolRows.
func (q *session) InsertTool(ctx context.Context, tenantID uuid.UUID, t memory.OwnTool, spec string) error {
	_, taken, err := q.ToolByName(ctx, tenantID, t.Name)
	if err != nil {
		return err
	}
	if taken {
		return store.ToolTaken(t.Name)
	}
	_, err = q.exec(ctx, "INSERT INTO tools (tenant, id, name, spec, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?)",
		tenantID, t.ID, t.Name, spec, t.CreatedAt, t.UpdatedAt)
	return err
}

// UpdateTool implements store.ToolRows.
func (q *session) UpdateTool(ctx context.Context, tenantID uuid.UUID, t memory.OwnTool, spec string) error {
	_, err := q.exec(ctx, "UPDATE tools SET spec = ?, updated_at = ? WHERE tenant = ? AND id = ?", spec, t.UpdatedAt, tenantID, t.ID)
	return err
}

// DeleteTool implements store.ToolRows.
func (q *session) DeleteTool(ctx context.Context, tenantID, id uuid.UUID) error {
	if _, err := q.exec(ctx, "DELETE FROM attachments WHERE tenant = ? AND block = ?", tenantID, id); err != nil {
		return err
	}
	_, err := q.exec(ctx, "DELETE FROM tools WHERE tenant = ? AND id = ?", tenantID, id)
	return err
}
