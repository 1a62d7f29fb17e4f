package auth

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// CreateOperator creates a platform key. Its only scope is operator, and it gives
// no access to anything inside a tenant. There is no audit log above the tenants,
// so changes of platform keys are written to the log of the process.
func (k *Keys) CreateOperator(ctx context.Context, op tenant.Operator, name string, ttl time.Duration) (CreatedKey, error) {
	if err := op.Check(); err != nil {
		return CreatedKey{}, err
	}
	key, text, err := k.generate(uuid.Nil, name, ttl, tenant.Limit{})
	if err != nil {
		return CreatedKey{}, err
	}
	key.Permissions = []tenant.Permission{tenant.OperatorPerm}
	if err := k.deps.Keys.CreateOperatorKey(ctx, op, key); err != nil {
		return CreatedKey{}, err
	}
	k.deps.Logger.InfoContext(ctx, "platform key created", "actor", op.Actor(), "key", key.ID)
	return CreatedKey{Key: key, Text: text.text()}, nil
}

// ListOperator returns a page of platform keys ordered by id.
func (k *Keys) ListOperator(ctx context.Context, op tenant.Operator, after uuid.UUID, limit int) ([]Key, error) {
	if err := op.Check(); err != nil {
		return nil, err
	}
	return k.deps.Keys.ListOperatorKeys(ctx, op, after, limit)
}

// RotateOperator is Rotate for a platform key.
func (k *Keys) RotateOperator(ctx context.Context, op tenant.Operator, id uuid.UUID, overlap *time.Duration) (CreatedKey, error) {
	if err := op.Check(); err != nil {
		return CreatedKey{}, err
	}
	old, err := k.deps.Keys.KeyByID(ctx, uuid.Nil, id)
	if err != nil {
		return CreatedKey{}, sameNotFound(err)
	}
	key, keep, err := k.successor(&old, overlap)
	if err != nil {
		return CreatedKey{}, err
	}
	if err := k.deps.Keys.CreateOperatorKey(ctx, op, key.Key); err != nil {
		return CreatedKey{}, err
	}
	_, err = k.deps.Keys.UpdateOperatorKey(ctx, op, id, func(o *Key) error { return markRotated(o, key.ID, k.now(), keep) })
	k.status.forgetKey(uuid.Nil, id)
	if err != nil {
		if _, undo := k.RevokeOperator(context.WithoutCancel(ctx), op, key.ID); undo != nil {
			k.deps.Logger.WarnContext(ctx, "the new platform key of a failed rotation could not be revoked", "key", key.ID, "error", undo)
		}
		return CreatedKey{}, err
	}
	k.deps.Logger.InfoContext(ctx, "platform key rotated", "actor", op.Actor(), "key", id, "to", key.ID)
	return key, nil
}

// RevokeOperator revokes a platform key immediately.
func (k *Keys) RevokeOperator(ctx context.Context, op tenant.Operator, id uuid.UUID) (Key, error) {
	if err := op.Check(); err != nil {
		return Key{}, err
	}
	key, err := k.deps.Keys.UpdateOperatorKey(ctx, op, id, func(o *Key) error {
		if o.Tenant != uuid.Nil {
			return fault.Missing("API key")
		}
		revokeAt(o, k.now())
		return nil
	})
	k.status.forgetKey(uuid.Nil, id)
	if err == nil {
		k.deps.Logger.InfoContext(ctx, "platform key revoked", "actor", op.Actor(), "key", id)
	}
	return key, sameNotFound(err)
}
