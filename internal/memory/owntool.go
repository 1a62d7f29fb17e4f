package memory

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/tenant"
)

// OwnTool is a tool that the caller of an agent runs: a run that calls it waits for the result. It belongs to no agent;
// collections show it by an attachment in mode AttachTool.
type OwnTool struct {
	ID        uuid.UUID
	Name      string // by which models call it; unique in the tenant, and never changed
	Spec      OwnToolSpec
	CreatedAt time.Time
	UpdatedAt time.Time
}

// OwnToolSpec says what a tool does. It is stored as JSON.
type OwnToolSpec struct {
	Description string          `json:"description"` // for models
	Parameters  json.RawMessage `json:"parameters"`  // JSON schema of an object
}

// OwnToolStore stores tools of tenants. They are of the tenant, not of an agent: who may change them is a matter of
// permissions.
type OwnToolStore interface {
	// CreateOwnTool stores a tool; a zero ID makes a new one. Exists when the name is taken.
	CreateOwnTool(ctx context.Context, s tenant.Scope, t OwnTool, audit AuditEntry) (OwnTool, error)
	// OwnTool finds a tool by id or name; NotFound.
	OwnTool(ctx context.Context, s tenant.Scope, ref string) (OwnTool, error)
	// ListOwnTools returns a page ordered by name, starting after the given name. Limit 0: all.
	ListOwnTools(ctx context.Context, s tenant.Scope, after string, limit int) ([]OwnTool, error)
	// UpdateOwnTool reads a tool, calls fn to modify its Spec, and writes it. fn may run more than once.
	UpdateOwnTool(ctx context.Context, s tenant.Scope, id uuid.UUID, audit AuditEntry, fn func(*OwnTool) error) (OwnTool, error)
	// DeleteOwnTool deletes a tool. Conflict while collections show it, with those that the scope reaches.
	DeleteOwnTool(ctx context.Context, s tenant.Scope, id uuid.UUID, audit AuditEntry) error
	// AttachedOwnTools returns the tools that a collection shows, by name.
	AttachedOwnTools(ctx context.Context, s tenant.Scope, collection uuid.UUID) ([]OwnTool, error)
	// AttachOwnTool shows a tool in a collection. Showing it twice changes nothing. NotFound for a tool or collection
	// that the scope does not reach.
	AttachOwnTool(ctx context.Context, s tenant.Scope, collection, tool uuid.UUID, audit AuditEntry) error
	// DetachOwnTool ends what AttachOwnTool began; NotFound when the collection does not show the tool.
	DetachOwnTool(ctx context.Context, s tenant.Scope, collection, tool uuid.UUID, audit AuditEntry) error
}
