package api

import (
	"cmp"
	"context"
	"errors"
	"io"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/api/route"
	"github.com/slipboxhq/slipbox/internal/api/wire"
	"github.com/slipboxhq/slipbox/internal/clone"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/block"
	"github.com/slipboxhq/slipbox/internal/memory/chat"
	"github.com/slipboxhq/slipbox/internal/memory/engine"
	"github.com/slipboxhq/slipbox/internal/memory/files"
	"github.com/slipboxhq/slipbox/internal/memory/hooks"
	"github.com/slipboxhq/slipbox/internal/memory/notes"
	"github.com/slipboxhq/slipbox/internal/memory/policy/memgpt/agent"
	"github.com/slipboxhq/slipbox/internal/memory/policy/memgpt/agent/tools"
	"github.com/slipboxhq/slipbox/internal/memory/recall"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// Core holds what the routes of collections, notes, search, jobs and reviews call. All of it is
// required except Waiters.
type Core struct {
	Collections *notes.Collections
	Notes       *notes.Service
	Blocks      *notes.Blocks
	Files       *files.Service
	Agent       *agent.Service
	Tools       *tools.Service
	Hooks       *hooks.Service
	Costs       *notes.Costs
	Recall      *recall.Service
	Clone       *clone.Service
	Engine      *engine.Engine // reviews, and tasks of policies that run immediately
	Chat        *chat.Service
	Imports     Imports
	Jobs        Jobs
	Upkeep      Upkeep
	Waiter      Waiter
	Policies    memory.PolicySet
	Embedders   memory.Embedders
	// Routes are the operations that other packages serve, such as those of single policies.
	Routes []route.Set
	// Waiters is how many requests of one tenant may wait for jobs concurrently, and how many may follow
	// jobs; 0 is 64.
	Waiters int
}

// Imports runs imports; *notes.Imports implements it.
type Imports interface {
	// Start stores the body and enqueues the job that imports it (collections:write and
	// notes:write, and base:write for a shared collection).
	Start(ctx context.Context, s tenant.Scope, ref string, body io.Reader) (memory.Job, error)
	// Results calls fn for the result of each line so far, in order (notes:read). After the last
	// line, lines whose links caused late warnings are repeated with these. A job that is not an
	// import is NotFound.
	Results(ctx context.Context, s tenant.Scope, job uuid.UUID, fn func(notes.ImportResult) error) error
}

// Jobs is the part of the store with the jobs. The handlers check permissions, the store checks
// reach.
type Jobs interface {
	Job(ctx context.Context, s tenant.Scope, id uuid.UUID) (memory.Job, error)
	ListJobs(ctx context.Context, s tenant.Scope, q memory.JobQuery) ([]memory.Job, error)
	RetryJob(ctx context.Context, s tenant.Scope, id uuid.UUID, audit memory.AuditEntry) (memory.Job, error)
	CancelJob(ctx context.Context, s tenant.Scope, id uuid.UUID, audit memory.AuditEntry) (memory.Job, error)
	Work(ctx context.Context, s tenant.Scope, v memory.View) (memory.Work, error)
	ResolveCollection(ctx context.Context, s tenant.Scope, ref string) (memory.Collection, error)
}

// Upkeep enqueues maintenance jobs; jobs.Upkeep implements it.
type Upkeep interface {
	// Consolidate enqueues the consolidation of the policy, or else a rebuild of the index and of stale vectors (collections:write, and
	// base:write for a shared collection).
	Consolidate(ctx context.Context, s tenant.Scope, ref string) (memory.Job, error)
	// Reembed enqueues the change to another embedder, or returns the unended job that makes it
	// (same permissions). An unknown embedder is Invalid "embedder". Conflict while a job to
	// another embedder waits or runs.
	Reembed(ctx context.Context, s tenant.Scope, ref, embedder string) (memory.Job, error)
	// Refresh enqueues that a model takes up what was answered without one, or returns the unended job that does
	// (same permissions). Conflict where the collection has no model.
	Refresh(ctx context.Context, s tenant.Scope, ref string) (memory.Job, error)
}

// Waiter waits for jobs; *jobs.Waiters implements it.
type Waiter interface {
	// Wait returns the job when it has ended. It returns the unended job after 25 s, or immediately if
	// more than one other job of the collection is ahead. The own jobs ahead of it that the request
	// itself enqueued do not count.
	Wait(ctx context.Context, s tenant.Scope, job uuid.UUID, own int) (memory.Job, error)
	// Watch calls fn with the job now and at each change, until it has ended, ctx ends, or fn
	// fails.
	Watch(ctx context.Context, s tenant.Scope, job uuid.UUID, fn func(memory.Job) error) error
	// Each calls fn now and whenever a collection may have changed, with a pause between two calls at
	// least, until fn returns false or an error, or ctx ends.
	Each(ctx context.Context, collection uuid.UUID, pause time.Duration, fn func() (more bool, err error)) error
}

// check returns an error that names every missing part.
func (c *Core) check() error {
	var errs []error
	for name, missing := range map[string]bool{
		"collections": c.Collections == nil, "notes": c.Notes == nil, "blocks": c.Blocks == nil, "agent": c.Agent == nil, "tools": c.Tools == nil, "hooks": c.Hooks == nil, "costs": c.Costs == nil, "recall": c.Recall == nil,
		"clone": c.Clone == nil, "engine": c.Engine == nil, "chat": c.Chat == nil,
		"imports": c.Imports == nil, "jobs": c.Jobs == nil, "upkeep": c.Upkeep == nil, "waiter": c.Waiter == nil,
		"policies": c.Policies == nil, "embedders": c.Embedders == nil,
	} {
		if missing {
			errs = append(errs, errors.New("api: core: "+name+" is required"))
		}
	}
	if c.Waiters < 0 {
		errs = append(errs, errors.New("api: core: waiters must not be negative"))
	}
	return errors.Join(errs...)
}

// core serves the routes of Core.
type core struct {
	*Server
	Core
	waiting   *gate // requests that wait for a job
	following *gate // requests that follow a job or a collection
	talking   *gate // chats
	began     time.Time
}

// mountCore mounts the routes of collections, notes, search, jobs and reviews.
func (s *Server) mountCore(deps Core) (*core, error) {
	if err := deps.check(); err != nil {
		return nil, err
	}
	deps.Waiters = cmp.Or(deps.Waiters, 64)
	h := &core{Server: s, Core: deps, waiting: newGate(deps.Waiters), following: newGate(deps.Waiters), talking: newGate(maxChats), began: s.now()}
	handlers := map[string]handler{
		"findCollection":        h.findCollection,
		"forgetExternal":        h.forgetExternal,
		"createCollection":      withBody(h.createCollection),
		"listCollections":       h.listCollections,
		"getCollection":         onCollection(h.getCollection),
		"listChanges":           onCollection(h.listChanges),
		"patchCollection":       onCollectionBody(h.patchCollection),
		"deleteCollection":      onCollection(h.deleteCollection),
		"cloneCollection":       onCollectionBody(h.cloneCollection),
		"diffCollection":        onCollection(h.diffCollection),
		"mergeCollection":       onCollectionBody(h.mergeCollection),
		"rollbackCollection":    onCollectionBody(h.rollbackCollection),
		"listSnapshots":         onCollection(h.listSnapshots),
		"createSnapshot":        onCollectionBody(h.createSnapshot),
		"deleteSnapshot":        onCollection(h.deleteSnapshot),
		"blameNote":             onNote(h.blameNote),
		"importNotes":           onCollection(h.importNotes),
		"exportCollection":      h.onView(h.exportCollection),
		"importHistory":         onCollection(h.importHistory),
		"consolidateCollection": onCollection(h.consolidateCollection),
		"reembedCollection":     onCollectionBody(h.reembedCollection),
		"refreshCollection":     onCollection(h.refreshCollection),

		"createNote":     onCollectionBody(h.createNote),
		"bulkNotes":      onCollection(h.bulkNotes),
		"listNotes":      h.listNotes,
		"getNote":        onNote(h.getNote),
		"patchNote":      onNote(h.patchNote),
		"deleteNote":     onNote(h.deleteNote),
		"getNoteHistory": onNote(h.getNoteHistory),
		"restoreNote":    onNote(h.restoreNote),
		"listLinks":      onNote(h.listLinks),
		"putLinks":       onNote(h.putLinks),
		"deleteLinks":    onNote(h.deleteLinks),
		"getGraph":       h.getGraph,

		"listBlocks":   h.listBlocks,
		"getBlock":     h.onView(h.getBlock),
		"putBlock":     onCollectionBody(h.putBlock),
		"deleteBlock":  onCollection(h.deleteBlock),
		"appendBlock":  editBlock(h, func(b *block.Block, in *wire.BlockAppend) error { return b.Append(in.Text) }),
		"replaceBlock": editBlock(h, func(b *block.Block, in *wire.BlockReplace) error { return b.Replace(in.Old, in.New) }),
		"insertBlock":  editBlock(h, func(b *block.Block, in *wire.BlockInsert) error { return b.Insert(in.Text, valueOr(in.Line, -1)) }),
		"undoBlock":    h.stepBlock(block.Undo),
		"redoBlock":    h.stepBlock(block.Redo),
		"attachBlock":  onCollectionBody(h.attachBlock),
		"detachBlock":  onCollection(h.detachBlock),

		"createWebhook":  withBody(h.createWebhook),
		"listWebhooks":   h.listWebhooks,
		"getWebhook":     onID("webhook", h.getWebhook),
		"patchWebhook":   onID("webhook", h.patchWebhook),
		"deleteWebhook":  onID("webhook", h.deleteWebhook),
		"listDeliveries": onID("webhook", h.listDeliveries),
		"retryDelivery":  h.retryDelivery,

		"createOwnTool": withBody(h.createOwnTool),
		"listOwnTools":  h.listOwnTools,
		"getOwnTool":    h.getOwnTool,
		"patchOwnTool":  h.patchOwnTool,
		"deleteOwnTool": h.deleteOwnTool,
		"attachTool":    h.changeTools(h.Agent.AttachTool),
		"detachTool":    h.changeTools(h.Tools.Detach),

		"createFolder": withBody(h.createFolder),
		"listFolders":  h.listFolders,
		"getFolder":    h.getFolder,
		"deleteFolder": onRef("folder", h.deleteFolder),
		"attachFolder": h.changeFolders(h.Files.Attach),
		"detachFolder": h.changeFolders(h.Files.Detach),
		"uploadFile":   h.uploadFile,
		"listFiles":    h.listFiles,
		"getFile":      onID("file", h.getFile),
		"deleteFile":   h.deleteFile,

		"addFile":              h.uploadFile,
		"listCollectionFiles":  h.listFiles,
		"getCollectionFile":    onID("file", h.getFile),
		"deleteCollectionFile": h.deleteFile,

		"createSharedBlock":     withBody(h.createSharedBlock),
		"listSharedBlocks":      h.listSharedBlocks,
		"getSharedBlock":        h.getSharedBlock,
		"patchSharedBlock":      onID("block", h.patchSharedBlock),
		"deleteSharedBlock":     onID("block", h.deleteSharedBlock),
		"getSharedBlockHistory": h.getSharedBlockHistory,
		"undoSharedBlock":       h.stepSharedBlock(block.Undo),
		"redoSharedBlock":       h.stepSharedBlock(block.Redo),

		"listTools":        h.onView(h.listTools),
		"step":             onCollectionBody(h.step),
		"getMainContext":   h.onView(h.getMainContext),
		"postEvent":        onCollectionBody(h.postEvent),
		"flushContext":     onCollectionBody(h.flushContext),
		"pauseHeartbeats":  onCollectionBody(h.pauseHeartbeats),
		"listRuns":         h.listRuns,
		"getRun":           onID("run", h.getRun),
		"cancelRun":        onCollection(h.cancelRun),
		"listSteps":        h.listSteps,
		"listWaitingCalls": h.onView(h.listWaitingCalls),
		"postResults":      onCollection(h.postResults),

		"addMessages":   onCollection(h.addMessages),
		"listMessages":  h.listMessages,
		"listPolicies":  h.listPolicies,
		"getCosts":      onCollection(h.getCosts),
		"listFacts":     h.listFacts,
		"recallLayers":  withBody(h.recallLayers),
		"listLayers":    h.onView(h.listLayers),
		"forget":        onCollectionBody(h.forget),
		"listSummaries": h.listSummaries,
		"getProfile":    h.onView(h.getProfile),
		"putProfile":    onCollectionBody(h.putProfile),

		"chat":                 onCollection(h.chat),
		"createChatCompletion": h.createChatCompletion,
		"createResponse":       h.createResponse,
		"createEmbeddings":     h.createEmbeddings,
		"listModels":           h.listModels,
		"getModel":             h.getModel,

		"searchAll":       h.search,
		"buildContextAll": h.buildContext,
		"search":          h.search,
		"buildContext":    h.buildContext,
		"listHotNotes":    h.onView(h.listHotNotes),

		"listJobs":      h.listJobs,
		"getJob":        onID("job", h.getJob),
		"retryJob":      h.changeJob("job.retry", h.Jobs.RetryJob),
		"cancelJob":     h.changeJob("job.cancel", h.Jobs.CancelJob),
		"streamJob":     onID("job", h.streamJob),
		"getJobResults": onID("job", h.getJobResults),

		"listReviews":   h.listReviews,
		"getReview":     onID("review", h.getReview),
		"approveReview": withBody(h.approveReview),
		"rejectReview":  h.rejectReview,
		"undoReview":    h.undoReview,
	}
	for id, next := range handlers {
		if op := s.doc.operations[id]; op != nil {
			handlers[id] = h.ofCollection(op, next)
		}
	}
	if err := s.mountAll(handlers); err != nil {
		return nil, err
	}
	if err := h.mountSets(); err != nil {
		return nil, err
	}
	err := h.mountMem0()
	return h, err
}
