package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
)

func toolCases() []testCase {
	return []testCase{
		{"Keep", keepTools},
		{"Attach", attachTools},
		{"Fork", forkWithTools},
		{"Delete", deleteTools},
		{"Together", attachAndDeleteTool},
	}
}

// ownTool returns a tool that is not stored yet.
func ownTool(name string) memory.OwnTool {
	return memory.OwnTool{Name: name, Spec: memory.OwnToolSpec{
		Description: "about " + name, Parameters: json.RawMessage(`{"type":"object","b":1,"a":2}`),
	}}
}

func (w *world) tool(name string) memory.OwnTool {
	w.t.Helper()
	return must(w.CreateOwnTool(w.ctx, w.all, ownTool(name), memory.AuditEntry{Action: "tool.create"}))(w.t)
}

// toolsOf lists the names of the tools that a collection shows.
func (w *world) toolsOf(collection uuid.UUID) (out []string) {
	w.t.Helper()
	for _, t := range must(w.AttachedOwnTools(w.ctx, w.all, collection))(w.t) {
		out = append(out, t.Name)
	}
	return out
}

// keepTools: a tool is found by id and name, and changes but for its name.
func keepTools(_ *testing.T, w *world) {
	in := ownTool("weather")
	made := must(w.CreateOwnTool(w.ctx, w.all, in, memory.AuditEntry{Action: "tool.create"}))(w.t)
	w.assertf(made.ID != uuid.Nil && !made.CreatedAt.IsZero() && made.UpdatedAt.Equal(made.CreatedAt), "created: %+v", made)
	for _, ref := range []string{made.ID.String(), "weather"} {
		got := must(w.OwnTool(w.ctx, w.aliceS, ref))(w.t)
		w.assertf(cmp.Diff(got, made) == "", "read by %s: %s", ref, cmp.Diff(made, got))
	}
	w.wantFault(errOf(w.CreateOwnTool(w.ctx, w.all, in, memory.AuditEntry{})), fault.Exists)
	for _, name := range []string{"", "a\x00b", uuid.NewString()} {
		w.wantInvalid(errOf(w.CreateOwnTool(w.ctx, w.all, ownTool(name), memory.AuditEntry{})), "name")
	}
	bad := ownTool("bad")
	bad.Spec.Parameters = json.RawMessage(`{"type":`)
	w.wantInvalid(errOf(w.CreateOwnTool(w.ctx, w.all, bad, memory.AuditEntry{})), "parameters")
	bad = ownTool("bad")
	bad.Spec.Description = "a\x00b"
	w.wantInvalid(errOf(w.CreateOwnTool(w.ctx, w.all, bad, memory.AuditEntry{})), "spec")

	w.tool("Zebra")
	w.tool("alarm")
	page := must(w.ListOwnTools(w.ctx, w.all, "Zebra", 1))(w.t)
	w.assertf(len(page) == 1 && page[0].Name == "alarm", "a page: %+v", page)
	w.assertf(len(must(w.ListOwnTools(w.ctx, w.all, "", 0))(w.t)) == 3, "all")
	w.assertf(len(must(w.ListOwnTools(w.ctx, w.foreign, "", 0))(w.t)) == 0, "another tenant sees none")
	w.noError(errOf(w.CreateOwnTool(w.ctx, w.foreign, in, memory.AuditEntry{})))

	w.clock.Advance(time.Minute)
	changed := must(w.UpdateOwnTool(w.ctx, w.all, made.ID, memory.AuditEntry{Action: "tool.update"}, func(t *memory.OwnTool) error {
		t.Name, t.ID, t.Spec.Description = "other", uuid.New(), "new"
		return nil
	}))(w.t)
	w.assertf(changed.Name == "weather" && changed.ID == made.ID && changed.Spec.Description == "new" && changed.UpdatedAt.After(made.UpdatedAt), "changed: %+v", changed)
	got := must(w.OwnTool(w.ctx, w.all, "weather"))(w.t)
	w.assertf(cmp.Diff(got, changed) == "", "after the change: %s", cmp.Diff(changed, got))
	failed := errors.New("no")
	_, err := w.UpdateOwnTool(w.ctx, w.all, made.ID, memory.AuditEntry{}, func(t *memory.OwnTool) error { t.Spec.Description = "lost"; return failed })
	w.assertf(errors.Is(err, failed) && must(w.OwnTool(w.ctx, w.all, "weather"))(w.t).Spec.Description == "new", "a change that fails: %v", err)
	w.wantFault(errOf(w.UpdateOwnTool(w.ctx, w.all, uuid.New(), memory.AuditEntry{}, func(*memory.OwnTool) error { return nil })), fault.NotFound)
	log := must(w.ListAudit(w.ctx, w.all, memory.AuditQuery{Action: "tool.update"}))(w.t)
	w.assertf(len(log) == 1 && log[0].Target == made.ID.String(), "audit: %+v", log)
}

// attachTools: a collection shows tools by name, each once.
func attachTools(_ *testing.T, w *world) {
	zoo, alarm := w.tool("zoo"), w.tool("alarm")
	c, d := w.collection("c"), w.collectionOf(w.bob.ID, "d")
	for _, t := range []memory.OwnTool{zoo, alarm, zoo} {
		w.noError(w.AttachOwnTool(w.ctx, w.all, c.ID, t.ID, memory.AuditEntry{Action: "tool.attach"}))
	}
	w.assertf(fmt.Sprint(w.toolsOf(c.ID)) == "[alarm zoo]", "shown: %v", w.toolsOf(c.ID))
	w.assertf(len(w.toolsOf(d.ID)) == 0, "another collection shows %v", w.toolsOf(d.ID))
	blocks := must(memory.AttachedBlocks(w.ctx, w, w.all, c.ID, memory.ReadOptions{}))(w.t)
	w.assertf(len(blocks) == 0, "a tool is shown as a block: %+v", blocks)
	w.put(c.ID, memory.Note{Kind: memory.KindBlock, Key: "zoo", Content: "a label is no name of a tool"})
	for what, err := range map[string]error{
		"an absent tool":              w.AttachOwnTool(w.ctx, w.all, c.ID, uuid.New(), memory.AuditEntry{}),
		"an absent collection":        w.AttachOwnTool(w.ctx, w.all, uuid.New(), zoo.ID, memory.AuditEntry{}),
		"another agent's":             w.AttachOwnTool(w.ctx, w.aliceS, d.ID, zoo.ID, memory.AuditEntry{}),
		"of another tenant":           w.AttachOwnTool(w.ctx, w.foreign, c.ID, zoo.ID, memory.AuditEntry{}),
		"detach what is not attached": w.DetachOwnTool(w.ctx, w.all, d.ID, zoo.ID, memory.AuditEntry{}),
	} {
		if !fault.Is(err, fault.NotFound) {
			w.t.Errorf("%s: %v", what, err)
		}
	}
	theirs := must(w.CreateCollection(w.ctx, w.foreign, memory.NewCollection{Collection: memory.Collection{Name: "theirs", Policy: "none", Embedder: embedder, Dim: dim}}))(w.t).Collection
	w.wantFault(w.AttachOwnTool(w.ctx, w.foreign, theirs.ID, zoo.ID, memory.AuditEntry{}), fault.NotFound)
	w.noError(w.DetachOwnTool(w.ctx, w.all, c.ID, zoo.ID, memory.AuditEntry{Action: "tool.detach"}))
	w.assertf(fmt.Sprint(w.toolsOf(c.ID)) == "[alarm]", "after the end: %v", w.toolsOf(c.ID))
	team := w.block("blocks", "team")
	w.attach(team, c.ID, memory.AttachRW)
	w.wantFault(w.DetachOwnTool(w.ctx, w.all, c.ID, team.Block, memory.AuditEntry{}), fault.NotFound)
	w.assertf(len(must(w.ListAudit(w.ctx, w.all, memory.AuditQuery{Action: "tool.detach"}))(w.t)) == 1, "audit")
}

// forkWithTools: a collection may begin with the tools of another one, all or nothing.
func forkWithTools(_ *testing.T, w *world) {
	zoo := w.tool("zoo")
	c := w.collection("c")
	w.noError(w.AttachOwnTool(w.ctx, w.all, c.ID, zoo.ID, memory.AuditEntry{}))
	list := must(w.Attachments(w.ctx, w.all, memory.AttachmentQuery{Collection: c.ID}))(w.t)
	w.assertf(len(list) == 1 && list[0].Mode == memory.AttachTool && list[0].Home == uuid.Nil && list[0].Label == memory.ToolLabel("zoo") && !list[0].IsBlock(), "attached: %+v", list)
	f := must(w.CreateCollection(w.ctx, w.all, memory.NewCollection{Collection: memory.Collection{Name: "f", Policy: "none", Parent: c.ID}, Attach: list}))(w.t).Collection
	w.assertf(fmt.Sprint(w.toolsOf(f.ID)) == "[zoo]", "a fork shows %v", w.toolsOf(f.ID))
	w.wantFault(errOf(w.CreateCollection(w.ctx, w.foreign, memory.NewCollection{Collection: memory.Collection{Name: "thief", Policy: "none"}, Attach: list})), fault.NotFound)
}

// deleteTools: a tool is not deleted while collections show it; what is deleted or has expired shows nothing.
func deleteTools(_ *testing.T, w *world) {
	zoo := w.tool("zoo")
	mine, bobs := w.collectionOf(w.alice.ID, "mine"), w.collectionOf(w.bob.ID, "bobs")
	for _, c := range []uuid.UUID{mine.ID, bobs.ID} {
		w.noError(w.AttachOwnTool(w.ctx, w.all, c, zoo.ID, memory.AuditEntry{}))
	}
	err := w.DeleteOwnTool(w.ctx, w.aliceS, zoo.ID, memory.AuditEntry{})
	w.wantFault(err, fault.Conflict)
	if f, ok := errors.AsType[*fault.Error](err); !ok || len(f.Collections) != 1 || f.Collections[0] != mine.ID.String() {
		w.t.Errorf("the conflict names %+v", err)
	}
	w.noError(errOf(w.DeleteCollection(w.ctx, w.all, mine.ID, false, memory.AuditEntry{})))
	must(w.UpdateCollection(w.ctx, w.all, bobs.ID, memory.AuditEntry{}, func(c *memory.Collection) error {
		c.ExpiresAt = w.clock.Now().Add(time.Hour)
		return nil
	}))(w.t)
	w.clock.Advance(2 * time.Hour)
	w.noError(w.DeleteOwnTool(w.ctx, w.all, zoo.ID, memory.AuditEntry{Action: "tool.delete"}))
	w.wantFault(errOf(w.OwnTool(w.ctx, w.all, "zoo")), fault.NotFound)
	w.wantFault(w.DeleteOwnTool(w.ctx, w.all, zoo.ID, memory.AuditEntry{}), fault.NotFound)
	w.tool("zoo")
	w.noError(w.DeleteTenant(w.ctx, w.op, w.tenant.ID))
	w.assertf(len(must(w.ListOwnTools(w.ctx, w.all, "", 0))(w.t)) == 0, "tools were left")
	w.wantFault(errOf(w.CreateOwnTool(w.ctx, w.all, ownTool("late"), memory.AuditEntry{})), fault.NotFound)
}

// attachAndDeleteTool: a tool that is attached and deleted at the same time is either attached or gone.
func attachAndDeleteTool(_ *testing.T, w *world) {
	for i := range 4 {
		zoo, c := w.tool(fmt.Sprint("zoo", i)), w.collection(fmt.Sprint("c", i))
		var attached, deleted error
		var all sync.WaitGroup
		all.Go(func() { attached = w.AttachOwnTool(w.ctx, w.all, c.ID, zoo.ID, memory.AuditEntry{}) })
		all.Go(func() { deleted = w.DeleteOwnTool(w.ctx, w.all, zoo.ID, memory.AuditEntry{}) })
		all.Wait()
		w.assertf((attached == nil) != (deleted == nil), "attach: %v, delete: %v", attached, deleted)
	}
}
