package api

import (
	"context"
	"math"
	"net/http"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/api/wire"
	"github.com/slipboxhq/slipbox/internal/clone"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/notes"
	"github.com/slipboxhq/slipbox/internal/telemetry"
)

func (h *core) createCollection(c *gin.Context, body wire.CollectionInput) error {
	config, err := marshalObject("policy_config", body.PolicyConfig)
	if err != nil {
		return err
	}
	in := notes.CollectionInput{
		Name: body.Name, Agent: valueOr(body.Agent, ""), Policy: valueOr(body.Policy, ""), PolicyConfig: config,
		Embedder: valueOr(body.Embedder, ""), Extend: valueOr(body.Extend, false), Ephemeral: valueOr(body.Ephemeral, false),
		TTLSeconds: body.TTLSeconds, DisplayName: valueOr(body.DisplayName, ""), Metadata: valueOr(body.Metadata, nil),
		Blocks: body.Blocks, Folders: body.Folders,
	}
	in.External = external(body.External)
	v, err := h.Collections.Create(c.Request.Context(), scope(c), in, conditions(c))
	if err != nil {
		return err
	}
	telemetry.NameMemoryStore(c.Request.Context(), v.Collection.ID)
	return h.replyCollection(c, http.StatusCreated, &v)
}

func (h *core) listCollections(c *gin.Context) error {
	cur, err := h.cursorOf(c)
	if err != nil {
		return err
	}
	given := query(c)
	q := notes.CollectionList{
		Agent: given.Get("agent"), Name: given.Get("name"), Parent: given.Get("parent"), Limit: pageLimit(c),
		Text: given.Get("q"), External: memory.External{User: given.Get("user"), Agent: given.Get("agent_id"), App: given.Get("app"), Run: given.Get("run")},
	}
	if order := given.Get("order"); order != "name" {
		q.Order = memory.CollectionOrder(order)
	}
	if named := given.Get("named"); named != "" {
		q.Named = new(named == "true")
	}
	if cur != nil {
		q.After = cur.Position
	}
	page, next, err := h.Collections.List(c.Request.Context(), scope(c), q)
	if err != nil {
		return err
	}
	out := wire.CollectionList{Items: each(page, func(v *notes.CollectionView) wire.Collection { return wireCollection(&v.Collection, v.Counts) })}
	if out.NextCursor, err = h.nextCursor(c, next); err != nil {
		return err
	}
	return reply(c, http.StatusOK, out)
}

func (h *core) getCollection(c *gin.Context, ref string) error {
	ctx, s := c.Request.Context(), scope(c)
	if least := minRevision(c); least > 0 {
		if _, err := h.Recall.Open(ctx, s, ref, nil, least); err != nil {
			return err
		}
	}
	v, err := h.Collections.Get(ctx, s, ref)
	if err != nil {
		return err
	}
	out := wireCollection(&v.Collection, v.Counts)
	work, err := h.Jobs.Work(ctx, s, v.View)
	if err != nil {
		return err
	}
	out.Lineage, out.Index, out.Work = wireLayers(v.Lineage), wireIndex(h.Recall.IndexState(v.View)), h.wireWork(&work)
	return replyAt(c, http.StatusOK, v.Collection.Head, out)
}

// wireWork returns what waits, by stage. What waits behind other stages takes as long as these, too.
func (h *core) wireWork(w *memory.Work) *wire.Work {
	out := &wire.Work{Stages: []wire.WorkStage{}, Dead: w.Dead}
	for _, s := range []struct {
		stage         wire.WorkStageStage
		waits, before int64
		unknown       bool // tasks take as long as they take
	}{
		{wire.WorkStageStageVectors, w.Vectors, w.Description, false},
		{wire.WorkStageStageDescription, w.Description, w.Vectors + w.Links, false},
		{wire.WorkStageStageLinks, w.Links, 0, false},
		{wire.WorkStageStagePolicy, w.Policy, 0, true},
	} {
		if s.waits == 0 {
			continue
		}
		shown := wire.WorkStage{Stage: s.stage, Waiting: s.waits}
		if left, ok := w.Left(s.waits+s.before, h.now()); ok && !s.unknown {
			shown.SecondsLeft = new(int64(math.Ceil(left.Seconds())))
		}
		out.Stages = append(out.Stages, shown)
	}
	return out
}

func (h *core) patchCollection(c *gin.Context, ref string, body wire.CollectionPatch) error {
	p := notes.CollectionPatch{
		Name: body.Name, Policy: body.Policy, DisplayName: body.DisplayName, PolicyConfig: objectPatch(body.PolicyConfig),
		Metadata: objectPatch(body.Metadata), TTLSeconds: body.TTLSeconds,
	}
	v, err := h.Collections.Patch(c.Request.Context(), scope(c), ref, p)
	if err != nil {
		return err
	}
	return h.replyCollection(c, http.StatusOK, &v)
}

func (h *core) deleteCollection(c *gin.Context, ref string) error {
	return h.remove(c, func(ctx context.Context) ([]uuid.UUID, error) {
		job, err := h.Collections.Delete(ctx, scope(c), ref, query(c).Get("forks") == "materialise")
		return []uuid.UUID{job}, err
	})
}

// cloneCollection answers 201 for a fork, which is ready immediately, and 202 for a copy, which a job
// fills.
func (h *core) cloneCollection(c *gin.Context, ref string, body wire.CloneRequest) error {
	in := clone.Input{
		Mode: clone.Mode(valueOr(body.Mode, wire.CloneRequestMode(clone.Fork))), Agent: valueOr(body.Agent, ""), Name: valueOr(body.Name, ""),
		TTLSeconds: body.TTLSeconds, BatchSize: valueOr(body.BatchSize, 0),
		Blocks:   clone.Blocks(valueOr(body.Blocks, wire.CloneRequestBlocks(clone.CopyBlocks))),
		External: external(body.External), Policy: valueOr(body.Policy, ""),
	}
	var err error
	if in.PolicyConfig, err = marshalObject("policy_config", body.PolicyConfig); err != nil {
		return err
	}
	if in.AtRevision, err = h.revisionOf(c, ref, "at_revision", valueOr(body.AtRevision, nil)); err != nil {
		return err
	}
	out, err := h.Clone.Clone(c.Request.Context(), scope(c), ref, in, conditions(c))
	if err != nil {
		return err
	}
	telemetry.NameMemoryStore(c.Request.Context(), out.Collection.ID)
	shown := wireCollection(&out.Collection, out.Counts)
	if out.Job != nil {
		return reply(c, http.StatusAccepted, wire.CloneAccepted{Collection: shown, Job: *wireJobRef(out.Job)})
	}
	return replyAt(c, http.StatusCreated, out.Collection.Head, shown)
}

func (h *core) consolidateCollection(c *gin.Context, ref string) error {
	job, err := h.Upkeep.Consolidate(c.Request.Context(), scope(c), ref)
	if err != nil {
		return err
	}
	return reply(c, http.StatusAccepted, wire.JobAccepted{Job: *wireJobRef(&job)})
}

func (h *core) reembedCollection(c *gin.Context, ref string, body wire.ReembedRequest) error {
	job, err := h.Upkeep.Reembed(c.Request.Context(), scope(c), ref, body.Embedder)
	if err != nil {
		return err
	}
	return reply(c, http.StatusAccepted, wire.JobAccepted{Job: *wireJobRef(&job)})
}

func (h *core) refreshCollection(c *gin.Context, ref string) error {
	if _, err := bind[wire.RefreshRequest](c); err != nil { // the contract allows one analyst
		return err
	}
	job, err := h.Upkeep.Refresh(c.Request.Context(), scope(c), ref)
	if err != nil {
		return err
	}
	return reply(c, http.StatusAccepted, wire.JobAccepted{Job: *wireJobRef(&job)})
}

func (h *core) replyCollection(c *gin.Context, status int, v *notes.CollectionView) error {
	setRevision(c, v.Collection.Head)
	return reply(c, status, wireCollection(&v.Collection, v.Counts))
}
