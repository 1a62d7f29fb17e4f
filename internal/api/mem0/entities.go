package mem0

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/api/route"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/notes"
	"github.com/slipboxhq/slipbox/internal/memory/recall"
)

// ping answers who the caller is. Organization and project are the tenant: there is nothing between it and its keys.
func (s *Service) ping(_ context.Context, r *route.Request) (route.Reply, error) {
	id := r.Scope.Tenant()
	return ok(struct {
		Status    string    `json:"status"`
		OrgID     uuid.UUID `json:"org_id"`
		ProjectID uuid.UUID `json:"project_id"`
		UserEmail *string   `json:"user_email"`
	}{"ok", id, id, nil})
}

// project answers the settings of the caller's project, of which there are none to set here.
func (s *Service) project(_ context.Context, r *route.Request) (route.Reply, error) {
	id := r.Scope.Tenant().String()
	if r.Param("org_id") != id || r.Param("project_id") != id {
		return route.Reply{}, fault.Missing("project")
	}
	return ok(struct {
		ID                 string  `json:"id"`
		Name               string  `json:"name"`
		CustomInstructions *string `json:"custom_instructions"`
		CustomCategories   *[]any  `json:"custom_categories"`
	}{ID: id, Name: "slipbox"})
}

// entityRow is an entity that has memories.
type entityRow struct {
	ID            string `json:"id"`
	Name          string `json:"name"`
	Type          string `json:"type"`
	TotalMemories int64  `json:"total_memories"`
	CreatedAt     string `json:"created_at"`
	UpdatedAt     string `json:"updated_at"`
}

// maxCollections is how many collections a list of entities looks at.
const maxCollections = 10_000

// entities answers the users, agents, apps and runs that have a collection, the newest first.
func (s *Service) entities(ctx context.Context, r *route.Request) (route.Reply, error) {
	type key struct {
		kind int
		id   string
	}
	rows := map[key]*entityRow{}
	after := ""
	for n := 0; n < maxCollections; {
		page, next, err := s.Collections.List(ctx, r.Scope, notes.CollectionList{After: after, Limit: memory.MaxPage})
		if err != nil {
			return route.Reply{}, err
		}
		for i := range page {
			c := &page[i].Collection
			for kind, id := range homeOf(c.External).IDs() {
				if id.Value == "" {
					continue
				}
				k, created := key{kind, id.Value}, formatTime(c.CreatedAt)
				if rows[k] == nil {
					rows[k] = &entityRow{ID: id.Value, Name: id.Value, Type: kindNames[kind], CreatedAt: created, UpdatedAt: created}
				}
				for _, of := range kinds {
					rows[k].TotalMemories += page[i].Counts.Kinds[of]
				}
				rows[k].CreatedAt, rows[k].UpdatedAt = min(rows[k].CreatedAt, created), max(rows[k].UpdatedAt, created)
			}
		}
		if n += len(page); next == "" {
			break
		}
		after = next
	}
	all := make([]*entityRow, 0, len(rows))
	for _, row := range rows {
		all = append(all, row)
	}
	slices.SortFunc(all, func(a, b *entityRow) int {
		return cmp.Or(-cmp.Compare(a.CreatedAt, b.CreatedAt), cmp.Compare(a.Type, b.Type), cmp.Compare(a.Name, b.Name))
	})
	page, size := 1, len(all)
	if r.Query.Has("page") || r.Query.Has("page_size") {
		page = number(json.Number(r.Query.Get("page")), 1, maxCollections)
		size = number(json.Number(r.Query.Get("page_size")), defaultPageSize, maxCollections)
	}
	return ok(listedOf(r, pageOf(all, page, size), len(all), page, size))
}

// entityOf returns the entity of the path.
func entityOf(kind, id string) (memory.External, error) {
	at := slices.Index(kindNames[:], kind)
	if at < 0 {
		return memory.External{}, fault.Missing("entity")
	}
	if err := memory.CheckExternalID(idNames[at], id); err != nil {
		return memory.External{}, err
	}
	return externalOf(at, id), nil
}

// removeEntity deletes every collection of an entity.
func (s *Service) removeEntity(ctx context.Context, r *route.Request) (route.Reply, error) {
	e, err := entityOf(r.Param("entity_type"), r.Param("entity_id"))
	if err != nil {
		return route.Reply{}, err
	}
	switch err := s.forget(ctx, r.Scope, e); {
	case fault.Is(err, fault.NotFound):
		return route.Reply{}, fault.Missing("entity")
	case err != nil:
		return route.Reply{}, err
	}
	return ok(message{Message: "Entity deleted successfully!"})
}

// The states of a profile.
const (
	profileReady = "succeeded"
	profileNone  = "insufficient_data"
)

// profile answers what the collection of a user says about the person: the portrait that its policy writes, and what
// callers set.
func (s *Service) profile(ctx context.Context, r *route.Request) (route.Reply, error) {
	e, err := entityOf(kindNames[0], r.Param("entity_id"))
	if err != nil {
		return route.Reply{}, err
	}
	c, err := s.Collections.ByExternal(ctx, r.Scope, e)
	if fault.Is(err, fault.NotFound) {
		return route.Reply{}, fault.Missing("user")
	}
	if err != nil {
		return route.Reply{}, err
	}
	v, err := s.Recall.Open(ctx, r.Scope, c.ID.String(), nil, 0)
	if err != nil {
		return route.Reply{}, err
	}
	out := struct {
		EntityType      string         `json:"entity_type"`
		EntityID        string         `json:"entity_id"`
		Status          string         `json:"status"`
		Profile         map[string]any `json:"profile"`
		UpdatedAt       *string        `json:"updated_at"`
		GenerationCount int            `json:"generation_count"`
	}{EntityType: kindNames[0], EntityID: e.User, Status: profileNone}
	page, err := s.Recall.List(ctx, r.Scope, v, recall.ListQuery{Kinds: []memory.Kind{memory.KindProfile}, Limit: memory.MaxPage, Bare: true})
	if err != nil {
		return route.Reply{}, err
	}
	for i := range page.Items {
		n := &page.Items[i].Note
		values := map[string]any{}
		switch n.Key {
		case notes.KeyMeta:
			for name, value := range n.Attributes {
				if text, ok := value.(string); ok {
					values[name] = text
				}
			}
		case keyPortrait:
			values["portrait"] = n.Content
		}
		if len(values) == 0 {
			continue
		}
		if out.Profile == nil {
			out.Profile = map[string]any{}
		}
		maps.Copy(out.Profile, values)
		at := formatTime(n.UpdatedAt)
		if out.UpdatedAt == nil || *out.UpdatedAt < at {
			out.UpdatedAt = &at
		}
		out.Status, out.GenerationCount = profileReady, 1
	}
	return ok(out)
}

// keyPortrait is the key of the portrait that policies write.
const keyPortrait = "overall"

// profileSettings answers that profiles follow from the policy of each collection, and not from a schema.
func (s *Service) profileSettings(context.Context, *route.Request) (route.Reply, error) {
	type settings struct {
		Schema             any     `json:"schema"`
		CustomInstructions *string `json:"custom_instructions"`
	}
	return ok(struct {
		Enabled      bool                `json:"enabled"`
		Capabilities map[string]bool     `json:"capabilities"`
		Entities     map[string]settings `json:"entities"`
	}{true, map[string]bool{}, map[string]settings{kindNames[0]: {}}})
}
