package memory

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/tenant"
)

// HTTPTool is a tool of a tenant's own: a service that agents call over HTTP. It belongs to no agent; collections
// show it by an attachment in mode AttachTool. Its secrets are encrypted, and no store can read them.
type HTTPTool struct {
	ID        uuid.UUID
	Name      string // by which models call it; unique in the tenant, and never changed
	Spec      HTTPToolSpec
	Secrets   []byte // encrypted values of Spec.Secrets; empty: none
	CreatedAt time.Time
	UpdatedAt time.Time
}

// HTTPToolSpec says what a tool does and where. It is stored as JSON.
type HTTPToolSpec struct {
	Description string            `json:"description"`       // for models
	Parameters  json.RawMessage   `json:"parameters"`        // JSON schema of an object
	URL         string            `json:"url"`               // http or https, without user and fragment
	Method      string            `json:"method"`            // GET and DELETE send the arguments in the query, others as a JSON body
	Headers     map[string]string `json:"headers,omitempty"` // values name secrets as {{name}}
	Secrets     []string          `json:"secrets,omitempty"` // the names of those that have a value, sorted
	TimeoutMS   int               `json:"timeout_ms"`        // of a whole call
	MaxBytes    int               `json:"max_bytes"`         // of an answer, without compression
	Approval    ToolApproval      `json:"approval"`          // whether a call in a run waits for a person
}

// ToolApproval says which calls of a tool wait for approval.
type ToolApproval string

// The values.
const (
	ApproveNever  ToolApproval = "never"
	ApproveAlways ToolApproval = "always"
)

// HTTPToolStore stores tools of tenants. They are of the tenant, not of an agent: who may change them is a matter of
// permissions.
type HTTPToolStore interface {
	// CreateHTTPTool stores a tool; a zero ID makes a new one. Exists when the name is taken.
	CreateHTTPTool(ctx context.Context, s tenant.Scope, t HTTPTool, audit AuditEntry) (HTTPTool, error)
	// HTTPTool finds a tool by id or name; NotFound.
	HTTPTool(ctx context.Context, s tenant.Scope, ref string) (HTTPTool, error)
	// ListHTTPTools returns a page ordered by name, starting after the given name. Limit 0: all.
	ListHTTPTools(ctx context.Context, s tenant.Scope, after string, limit int) ([]HTTPTool, error)
	// UpdateHTTPTool reads a tool, calls fn to modify its Spec and Secrets, and writes them. fn may run more than once.
	UpdateHTTPTool(ctx context.Context, s tenant.Scope, id uuid.UUID, audit AuditEntry, fn func(*HTTPTool) error) (HTTPTool, error)
	// DeleteHTTPTool deletes a tool. Conflict while collections show it, with those that the scope reaches.
	DeleteHTTPTool(ctx context.Context, s tenant.Scope, id uuid.UUID, audit AuditEntry) error
	// AttachedHTTPTools returns the tools that a collection shows, by name.
	AttachedHTTPTools(ctx context.Context, s tenant.Scope, collection uuid.UUID) ([]HTTPTool, error)
	// AttachHTTPTool shows a tool in a collection. Showing it twice changes nothing. NotFound for a tool or collection
	// that the scope does not reach.
	AttachHTTPTool(ctx context.Context, s tenant.Scope, collection, tool uuid.UUID, audit AuditEntry) error
	// DetachHTTPTool ends what AttachHTTPTool began; NotFound when the collection does not show the tool.
	DetachHTTPTool(ctx context.Context, s tenant.Scope, collection, tool uuid.UUID, audit AuditEntry) error
}
