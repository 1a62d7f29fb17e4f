package storetest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/auth"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/store"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/internal/tenant/grant"
)

// wantOutcome is the expected result of a call with targets that the scope cannot access.
type wantOutcome int

const (
	hidden wantOutcome = iota // NotFound
	empty                     // no error, and no data of another scope; the call checks the data
	own                       // allowed: it concerns only the caller's own data
)

// targets are the ids of alice's data, or ids that do not exist.
type targets struct {
	collection, note, job, lease, review, key, tool, webhook, grant uuid.UUID
	view                                                            memory.View
	external                                                        memory.External
}

// reachCase calls one method with targets.
type reachCase struct {
	otherTenant, otherAgent wantOutcome
	call                    func(w *world, s tenant.Scope, g targets) error
}

// scopeless has the methods that take no Scope, with the reason.
var scopeless = map[string]string{
	"TenantByID": "the tenant directory is read before a scope exists", "KeyByID": "a key is read before a scope exists", "GrantByID": "as keys",
	"SigningKeys": "platform", "AddSigningKey": "platform",
	"CreateTenant": "operator", "TenantByName": "operator", "ListTenants": "operator", "UpdateTenant": "operator", "DeleteTenant": "operator", "EndTenantDeletions": "operator",
	"CreateOperatorKey": "operator", "ListOperatorKeys": "operator", "UpdateOperatorKey": "operator",
	"ExpiredCollections": "ids only", "ExpiringCollections": "ids only", "EphemeralCollections": "ids only", "DueCollections": "ids only", "StaleParts": "ids only",
	"NextDue": "a time only", "Backlog": "numbers and a time only", "VoidLeases": "at start",
	"Verify": "whole store", "Schema": "whole store", "Size": "whole store", "Traces": "whole store", "Ping": "whole store", "Close": "whole store",
}

var errVisible = errors.New("data of another scope is visible")

// noneVisible returns errVisible when the list is not empty.
func noneVisible[T any](list []T, err error) error {
	if err == nil && len(list) > 0 {
		return fmt.Errorf("%w: %v", errVisible, list)
	}
	return err
}

// errOf returns the error of a call.
func errOf[T any](_ T, err error) error { return err }

// reachTable has an entry for every method that takes a Scope.
func reachTable() map[string]reachCase {
	both := func(call func(w *world, s tenant.Scope, g targets) error) reachCase {
		return reachCase{hidden, hidden, call}
	}
	none := func(call func(w *world, s tenant.Scope, g targets) error) reachCase {
		return reachCase{empty, empty, call}
	}
	later := func(w *world) time.Time { return w.clock.Now().Add(time.Hour) }
	return map[string]reachCase{
		"CreateCollection": both(func(w *world, s tenant.Scope, g targets) error {
			fork := memory.Collection{Name: "fork", Parent: g.collection, External: memory.External(s.Limit())}
			return errOf(w.CreateCollection(w.ctx, s, memory.NewCollection{Collection: fork}))
		}),
		"ResolveCollection": both(func(w *world, s tenant.Scope, g targets) error {
			if err := errOf(w.ResolveCollection(w.ctx, s, "private")); !fault.Is(err, fault.NotFound) {
				return err
			}
			return errOf(w.ResolveCollection(w.ctx, s, g.collection.String()))
		}),
		"CollectionByExternal": both(func(w *world, s tenant.Scope, g targets) error {
			return errOf(w.CollectionByExternal(w.ctx, s, g.external))
		}),
		"ListCollections": none(func(w *world, s tenant.Scope, _ targets) error {
			return noneVisible(w.ListCollections(w.ctx, s, memory.CollectionQuery{}))
		}),
		"UpdateCollection": both(func(w *world, s tenant.Scope, g targets) error {
			return errOf(w.UpdateCollection(w.ctx, s, g.collection, memory.AuditEntry{}, func(c *memory.Collection) error { c.DisplayName = "mine"; return nil }))
		}),
		"DeleteCollection": both(func(w *world, s tenant.Scope, g targets) error {
			return errOf(w.DeleteCollection(w.ctx, s, g.collection, true, memory.AuditEntry{}))
		}),
		"FlattenLineage": both(func(w *world, s tenant.Scope, g targets) error { return w.FlattenLineage(w.ctx, s, g.collection) }),
		"RemoveRows": both(func(w *world, s tenant.Scope, g targets) error {
			return errOf(w.RemoveRows(w.ctx, s, g.collection, 10))
		}),
		"CopyRows": both(func(w *world, s tenant.Scope, g targets) error {
			_, _, err := w.CopyRows(w.ctx, s, g.view, g.collection, "", 10)
			return err
		}),
		"OpenView": both(func(w *world, s tenant.Scope, g targets) error {
			return errOf(w.OpenView(w.ctx, s, g.collection.String(), memory.At{}))
		}),
		"LayerStates": none(func(w *world, s tenant.Scope, g targets) error {
			states, err := w.LayerStates(w.ctx, s, []uuid.UUID{g.collection})
			return noneVisible(slices.Collect(maps.Keys(states)), err)
		}),
		"Notes": both(func(w *world, s tenant.Scope, g targets) error {
			return noneVisible(w.Notes(w.ctx, s, g.view, []uuid.UUID{g.note}, memory.ReadOptions{}))
		}),
		"NoteByKey": both(func(w *world, s tenant.Scope, g targets) error {
			return errOf(w.NoteByKey(w.ctx, s, g.view, memory.KindNote, "k"))
		}),
		"Versions": both(func(w *world, s tenant.Scope, g targets) error {
			return noneVisible(w.Versions(w.ctx, s, g.view, []memory.Version{{Layer: g.collection, Note: g.note, From: 1}}))
		}),
		"Nearest": both(func(w *world, s tenant.Scope, g targets) error {
			return noneVisible(w.Nearest(w.ctx, s, g.view, memory.NearestQuery{Vector: []float32{1, 0, 0, 0}}))
		}),
		"Hot": both(func(w *world, s tenant.Scope, g targets) error { return noneVisible(w.Hot(w.ctx, s, g.view, 0)) }),
		"ListNotes": both(func(w *world, s tenant.Scope, g targets) error {
			return noneVisible(w.ListNotes(w.ctx, s, g.view, memory.NoteQuery{}))
		}),
		"ExpiredNotes": both(func(w *world, s tenant.Scope, g targets) error {
			return errOf(w.ExpiredNotes(w.ctx, s, g.view, later(w), 10))
		}),
		"History": both(func(w *world, s tenant.Scope, g targets) error {
			return noneVisible(w.History(w.ctx, s, g.view, g.note, 0, 0))
		}),
		"Links": both(func(w *world, s tenant.Scope, g targets) error {
			return noneVisible(w.Links(w.ctx, s, g.view, memory.LinkQuery{Notes: []uuid.UUID{g.note}, Direction: memory.Both}))
		}),
		"Counts": both(func(w *world, s tenant.Scope, g targets) error { return errOf(w.Counts(w.ctx, s, g.view)) }),
		"Log": both(func(w *world, s tenant.Scope, g targets) error {
			return errOf(w.Log(w.ctx, s, g.view, 0, 0, embedder, func(memory.LogRow) error { return errVisible }))
		}),
		"LogBegun": both(func(w *world, s tenant.Scope, g targets) error {
			return w.LogBegun(w.ctx, s, g.view, 0, nil, embedder, func(memory.LogRow) error { return errVisible })
		}),
		"Changes": both(func(w *world, s tenant.Scope, g targets) error {
			return noneVisible(w.Changes(w.ctx, s, g.view, 0, 0))
		}),
		"Changesets": both(func(w *world, s tenant.Scope, g targets) error {
			return noneVisible(w.Changesets(w.ctx, s, g.view, 0, 0))
		}),
		"CountChangesets": both(func(w *world, s tenant.Scope, g targets) error {
			return errOf(w.CountChangesets(w.ctx, s, g.view, memory.CauseAdd, time.Time{}, w.clock.Now()))
		}),
		"Touched": both(func(w *world, s tenant.Scope, g targets) error {
			return errOf(w.Touched(w.ctx, s, g.view, g.view))
		}),
		"Merges": both(func(w *world, s tenant.Scope, g targets) error {
			return noneVisible(w.Merges(w.ctx, s, g.view))
		}),
		"CreateSnapshot": both(func(w *world, s tenant.Scope, g targets) error {
			return errOf(w.CreateSnapshot(w.ctx, s, memory.Snapshot{Collection: g.collection, Name: "n"}, memory.AuditEntry{}))
		}),
		"Snapshots": both(func(w *world, s tenant.Scope, g targets) error {
			return noneVisible(w.Snapshots(w.ctx, s, g.collection))
		}),
		"DeleteSnapshot": both(func(w *world, s tenant.Scope, g targets) error {
			return w.DeleteSnapshot(w.ctx, s, g.collection, "n", memory.AuditEntry{})
		}),
		"RevisionAt": both(func(w *world, s tenant.Scope, g targets) error {
			return errOf(w.RevisionAt(w.ctx, s, g.view, w.clock.Now()))
		}),
		"Usage": both(func(w *world, s tenant.Scope, g targets) error {
			return errOf(w.Usage(w.ctx, s, g.view, []uuid.UUID{g.note}))
		}),
		"AddUsage": both(func(w *world, s tenant.Scope, g targets) error {
			return w.AddUsage(w.ctx, s, g.view, []memory.UsageDelta{{Note: g.note, Accesses: 1}})
		}),
		"Write": both(func(w *world, s tenant.Scope, g targets) error {
			return errOf(w.Write(w.ctx, s, g.collection, memory.WriteOptions{}, func(context.Context, memory.Tx) error { return errVisible }))
		}),
		"EraseNotes": both(func(w *world, s tenant.Scope, g targets) error {
			return errOf(w.EraseNotes(w.ctx, s, g.collection, memory.Erasing{Past: []uuid.UUID{g.note}}, memory.AuditEntry{Action: "note.erase"}))
		}),
		"AddVectors": both(func(w *world, s tenant.Scope, g targets) error {
			return w.AddVectors(w.ctx, s, g.view, otherEmbedder, []memory.VersionVector{{Version: memory.Version{Layer: g.collection, Note: g.note, From: 1}, Vector: []float32{1}}})
		}),
		"CountVectors": both(func(w *world, s tenant.Scope, g targets) error {
			_, _, err := w.CountVectors(w.ctx, s, g.view, embedder, dim)
			return err
		}),
		"ClaimJobs": both(func(w *world, s tenant.Scope, g targets) error {
			return errOf(w.ClaimJobs(w.ctx, s, g.collection, memory.StagePrepare, uuid.New(), later(w), 10))
		}),
		"Heartbeat": both(func(w *world, s tenant.Scope, g targets) error {
			return w.Heartbeat(w.ctx, s, g.job, g.lease, later(w))
		}),
		"ReleaseJob": both(func(w *world, s tenant.Scope, g targets) error {
			return w.ReleaseJob(w.ctx, s, g.job, g.lease, memory.JobEnd{State: memory.JobDone})
		}),
		"SetAlone": both(func(w *world, s tenant.Scope, g targets) error {
			return w.SetAlone(w.ctx, s, g.job, g.lease, 1)
		}),
		"SetProgress": both(func(w *world, s tenant.Scope, g targets) error {
			return w.SetProgress(w.ctx, s, g.job, g.lease, memory.Progress{Done: 1})
		}),
		"Attachments": both(func(w *world, s tenant.Scope, g targets) error {
			if err := noneVisible(w.Attachments(w.ctx, s, memory.AttachmentQuery{})); err != nil {
				return err
			}
			return noneVisible(w.Attachments(w.ctx, s, memory.AttachmentQuery{Collection: g.collection}))
		}),
		// Tools belong to the tenant; changing them is a matter of permissions.
		"CreateOwnTool": {own, own, func(w *world, s tenant.Scope, _ targets) error {
			if s.Tenant() == w.all.Tenant() {
				return nil
			}
			return errOf(w.CreateOwnTool(w.ctx, s, ownTool("look_up"), memory.AuditEntry{}))
		}},
		"OwnTool": {hidden, own, func(w *world, s tenant.Scope, g targets) error {
			return errOf(w.OwnTool(w.ctx, s, g.tool.String()))
		}},
		"ListOwnTools": {empty, own, func(w *world, s tenant.Scope, g targets) error {
			l, err := w.ListOwnTools(w.ctx, s, "", 0)
			if s.Tenant() != w.all.Tenant() && slices.ContainsFunc(l, func(t memory.OwnTool) bool { return t.ID == g.tool }) {
				return errVisible
			}
			return err
		}},
		"UpdateOwnTool": {hidden, own, func(w *world, s tenant.Scope, g targets) error {
			return errOf(w.UpdateOwnTool(w.ctx, s, g.tool, memory.AuditEntry{}, func(t *memory.OwnTool) error {
				if s.Tenant() != w.all.Tenant() {
					return errVisible
				}
				return nil
			}))
		}},
		"DeleteOwnTool": {hidden, own, func(w *world, s tenant.Scope, g targets) error {
			if err := s.Check(); err != nil || s.Tenant() == w.all.Tenant() {
				return err
			}
			return w.DeleteOwnTool(w.ctx, s, g.tool, memory.AuditEntry{})
		}},
		"AttachedOwnTools": both(func(w *world, s tenant.Scope, g targets) error {
			return noneVisible(w.AttachedOwnTools(w.ctx, s, g.collection))
		}),
		"AttachOwnTool": both(func(w *world, s tenant.Scope, g targets) error {
			return w.AttachOwnTool(w.ctx, s, g.collection, g.tool, memory.AuditEntry{})
		}),
		"DetachOwnTool": both(func(w *world, s tenant.Scope, g targets) error {
			return w.DetachOwnTool(w.ctx, s, g.collection, g.tool, memory.AuditEntry{})
		}),
		// So do webhooks.
		"CreateWebhook": both(func(w *world, s tenant.Scope, g targets) error {
			return errOf(w.CreateWebhook(w.ctx, s, memory.Webhook{Collection: g.collection}, manyWebhooks, memory.AuditEntry{}))
		}),
		"Webhook": {hidden, own, func(w *world, s tenant.Scope, g targets) error {
			return errOf(w.Webhook(w.ctx, s, g.webhook))
		}},
		"ListWebhooks": {empty, own, func(w *world, s tenant.Scope, _ targets) error {
			l, err := w.ListWebhooks(w.ctx, s, uuid.Nil, 0)
			if s.Tenant() == w.all.Tenant() {
				return err
			}
			return noneVisible(l, err)
		}},
		"UpdateWebhook": {hidden, own, func(w *world, s tenant.Scope, g targets) error {
			return errOf(w.UpdateWebhook(w.ctx, s, g.webhook, memory.AuditEntry{}, func(*memory.Webhook) error {
				if s.Tenant() != w.all.Tenant() {
					return errVisible
				}
				return nil
			}))
		}},
		"DeleteWebhook": {hidden, own, func(w *world, s tenant.Scope, g targets) error {
			if err := s.Check(); err != nil || s.Tenant() == w.all.Tenant() {
				return err
			}
			return w.DeleteWebhook(w.ctx, s, g.webhook, memory.AuditEntry{})
		}},
		"Deliveries": {hidden, own, func(w *world, s tenant.Scope, g targets) error {
			return errOf(w.Deliveries(w.ctx, s, memory.DeliveryQuery{Webhook: g.webhook}))
		}},
		"PutDelivery": {hidden, own, func(w *world, s tenant.Scope, g targets) error {
			if err := s.Check(); err != nil || s.Tenant() == w.all.Tenant() {
				return err
			}
			return w.PutDelivery(w.ctx, s, memory.Delivery{Webhook: g.webhook, ID: uuid.New()})
		}},
		"Job": both(func(w *world, s tenant.Scope, g targets) error { return errOf(w.Job(w.ctx, s, g.job)) }),
		"ListJobs": none(func(w *world, s tenant.Scope, _ targets) error {
			return noneVisible(w.ListJobs(w.ctx, s, memory.JobQuery{}))
		}),
		"Work":      both(func(w *world, s tenant.Scope, g targets) error { return errOf(w.Work(w.ctx, s, g.view)) }),
		"JobsAhead": both(func(w *world, s tenant.Scope, g targets) error { _, _, err := w.JobsAhead(w.ctx, s, g.job); return err }),
		"RetryJob": both(func(w *world, s tenant.Scope, g targets) error {
			return errOf(w.RetryJob(w.ctx, s, g.job, memory.AuditEntry{}))
		}),
		"CancelJob": both(func(w *world, s tenant.Scope, g targets) error {
			return errOf(w.CancelJob(w.ctx, s, g.job, memory.AuditEntry{}))
		}),
		"Review": both(func(w *world, s tenant.Scope, g targets) error { return errOf(w.Review(w.ctx, s, g.review)) }),
		"ListReviews": none(func(w *world, s tenant.Scope, _ targets) error {
			return noneVisible(w.ListReviews(w.ctx, s, memory.ReviewQuery{}))
		}),
		"Replayed": none(func(w *world, s tenant.Scope, _ targets) error {
			_, ok, err := w.Replayed(w.ctx, s, memory.Idempotency{Method: "POST", Path: "/p", Key: "once"})
			if ok {
				return errVisible
			}
			return err
		}),
		"Audit": {own, own, func(w *world, s tenant.Scope, _ targets) error {
			return w.Audit(w.ctx, s, memory.AuditEntry{Action: "x"})
		}},
		// Audit rows belong to the tenant; reading them is a matter of permissions.
		"ListAudit": {empty, own, func(w *world, s tenant.Scope, _ targets) error {
			l, err := w.ListAudit(w.ctx, s, memory.AuditQuery{Action: "alice.wrote"})
			if s.Tenant() != w.all.Tenant() {
				return noneVisible(l, err)
			}
			return err
		}},
		// Parts belong to the tenant: callers look the job up first, which checks the agent.
		"PutPart": {own, own, func(w *world, s tenant.Scope, g targets) error {
			if s.Tenant() == w.all.Tenant() {
				return nil
			}
			return w.PutPart(w.ctx, s, g.job, memory.SpoolBody, 0, []byte("of another"))
		}},
		"Parts": {empty, own, func(w *world, s tenant.Scope, g targets) error {
			return w.Parts(w.ctx, s, g.job, memory.SpoolBody, func(data []byte) error {
				if s.Tenant() == w.all.Tenant() || string(data) == "of another" {
					return nil
				}
				return errVisible
			})
		}},
		"DropParts": {empty, own, func(w *world, s tenant.Scope, g targets) error {
			if s.Tenant() == w.all.Tenant() {
				return nil
			}
			return errOf(w.DropParts(w.ctx, s, g.job, memory.SpoolBody, 0))
		}},
		"SweepParts": {empty, own, func(w *world, s tenant.Scope, _ targets) error {
			return w.SweepParts(w.ctx, s, w.clock.Now().Add(time.Hour))
		}},
		"AddModelUse": both(func(w *world, s tenant.Scope, g targets) error {
			return w.AddModelUse(w.ctx, s, []memory.ModelUse{{Collection: g.collection, Purpose: "x", Day: "2026-11-21", Calls: 1}})
		}),
		"ModelUse": none(func(w *world, s tenant.Scope, _ targets) error {
			return noneVisible(w.ModelUse(w.ctx, s, "2000-01-01", "2100-01-01"))
		}),
		"TenantUsage": none(func(w *world, s tenant.Scope, _ targets) error {
			u, err := w.TenantUsage(w.ctx, s)
			if u != (memory.TenantUsage{}) {
				return errVisible
			}
			return err
		}),
		// Another tenant may have its own agent with that name.
		"EnsureAgent": {own, hidden, func(w *world, s tenant.Scope, _ targets) error { return errOf(w.EnsureAgent(w.ctx, s, "alice")) }},
		"CreateAgent": {own, hidden, func(w *world, s tenant.Scope, _ targets) error {
			return errOf(w.CreateAgent(w.ctx, s, tenant.Agent{Name: "carol"}))
		}},
		"AgentByRef": both(func(w *world, s tenant.Scope, _ targets) error {
			return errOf(w.AgentByRef(w.ctx, s, w.alice.ID.String()))
		}),
		"ListAgents": {empty, empty, func(w *world, s tenant.Scope, _ targets) error {
			l, err := w.ListAgents(w.ctx, s, "", 0)
			for _, a := range l {
				if a.ID == w.alice.ID {
					return errVisible
				}
			}
			return err
		}},
		"DeleteAgent": both(func(w *world, s tenant.Scope, _ targets) error { return errOf(w.DeleteAgent(w.ctx, s, w.alice.ID)) }),
		"CreateKey": both(func(w *world, s tenant.Scope, _ targets) error {
			return w.CreateKey(w.ctx, s, auth.Key{ID: uuid.New(), Agent: w.alice.ID}, memory.AuditEntry{})
		}),
		"ListKeys": none(func(w *world, s tenant.Scope, _ targets) error { return noneVisible(w.ListKeys(w.ctx, s, uuid.Nil, 0)) }),
		"CreateGrant": both(func(w *world, s tenant.Scope, g targets) error {
			return w.CreateGrant(w.ctx, s, auth.Grant{ID: auth.GrantID{Grant: uuid.New()}, Key: g.key}, manyGrants, memory.AuditEntry{})
		}),
		"ListGrants": none(func(w *world, s tenant.Scope, _ targets) error {
			return noneVisible(w.ListGrants(w.ctx, s, uuid.Nil, 0))
		}),
		"UpdateGrant": both(func(w *world, s tenant.Scope, g targets) error {
			return errOf(w.UpdateGrant(w.ctx, s, g.grant, func(*auth.Grant) error { return errVisible }))
		}),
		"DeleteGrant": both(func(w *world, s tenant.Scope, g targets) error {
			return w.DeleteGrant(w.ctx, s, g.grant, memory.AuditEntry{})
		}),
		"UpdateKey": both(func(w *world, s tenant.Scope, g targets) error {
			return errOf(w.UpdateKey(w.ctx, s, g.key, memory.AuditEntry{}, func(*auth.Key) error { return errVisible }))
		}),
	}
}

func reachCases() []testCase {
	return []testCase{
		{"EveryMethodHasACase", everyMethodHasACase},
		{"ZeroScope", zeroScope},
		{"ZeroOperator", zeroOperator},
		{"OtherTenant", func(t *testing.T, w *world) {
			checkNoAccess(t, w, w.foreign, func(c reachCase) wantOutcome { return c.otherTenant })
		}},
		{"OtherAgent", func(t *testing.T, w *world) {
			checkNoAccess(t, w, w.bobS, func(c reachCase) wantOutcome { return c.otherAgent })
		}},
		{"OtherUser", otherUser(tenant.Limit{User: "bob@example.com"})},
		{"OtherApplication", otherUser(tenant.Limit{Agent: "helper"})},
		{"OtherProgram", otherUser(tenant.Limit{App: "bot"})},
		{"OtherRun", otherUser(tenant.Limit{User: "alice@example.com", Run: "1"})},
		{"OtherApplicationOfUser", otherUser(tenant.Limit{User: "alice@example.com", Agent: "helper"})},
		{"OwnUser", ownUser},
		{"ViewOfAnotherScope", viewOfAnotherScope},
	}
}

// otherUser calls every method with a scope that is limited to ids of an application which alice's data does not have.
func otherUser(l tenant.Limit) func(*testing.T, *world) {
	return func(t *testing.T, w *world) {
		s := grant.Limited(w.tenant.ID, uuid.Nil, l, "a user's token", tenant.AllPermissions()...)
		checkNoAccess(t, w, s, func(c reachCase) wantOutcome { return c.otherAgent })
	}
}

// ownUser: a limited scope reaches what has its ids, of any agent, and creates nothing without them.
func ownUser(_ *testing.T, w *world) {
	ida := memory.External{User: "ida@example.com"}
	c := must(w.external(w.aliceS, "of-ida", ida))(w.t)
	chat := must(w.external(w.bobS, "of-idas-chat", memory.External{User: ida.User, Agent: "chat", Run: "1"}))(w.t)
	w.collection("of nobody")
	must(w.external(w.all, "of another", memory.External{User: "ida", Agent: "chat"}))(w.t)
	limited := func(agent uuid.UUID, user, app string) tenant.Scope {
		return grant.Limited(w.tenant.ID, agent, tenant.Limit{User: user, Agent: app}, "a user's token", tenant.AllPermissions()...)
	}
	names := func(s tenant.Scope) string {
		var out []string
		for _, c := range must(w.ListCollections(w.ctx, s, memory.CollectionQuery{}))(w.t) {
			out = append(out, c.Name)
			w.assertf(must(w.OpenView(w.ctx, s, c.ID.String(), memory.At{}))(w.t).Collection.ID == c.ID, "%s opens", c.Name)
			w.noError(errOf(w.Write(w.ctx, s, c.ID, memory.WriteOptions{}, func(context.Context, memory.Tx) error { return nil })))
		}
		return strings.Join(out, ",")
	}
	for s, want := range map[string]struct {
		scope tenant.Scope
		names string
	}{
		"user":                {limited(uuid.Nil, ida.User, ""), "of-ida,of-idas-chat"},
		"user and agent":      {limited(uuid.Nil, ida.User, "chat"), "of-idas-chat"},
		"agent":               {limited(uuid.Nil, "", "chat"), "of another,of-idas-chat"},
		"user of alice":       {limited(w.alice.ID, ida.User, ""), "of-ida"},
		"user of bob":         {limited(w.bob.ID, ida.User, "chat"), "of-idas-chat"},
		"run":                 {grant.Limited(w.tenant.ID, uuid.Nil, tenant.Limit{Run: "1"}, "a run's key", tenant.AllPermissions()...), "of-idas-chat"},
		"user and app":        {grant.Limited(w.tenant.ID, uuid.Nil, tenant.Limit{User: ida.User, App: "1"}, "an app's key", tenant.AllPermissions()...), ""},
		"user in other case":  {limited(uuid.Nil, "IDA@example.com", ""), ""},
		"as text of a clause": {limited(uuid.Nil, "' OR 1 --", ""), ""},
	} {
		w.assertf(names(want.scope) == want.names, "%s: %s, want %s", s, names(want.scope), want.names)
	}
	s := limited(uuid.Nil, ida.User, "")
	v := must(w.OpenView(w.ctx, s, c.ID.String(), memory.At{}))(w.t)
	for _, other := range []tenant.Scope{w.all, w.aliceS, limited(uuid.Nil, "bob", ""), limited(w.alice.ID, ida.User, "")} {
		w.wantFault(errOf(w.Counts(w.ctx, other, v)), fault.NotFound)
	}
	for _, e := range []memory.External{{}, {User: "bob"}, {Agent: "chat"}} {
		w.wantInvalid(errOf(w.external(s, "new", e)), "external")
	}
	made := must(w.external(s, "new", memory.External{User: ida.User, Run: "2"}))(w.t)
	w.assertf(must(w.CollectionByExternal(w.ctx, s, made.External))(w.t).ID == made.ID && chat.ID != made.ID, "its own is found")
	fork := memory.NewCollection{Collection: memory.Collection{Name: "fork", Parent: c.ID, External: memory.External{User: ida.User, Run: "fork"}}}
	w.noError(errOf(w.CreateCollection(w.ctx, s, fork)))
}

func everyMethodHasACase(t *testing.T, _ *world) {
	table := reachTable()
	contract := reflect.TypeFor[store.Store]()
	scope, operator := reflect.TypeFor[tenant.Scope](), reflect.TypeFor[tenant.Operator]()
	for m := range contract.Methods() {
		takes := func(want reflect.Type) bool {
			for in := range m.Type.Ins() {
				if in == want {
					return true
				}
			}
			return false
		}
		_, listed := table[m.Name]
		reason, exempt := scopeless[m.Name]
		switch {
		case takes(scope) && !listed:
			t.Errorf("%s takes a Scope and has no case in reachTable", m.Name)
		case takes(operator) && reason != "operator":
			t.Errorf("%s takes an Operator and is not in scopeless", m.Name)
		case !takes(scope) && !exempt:
			t.Errorf("%s takes no Scope and is not in scopeless", m.Name)
		}
	}
	for name := range table {
		if _, ok := contract.MethodByName(name); !ok {
			t.Errorf("%s is not a method of Store", name)
		}
	}
}

// privateData creates a collection of alice with a note, a link, a job, a review and a part,
// and a key, an audit row and model use of alice.
func privateData(w *world) targets {
	w.t.Helper()
	g := targets{key: uuid.New(), external: memory.External{User: "alice@example.com"}}
	g.collection = must(w.external(w.aliceS, "private", g.external))(w.t).ID
	w.write(g.collection, func(tx memory.Tx) error {
		a, err := tx.Put(w.ctx, memory.Note{Content: "secret", Key: "k", Vector: []float32{1, 0, 0, 0}})
		if err != nil {
			return err
		}
		b, err := tx.Put(w.ctx, memory.Note{Content: "also"})
		if err != nil {
			return err
		}
		g.note = a.ID
		if _, err := tx.Link(w.ctx, memory.Link{LinkID: memory.LinkID{Source: a.ID, Target: b.ID}}); err != nil {
			return err
		}
		j, err := tx.Enqueue(w.ctx, memory.Job{Note: a.ID, Kind: memory.JobNote, Stage: memory.StagePrepare})
		if err != nil {
			return err
		}
		g.job = j.ID
		r, err := tx.OpenReview(w.ctx, memory.Review{Trigger: a.ID})
		g.review = r.ID
		return err
	})
	_, g.lease = w.claim(g.collection, memory.StagePrepare, 1)
	g.view = must(w.OpenView(w.ctx, w.aliceS, "private", memory.At{}))(w.t)
	w.noError(w.AddUsage(w.ctx, w.aliceS, g.view, []memory.UsageDelta{{Note: g.note, Accesses: 1}}))
	w.noError(w.CreateKey(w.ctx, w.aliceS, auth.Key{ID: g.key, Agent: w.alice.ID, Permissions: tenant.AllPermissions()}, memory.AuditEntry{}))
	w.noError(w.Audit(w.ctx, w.aliceS, memory.AuditEntry{Action: "alice.wrote"}))
	w.noError(w.PutPart(w.ctx, w.aliceS, g.job, memory.SpoolBody, 0, []byte("of alice")))
	w.noError(w.AddModelUse(w.ctx, w.aliceS, []memory.ModelUse{{Collection: g.collection, Purpose: "analyze", Day: "2026-11-21", Calls: 1}}))
	w.attach(w.block(w.collectionOf(w.alice.ID, "private-blocks").ID.String(), "team"), g.collection, memory.AttachRW)
	g.tool = w.tool("look_up").ID
	g.webhook = w.webhook(uuid.Nil).ID
	g.grant = w.grant(w.aliceS, g.key).ID.Grant
	w.noError(w.AttachOwnTool(w.ctx, w.aliceS, g.collection, g.tool, memory.AuditEntry{}))
	_, err := w.Write(w.ctx, w.aliceS, g.collection, memory.WriteOptions{Idempotency: &memory.Idempotency{Method: "POST", Path: "/p", Key: "once"}},
		func(context.Context, memory.Tx) error { return nil })
	w.noError(err)
	return g
}

// stateOf formats all data that a call without access must not change.
func stateOf(w *world, g targets) string {
	w.t.Helper()
	c := must(w.ResolveCollection(w.ctx, w.all, g.collection.String()))(w.t)
	j := must(w.Job(w.ctx, w.all, g.job))(w.t)
	u := must(w.Usage(w.ctx, w.aliceS, g.view, []uuid.UUID{g.note}))(w.t)
	k := must(w.KeyByID(w.ctx, w.all.Tenant(), g.key))(w.t)
	jobs := must(w.ListJobs(w.ctx, w.all, memory.JobQuery{}))(w.t)
	m := must(w.ModelUse(w.ctx, w.all, "2000-01-01", "2100-01-01"))(w.t)
	l := must(w.ListCollections(w.ctx, w.all, memory.CollectionQuery{}))(w.t)
	parts := w.parts(w.all, g.job, memory.SpoolBody)
	a := must(w.Attachments(w.ctx, w.all, memory.AttachmentQuery{}))(w.t)
	tools := must(w.ListOwnTools(w.ctx, w.all, "", 0))(w.t)
	hooks := must(w.ListWebhooks(w.ctx, w.all, uuid.Nil, 0))(w.t)
	grants := must(w.ListGrants(w.ctx, w.all, uuid.Nil, 0))(w.t)
	for i := range hooks {
		hooks[i].UpdatedAt = time.Time{} // as with tools
	}
	for i := range tools {
		tools[i].UpdatedAt = time.Time{} // an agent of the tenant may write it
	}
	return fmt.Sprintf("%+v\n%+v\n%+v\n%+v\n%d\n%+v\n%d\n%q\n%+v\n%+v\n%+v\n%+v", c, j, u, k, len(jobs), m, len(l), parts, a, tools, hooks, grants)
}

// checkNoAccess calls every method with alice's data in the scope s, and checks the outcome.
// Refusals of existing and of absent targets must have the same message.
func checkNoAccess(t *testing.T, w *world, s tenant.Scope, want func(reachCase) wantOutcome) {
	g := privateData(w)
	missing := targets{collection: uuid.New(), note: uuid.New(), job: uuid.New(), lease: uuid.New(), review: uuid.New(), key: uuid.New(), tool: uuid.New(), webhook: uuid.New(), grant: uuid.New(), view: g.view, external: memory.External{User: "nobody"}}
	before := stateOf(w, g)
	for name, c := range reachTable() {
		err := c.call(w, s, g)
		switch want(c) {
		case hidden:
			if !fault.Is(err, fault.NotFound) {
				t.Errorf("%s: got %v, want NotFound", name, err)
			}
			if absent := c.call(w, s, missing); name != "CreateCollection" && message(absent) != message(err) {
				t.Errorf("%s: the message is %q for data of another scope, %q for absent data", name, message(err), message(absent))
			}
		case empty, own:
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if after := stateOf(w, g); after != before {
			t.Fatalf("%s changed data of another scope:\n%s\n%s", name, before, after)
		}
	}
	if err := errOf(w.GrantByID(w.ctx, auth.GrantID{Tenant: w.foreign.Tenant(), Grant: g.grant})); !fault.Is(err, fault.NotFound) {
		t.Errorf("a grant was found under another tenant: %v", err)
	}
	if err := errOf(w.KeyByID(w.ctx, w.foreign.Tenant(), g.key)); !fault.Is(err, fault.NotFound) {
		t.Errorf("a key was found under another tenant: %v", err)
	}
}

// message returns the message of a fault without its cause.
func message(err error) string {
	if f, ok := errors.AsType[*fault.Error](err); ok {
		return f.Message
	}
	return fmt.Sprint(err)
}

func zeroScope(t *testing.T, w *world) {
	g := privateData(w)
	for name, c := range reachTable() {
		if err := c.call(w, tenant.Scope{}, g); !fault.Is(err, fault.Unauthenticated) {
			t.Errorf("%s: got %v, want Unauthenticated", name, err)
		}
	}
}

func zeroOperator(t *testing.T, w *world) {
	for name, call := range map[string]func(tenant.Operator) error{
		"CreateTenant":       func(op tenant.Operator) error { return errOf(w.CreateTenant(w.ctx, op, tenant.Tenant{Name: "x"})) },
		"TenantByName":       func(op tenant.Operator) error { return errOf(w.TenantByName(w.ctx, op, "home")) },
		"ListTenants":        func(op tenant.Operator) error { return errOf(w.ListTenants(w.ctx, op, "", 0)) },
		"UpdateTenant":       func(op tenant.Operator) error { return errOf(w.UpdateTenant(w.ctx, op, w.tenant)) },
		"DeleteTenant":       func(op tenant.Operator) error { return w.DeleteTenant(w.ctx, op, w.tenant.ID) },
		"EndTenantDeletions": func(op tenant.Operator) error { return w.EndTenantDeletions(w.ctx, op) },
		"CreateOperatorKey":  func(op tenant.Operator) error { return w.CreateOperatorKey(w.ctx, op, auth.Key{ID: uuid.New()}) },
		"ListOperatorKeys":   func(op tenant.Operator) error { return errOf(w.ListOperatorKeys(w.ctx, op, uuid.Nil, 0)) },
		"UpdateOperatorKey": func(op tenant.Operator) error {
			return errOf(w.UpdateOperatorKey(w.ctx, op, uuid.New(), func(*auth.Key) error { return nil }))
		},
	} {
		if scopeless[name] != "operator" {
			t.Errorf("%s is not in scopeless", name)
		}
		if err := call(tenant.Operator{}); !fault.Is(err, fault.Unauthenticated) {
			t.Errorf("%s: got %v, want Unauthenticated", name, err)
		}
	}
	for name, reason := range scopeless {
		m, ok := reflect.TypeFor[store.Store]().MethodByName(name)
		if !ok || reason == "operator" && m.Type.In(1) != reflect.TypeFor[tenant.Operator]() {
			t.Errorf("%s is in scopeless, but is not a method, or takes no Operator", name)
		}
	}
}

// viewOfAnotherScope: a view works only with the scope that opened it, even within a tenant.
func viewOfAnotherScope(_ *testing.T, w *world) {
	shared := w.collection("shared")
	w.add(shared.ID, "seen by both")
	v := must(w.OpenView(w.ctx, w.aliceS, "shared", memory.At{}))(w.t)
	w.wantFault(errOf(w.ListNotes(w.ctx, w.bobS, v, memory.NoteQuery{})), fault.NotFound)
	bobs := must(w.OpenView(w.ctx, w.bobS, "shared", memory.At{}))(w.t)
	w.assertf(len(must(w.ListNotes(w.ctx, w.bobS, bobs, memory.NoteQuery{}))(w.t)) == 1, "every agent can read a shared base")
}
