package notes

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// Patch changes the settings of a collection (collections:write, and base:write if it is shared).
func (c *Collections) Patch(ctx context.Context, s tenant.Scope, ref string, p CollectionPatch) (CollectionView, error) {
	found, err := resolveFor(ctx, c.store, s, tenant.CollectionsWrite, ref)
	if err != nil {
		return CollectionView{}, err
	}
	if err := c.checkPatch(&found, &p); err != nil {
		return CollectionView{}, err
	}
	policy, known := c.policies.ByName(found.Policy)
	entry := memory.AuditEntry{Action: "collection.update", Target: found.ID.String(), Detail: map[string]any{}}
	_, err = c.store.UpdateCollection(ctx, s, found.ID, entry, func(row *memory.Collection) error {
		before := row.PolicyConfig
		if err := p.apply(row, policy, known, c.clock(), c.ephemeral); err != nil {
			return err
		}
		if p.PolicyConfig.IsSpecified() {
			entry.Detail["policy_config"] = map[string]any{"before": before, "after": row.PolicyConfig}
		}
		return nil
	})
	if err != nil {
		return CollectionView{}, err
	}
	return c.show(ctx, s, found.ID.String())
}

func (c *Collections) checkPatch(found *memory.Collection, p *CollectionPatch) error {
	var r memory.Validation
	if p.Name != nil && *p.Name != found.Name {
		r.Addf("name", "cannot be changed")
	}
	if p.Policy != nil && *p.Policy != found.Policy {
		r.Addf("policy", "cannot be changed; create another collection")
	}
	if name, ok := specified(p.DisplayName); ok {
		if name == "" {
			r.Addf("display_name", "must not be empty; null clears it")
		}
		if err := tenant.CheckDisplayName("display_name", name); err != nil {
			return err
		}
	}
	if ttl, ok := specified(p.TTLSeconds); ok && (ttl < 1 || ttl > memory.MaxTTLSeconds) {
		r.Addf("ttl_seconds", "must be between 1 and %d", int64(memory.MaxTTLSeconds))
	}
	return r.Err()
}

// apply merges a validated patch into a row.
func (p *CollectionPatch) apply(row *memory.Collection, policy memory.Policy, known bool, now time.Time, ephemeral time.Duration) error {
	row.DisplayName = patched(p.DisplayName, row.DisplayName, "")
	if p.Metadata.IsSpecified() {
		old := row.Metadata
		row.Metadata = nil
		if m, ok := specified(p.Metadata); ok {
			row.Metadata = mergePatch(old, m)
		}
		var r memory.Validation
		r.Object("metadata", row.Metadata)
		if err := r.Err(); err != nil {
			return err
		}
	}
	if p.TTLSeconds.IsSpecified() {
		row.ExpiresAt = time.Time{}
		ttl, ok := specified(p.TTLSeconds)
		switch {
		case ok:
			row.ExpiresAt = memory.Instant(now.Add(time.Duration(ttl) * time.Second))
		case row.Ephemeral && ephemeral > 0:
			row.ExpiresAt = memory.Instant(now.Add(ephemeral))
		}
	}
	if !p.PolicyConfig.IsSpecified() {
		return nil
	}
	config, ok := specified(p.PolicyConfig)
	if !ok {
		row.PolicyConfig = nil
		return nil
	}
	if !known {
		return fault.New(fault.Conflict, "the policy %q is not available, so its settings cannot be checked", row.Policy)
	}
	old := map[string]any{}
	if len(row.PolicyConfig) > 0 {
		if err := json.Unmarshal(row.PolicyConfig, &old); err != nil {
			return fault.Wrap(err, fault.Internal, "the stored policy_config cannot be decoded")
		}
	}
	raw, err := json.Marshal(mergePatch(old, config))
	if err != nil {
		return fault.InvalidField("policy_config", "must be an object")
	}
	row.PolicyConfig, err = memory.CheckConfig(policy, raw)
	return err
}

// Delete makes the collection NotFound from now on, and returns the job that removes its rows (collections:write, and
// base:write if it is shared). HasForks when forks read it, unless materialise makes them
// independent first.
func (c *Collections) Delete(ctx context.Context, s tenant.Scope, ref string, materialise bool) (uuid.UUID, error) {
	found, err := resolveFor(ctx, c.store, s, tenant.CollectionsWrite, ref)
	if err != nil {
		return uuid.Nil, err
	}
	entry := memory.AuditEntry{Action: "collection.delete", Target: found.ID.String(), Detail: map[string]any{"name": found.Name}}
	job, err := c.store.DeleteCollection(ctx, s, found.ID, materialise, entry)
	return job.ID, err
}
