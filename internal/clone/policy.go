package clone

import (
	"context"
	"strings"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// underPolicy sets the policy and the settings of a fork that has others than its source. What the source has learned stays as it is;
// what is written to the fork is decided by the fork's policy.
func (c *Service) underPolicy(ctx context.Context, s tenant.Scope, ask *memory.NewCollection, v memory.View, in *Input) error {
	if in.Policy == "" && in.PolicyConfig == nil {
		return nil
	}
	if err := tenant.Check(s, tenant.CollectionsWrite); err != nil {
		return err
	}
	if c.policies == nil {
		return fault.New(fault.Internal, "clone: policies are required")
	}
	other := in.Policy != "" && in.Policy != ask.Policy
	if other {
		ask.Policy, ask.PolicyConfig = in.Policy, nil
	}
	policy, ok := c.policies.ByName(ask.Policy)
	if !ok {
		return fault.InvalidField("policy", "unknown policy %q; valid policies are %s", ask.Policy, strings.Join(c.policies.Names(), ", "))
	}
	if in.PolicyConfig != nil {
		var err error
		if ask.PolicyConfig, err = memory.CheckConfig(policy, in.PolicyConfig); err != nil {
			return err
		}
	}
	ask.Audit.Detail["policy"], ask.Audit.Detail["policy_config"] = ask.Policy, ask.PolicyConfig
	if first, ok := policy.(memory.Seeder); ok && other {
		return c.begin(ctx, s, ask, v, first.Seed(ask.PolicyConfig))
	}
	return nil
}

// begin adds the notes that a collection of the policy begins with, but for those whose key the fork has already.
func (c *Service) begin(ctx context.Context, s tenant.Scope, ask *memory.NewCollection, v memory.View, first []memory.Note) error {
	taken := map[string]bool{}
	for i := range ask.Seed {
		taken[ask.Seed[i].Key] = true
	}
	for i := range ask.Attach {
		taken[ask.Attach[i].Label] = true
	}
	for _, n := range first {
		if taken[n.Key] {
			continue
		}
		switch _, err := c.store.NoteByKey(ctx, s, v, n.Kind, n.Key); {
		case err == nil:
			continue
		case !fault.Is(err, fault.NotFound):
			return err
		}
		var err error
		if n.ID, err = uuid.NewV7(); err != nil {
			return fault.Wrap(err, fault.Internal, "an id could not be generated")
		}
		n.Provenance.Actor = s.Actor()
		ask.Seed = append(ask.Seed, n)
	}
	return nil
}
