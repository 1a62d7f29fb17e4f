package store

import (
	"bytes"
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// LedgerRows are the rows of idempotency keys, of audit entries and of model use.
type LedgerRows interface {
	// Answer returns what is stored under a key since a time, of the scope's tenant and agent. In
	// a write transaction it first waits for other transactions that use the key, until they have
	// answered or rolled back, and makes later ones wait: of two concurrent requests, the second
	// finds the answer of the first, whichever process serves it.
	Answer(ctx context.Context, s tenant.Scope, k memory.Idempotency, since time.Time) (found memory.Idempotency, ok bool, err error)
	// InsertAnswer stores an answer under a key that Answer did not find, and deletes old answers
	// of the tenant from before a time.
	InsertAnswer(ctx context.Context, s tenant.Scope, k memory.Idempotency, now, before time.Time) error
	// InsertAudit writes an audit entry, with its detail as JSON.
	InsertAudit(ctx context.Context, s tenant.Scope, now time.Time, e memory.AuditEntry, detail string) error
	ModelUse(ctx context.Context, s tenant.Scope, fromDay, toDay string) ([]memory.ModelUse, error)
	TenantUsage(ctx context.Context, s tenant.Scope, now time.Time) (memory.TenantUsage, error)
	// StoredBeside returns what a whole tenant stores in other collections than one; zero: in all.
	StoredBeside(ctx context.Context, tenantID, except uuid.UUID, now time.Time) (memory.TenantUsage, error)
}

// answered finds the answer that was stored under an idempotency key. A key that was used with
// another body is IdempotencyReuse.
func answered(ctx context.Context, q LedgerRows, s tenant.Scope, k memory.Idempotency, now time.Time) (memory.Idempotency, bool, error) {
	if checkKey(k) != nil {
		return k, false, nil //nolint:nilerr // nothing is stored under such a key
	}
	found, ok, err := q.Answer(ctx, s, k, now.Add(-memory.IdempotencyTTL))
	if err != nil || !ok {
		return k, false, err
	}
	if !bytes.Equal(found.BodyHash[:], k.BodyHash[:]) {
		return k, false, fault.New(fault.IdempotencyReuse, "the idempotency key was used with another body")
	}
	return found, true, nil
}

// remember stores an answer under an idempotency key.
func remember(ctx context.Context, q LedgerRows, s tenant.Scope, k memory.Idempotency, now time.Time) error {
	if err := checkKey(k); err != nil {
		return err
	}
	return q.InsertAnswer(ctx, s, k, now, now.Add(-memory.IdempotencyTTL))
}

// writeAudit writes an audit entry, unless it has no action.
func writeAudit(ctx context.Context, q LedgerRows, s tenant.Scope, now time.Time, e memory.AuditEntry) error {
	if e.Action == "" {
		return nil
	}
	detail, err := Object("detail", e.Detail)
	if err != nil {
		return err
	}
	return q.InsertAudit(ctx, s, now, e, detail)
}

// Replayed implements memory.Ledger.
func (b *Base) Replayed(ctx context.Context, s tenant.Scope, k memory.Idempotency) (out memory.Idempotency, ok bool, err error) {
	if err := s.Check(); err != nil {
		return out, false, err
	}
	err = b.transactions.Reading(ctx, s.Tenant(), func(ctx context.Context, q Session) error {
		out, ok, err = answered(ctx, q, s, k, b.now())
		return err
	})
	return out, ok, err
}

// Audit implements memory.Ledger.
func (b *Base) Audit(ctx context.Context, s tenant.Scope, e memory.AuditEntry) error {
	return b.write(ctx, s, func(ctx context.Context, q Session) error {
		if err := CheckTenant(ctx, q, s.Tenant()); err != nil {
			return err
		}
		return writeAudit(ctx, q, s, b.now(), e)
	})
}

// ListAudit implements memory.Ledger.
func (b *Base) ListAudit(ctx context.Context, s tenant.Scope, aq memory.AuditQuery) ([]memory.AuditEntry, error) {
	text, args := "SELECT id, at, actor, action, target, detail FROM audit WHERE tenant = $1", []any{s.Tenant(), Limit(aq.Limit)}
	also := func(condition string, arg any) {
		args = append(args, arg)
		text += " AND " + condition + " $" + strconv.Itoa(len(args))
	}
	if aq.Before > 0 {
		also("id <", aq.Before)
	}
	if aq.Action != "" {
		also("action =", Clean(aq.Action))
	}
	if aq.Target != "" {
		also("target =", Clean(aq.Target))
	}
	return read(ctx, b, s, func(ctx context.Context, q Session) ([]memory.AuditEntry, error) {
		return collect(ctx, q, text+" ORDER BY id DESC"+atMost("$2"), slices.Clone(args), func(row Scanner) (e memory.AuditEntry, err error) {
			err = row.Scan(&e.ID, Time(&e.At), &e.Actor, &e.Action, &e.Target, ObjectColumn(&e.Detail))
			return e, err
		})
	})
}

// ModelUse implements memory.Ledger. A scope bound to an agent sees the use for the collections
// that it reaches.
func (b *Base) ModelUse(ctx context.Context, s tenant.Scope, fromDay, toDay string) ([]memory.ModelUse, error) {
	return read(ctx, b, s, func(ctx context.Context, q Session) ([]memory.ModelUse, error) {
		return q.ModelUse(ctx, s, fromDay, toDay)
	})
}

// ScanModelUse reads the columns collection, purpose, day, calls, prompt_tokens and
// completion_tokens.
func ScanModelUse(row Scanner) (u memory.ModelUse, err error) {
	err = row.Scan(&u.Collection, &u.Purpose, &u.Day, &u.Calls, &u.PromptTokens, &u.CompletionTokens)
	return u, err
}

// TenantUsage implements memory.Ledger. Notes and links are those stored, so a fork counts only
// what it changed.
func (b *Base) TenantUsage(ctx context.Context, s tenant.Scope) (memory.TenantUsage, error) {
	return read(ctx, b, s, func(ctx context.Context, q Session) (memory.TenantUsage, error) {
		return q.TenantUsage(ctx, s, b.now())
	})
}

// SpoolRows are the parts of spools.
type SpoolRows interface {
	// DeletePartsFrom deletes up to limit parts from number n on, the last ones first.
	DeletePartsFrom(ctx context.Context, tenantID, job uuid.UUID, spool memory.SpoolName, n, limit int) (deleted int, err error)
	// DeletePartsBefore deletes up to limit parts written before a time, except bodies of jobs that
	// have not ended.
	DeletePartsBefore(ctx context.Context, tenantID uuid.UUID, before time.Time, limit int) (deleted int, err error)
	// TenantsWithPartsBefore lists tenants of which DeletePartsBefore would delete parts.
	TenantsWithPartsBefore(ctx context.Context, before time.Time, limit int) ([]uuid.UUID, error)
}

// SpoolBatch is how many parts one transaction deletes: writers must not wait while the pages of
// a large spool are wiped.
const SpoolBatch = 16

// PutPart implements memory.Spool.
func (b *Base) PutPart(ctx context.Context, s tenant.Scope, job uuid.UUID, spool memory.SpoolName, n int, data []byte) error {
	if err := checkPart(n, data); err != nil {
		return err
	}
	if data == nil {
		data = []byte{}
	}
	return b.write(ctx, s, func(ctx context.Context, q Session) error {
		if err := CheckTenant(ctx, q, s.Tenant()); err != nil {
			return err
		}
		return q.Later(ctx, `INSERT INTO spool (tenant, job, name, part, at, data) VALUES ($1, $2, $3, $4, $5, $6)
 ON CONFLICT (tenant, job, name, part) DO UPDATE SET at = excluded.at, data = excluded.data`, s.Tenant(), job, string(spool), n, b.now(), data)
	})
}

// Parts implements memory.Spool.
func (b *Base) Parts(ctx context.Context, s tenant.Scope, job uuid.UUID, spool memory.SpoolName, fn func(data []byte) error) error {
	if err := s.Check(); err != nil {
		return err
	}
	type part struct {
		n    int
		data []byte
	}
	for last := -1; ; {
		var next part
		var ok bool
		err := b.transactions.Reading(ctx, s.Tenant(), func(ctx context.Context, q Session) (err error) {
			next, ok, err = First(collect(ctx, q, "SELECT part, data FROM spool WHERE tenant = $1 AND job = $2 AND name = $3 AND part > $4 ORDER BY part LIMIT 1",
				[]any{s.Tenant(), job, string(spool), last}, func(row Scanner) (p part, err error) {
					err = row.Scan(&p.n, &p.data)
					return p, err
				}))
			return err
		})
		if err != nil || !ok {
			return err
		}
		last = next.n
		if err := fn(next.data); err != nil {
			return err
		}
	}
}

// DropParts implements memory.Spool. The last parts go first: what is left after an interruption
// is a beginning.
func (b *Base) DropParts(ctx context.Context, s tenant.Scope, job uuid.UUID, spool memory.SpoolName, n int) (int, error) {
	return b.deleteParts(ctx, s, func(ctx context.Context, q Session) (int, error) {
		return q.DeletePartsFrom(ctx, s.Tenant(), job, spool, n, SpoolBatch)
	})
}

// SweepParts implements memory.Spool.
func (b *Base) SweepParts(ctx context.Context, s tenant.Scope, before time.Time) error {
	_, err := b.deleteParts(ctx, s, func(ctx context.Context, q Session) (int, error) {
		return q.DeletePartsBefore(ctx, s.Tenant(), before, SpoolBatch)
	})
	return err
}

// deleteParts calls fn, each time in a transaction of its own, until a batch is not full. It
// returns how many parts were deleted.
func (b *Base) deleteParts(ctx context.Context, s tenant.Scope, fn func(context.Context, Session) (int, error)) (total int, err error) {
	for n := SpoolBatch; n == SpoolBatch; total += n {
		err := b.free(ctx, s, func(ctx context.Context, q Session) (err error) {
			if n, err = fn(ctx, q); n == 0 {
				q.NothingErased()
			}
			return err
		})
		if err != nil {
			return total, err
		}
	}
	return total, nil
}

// StaleParts implements memory.Spool.
func (b *Base) StaleParts(ctx context.Context, before time.Time, limit int) ([]uuid.UUID, error) {
	return readTenant(ctx, b, uuid.Nil, func(ctx context.Context, q Session) ([]uuid.UUID, error) {
		return q.TenantsWithPartsBefore(ctx, before, limit)
	})
}
