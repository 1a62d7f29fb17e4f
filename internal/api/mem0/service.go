package mem0

import (
	"context"
	"net/http"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/api/route"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/notes"
	"github.com/slipboxhq/slipbox/internal/memory/recall"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// policy is the memory system of the collections that are created here.
const policy = "mem0"

// Jobs is the part of the store with the jobs. The store checks reach.
type Jobs interface {
	Job(ctx context.Context, s tenant.Scope, id uuid.UUID) (memory.Job, error)
	ListJobs(ctx context.Context, s tenant.Scope, q memory.JobQuery) ([]memory.Job, error)
}

// Deps are the dependencies of Service; all of them are required.
type Deps struct {
	Collections *notes.Collections
	Notes       *notes.Service
	Recall      *recall.Service
	Jobs        Jobs
	Clock       memory.Clock
}

// Service answers the operations of api/mem0.yaml.
type Service struct{ Deps }

// New returns a service.
func New(deps Deps) *Service { return &Service{deps} }

// Handlers returns the handlers by the operationId of the contract.
func (s *Service) Handlers() map[string]route.Handler {
	out := map[string]route.Handler{
		"mem0Ping": s.ping,

		"mem0AddV3": s.add(addLater), "mem0AddV1": s.add(addV1), "mem0AddOSS": s.add(addNow),
		"mem0SearchV3": s.search(shapeResults), "mem0SearchV1": s.search(shapeByFormat), "mem0SearchV2": s.search(shapeByFormat), "mem0SearchOSS": s.search(shapeResults),
		"mem0ListV3": s.list(shapePage), "mem0ListV2": s.list(shapeByFormat), "mem0ListV1": s.listByQuery(shapeByFormat), "mem0ListOSS": s.listByQuery(shapeResults),

		"mem0Get": onMemory(s.get), "mem0Update": onMemory(s.update), "mem0Delete": onMemory(s.remove), "mem0History": onMemory(s.history),
		"mem0GetOSS": onMemory(s.get), "mem0UpdateOSS": onMemory(s.update), "mem0DeleteOSS": onMemory(s.remove), "mem0HistoryOSS": onMemory(s.history),
		"mem0DeleteAll": s.removeAll, "mem0DeleteAllOSS": s.removeAll,
		"mem0BatchUpdate": s.updateMany, "mem0BatchDelete": s.removeMany,

		"mem0Event": s.event, "mem0Events": s.events,
		"mem0Entities": s.entities, "mem0DeleteEntity": s.removeEntity, "mem0DeleteEntityV1": s.removeEntity, "mem0Profile": s.profile, "mem0ProfileSettings": s.profileSettings,
		"mem0Project": s.project,

		"mem0ResetOSS": forbidden, "mem0ConfigureOSS": forbidden,
	}
	for _, id := range []string{
		"mem0Export", "mem0GetExport", "mem0Summary", "mem0Feedback", "mem0StartProfile", "mem0ProfileJob", "mem0SetProfileSettings",
		"mem0SetProject", "mem0DeleteProject", "mem0ListProjects", "mem0CreateProject",
		"mem0ListMembers", "mem0AddMember", "mem0UpdateMember", "mem0RemoveMember", "mem0ListWebhooks", "mem0CreateWebhook", "mem0UpdateWebhook", "mem0DeleteWebhook",
	} {
		out[id] = missing
	}
	return out
}

// Problem is the body of a refusal.
type Problem struct {
	Detail string `json:"detail"`
	Code   string `json:"code"`
}

// missing answers operations of mem0's platform that there is nothing for here.
func missing(context.Context, *route.Request) (route.Reply, error) {
	return route.Reply{Status: http.StatusNotImplemented, Body: Problem{Detail: "slipbox does not have this operation of mem0's platform; docs/mem0.md says what it has instead", Code: "not_implemented"}}, nil
}

// forbidden refuses operations of the open-source server that would concern every tenant.
func forbidden(context.Context, *route.Request) (route.Reply, error) {
	return route.Reply{}, fault.New(fault.Forbidden, "the server cannot be configured or reset by its clients; delete the entities one by one")
}

// ok answers 200.
func ok(body any) (route.Reply, error) { return route.Reply{Status: http.StatusOK, Body: body}, nil }

// answer answers 200, unless an error says that there is nothing to answer.
func answer(body any, err error) (route.Reply, error) {
	if err != nil {
		return route.Reply{}, err
	}
	return ok(body)
}

// onMemory returns the handler of an operation on the memory of its path. Text that is not an id counts as absent.
func onMemory(next func(ctx context.Context, r *route.Request, id uuid.UUID) (route.Reply, error)) route.Handler {
	return func(ctx context.Context, r *route.Request) (route.Reply, error) {
		id, err := parseID(r.Param("memory_id"))
		if err != nil {
			return route.Reply{}, err
		}
		return next(ctx, r, id)
	}
}

// withBody returns the handler of an operation that takes its body.
func withBody[T any](next func(ctx context.Context, r *route.Request, body *T) (route.Reply, error)) route.Handler {
	return func(ctx context.Context, r *route.Request) (route.Reply, error) {
		body, err := route.Bind[T](r)
		if err != nil {
			return route.Reply{}, err
		}
		return next(ctx, r, &body)
	}
}

// message is an answer that only says that something was done, and of an erasure what is left.
type message struct {
	Message string        `json:"message"`
	Kept    []string      `json:"kept,omitempty"` // names of collections
	Traces  memory.Traces `json:"traces,omitempty"`
	Waiting []uuid.UUID   `json:"waiting,omitempty"` // jobs
}
