package mem0

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/oapi-codegen/nullable"

	"github.com/slipboxhq/slipbox/internal/api/route"
	"github.com/slipboxhq/slipbox/internal/clip"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/filter"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/notes"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

func parseID(text string) (uuid.UUID, error) {
	const textLength = 36
	id, err := uuid.Parse(text)
	if err != nil || len(text) != textLength {
		return uuid.Nil, fault.Missing("memory")
	}
	return id, nil
}

// holding calls try for each collection of an application's ids that was written a note, until it finds the note there.
// NotFound when there is none.
func (s *Service) holding(ctx context.Context, scope tenant.Scope, id uuid.UUID, try func(c *memory.Collection) error) error {
	found, err := s.Collections.HavingNote(ctx, scope, id)
	if err != nil && !fault.Is(err, fault.NotFound) {
		return err
	}
	for i := range found {
		if found[i].External.IsZero() {
			continue
		}
		if err := try(&found[i]); !fault.Is(err, fault.NotFound) {
			return err
		}
	}
	return fault.Missing("memory")
}

// read returns a memory with its collection.
func (s *Service) read(ctx context.Context, scope tenant.Scope, c *memory.Collection, id uuid.UUID) (memory.Note, error) {
	v, err := s.Recall.Open(ctx, scope, c.ID.String(), nil, 0)
	if err != nil {
		return memory.Note{}, err
	}
	found, err := s.Recall.Get(ctx, scope, v, id, false)
	if err == nil && !slices.Contains(kinds, found.Kind) {
		err = fault.Missing("memory")
	}
	return found.Note, err
}

func (s *Service) get(ctx context.Context, r *route.Request, id uuid.UUID) (route.Reply, error) {
	var out Memory
	err := s.holding(ctx, r.Scope, id, func(c *memory.Collection) error {
		n, err := s.read(ctx, r.Scope, c, id)
		out = render(c.External, &n)
		return err
	})
	return answer(out, err)
}

type updateBody struct {
	MemoryID       string                    `json:"memory_id"` // of a batch
	Text           *string                   `json:"text"`
	Memory         *string                   `json:"memory"`
	Data           *string                   `json:"data"`
	Metadata       nullable.Nullable[object] `json:"metadata"`
	Timestamp      any                       `json:"timestamp"`
	ExpirationDate nullable.Nullable[string] `json:"expiration_date"`
	Erase          bool                      `json:"erase"` // of a batch of deletions
}

type object = map[string]any

// patch returns the change of a note that a body asks for.
func (b *updateBody) patch(now time.Time) (notes.NotePatch, error) {
	p := notes.NotePatch{Content: b.Text}
	for _, other := range []*string{b.Memory, b.Data} { // the names of older programs
		if p.Content == nil {
			p.Content = other
		}
	}
	attributes := object{}
	if m, err := b.Metadata.Get(); err == nil {
		attributes[attrMetadata] = m
	} else if b.Metadata.IsNull() {
		attributes[attrMetadata] = nil
	}
	if day, err := b.ExpirationDate.Get(); err == nil {
		end, err := endOf(day, now)
		if err != nil {
			return p, err
		}
		p.ExpiresAt.Set(end)
	} else if b.ExpirationDate.IsNull() {
		p.ExpiresAt.SetNull()
	}
	if len(attributes) > 0 {
		p.Attributes.Set(attributes)
	}
	if b.Timestamp != nil {
		at, err := memory.TimeOf(b.Timestamp)
		if err != nil {
			return p, malformed("timestamp: %s", err)
		}
		p.OccurredAt.Set(at)
	}
	if p.Content == nil && !p.Attributes.IsSpecified() && !p.OccurredAt.IsSpecified() && !p.ExpiresAt.IsSpecified() {
		return p, malformed("text: at least one of text, metadata, timestamp and expiration_date must be given")
	}
	return p, nil
}

// change changes a memory and returns it.
func (s *Service) change(ctx context.Context, scope tenant.Scope, id uuid.UUID, p notes.NotePatch, q memory.Request) (out Memory, err error) {
	err = s.holding(ctx, scope, id, func(c *memory.Collection) error {
		w, err := s.Notes.Patch(ctx, scope, c.ID.String(), id, p, q)
		out = render(c.External, &w.Note)
		return err
	})
	return out, err
}

func (s *Service) update(ctx context.Context, r *route.Request, id uuid.UUID) (route.Reply, error) {
	body, err := route.Bind[updateBody](r)
	if err != nil {
		return route.Reply{}, err
	}
	p, err := body.patch(s.Clock())
	if err != nil {
		return route.Reply{}, err
	}
	out, err := s.change(ctx, r.Scope, id, p, r.Conditions)
	return answer(struct {
		Memory
		Message string `json:"message"`
	}{out, "Memory updated successfully!"}, err)
}

// deleteMemory deletes a memory, or erases it and what was derived from it.
func (s *Service) deleteMemory(ctx context.Context, scope tenant.Scope, id uuid.UUID, erase bool, q memory.Request) (out notes.Erasure, err error) {
	err = s.holding(ctx, scope, id, func(c *memory.Collection) error {
		out, err = s.deleteIn(ctx, scope, c.ID.String(), id, erase, q)
		return err
	})
	return out, err
}

// deleteIn is deleteMemory of a note of a collection.
func (s *Service) deleteIn(ctx context.Context, scope tenant.Scope, ref string, id uuid.UUID, erase bool, q memory.Request) (notes.Erasure, error) {
	if erase {
		return s.Notes.Erase(ctx, scope, ref, id, notes.TakeSentences, q)
	}
	out, err := s.Notes.DeleteWith(ctx, scope, ref, id, notes.TakeSentences, q)
	return notes.Erasure{Deleted: out}, err
}

// deletedMessage is the message of a deletion, with the ids of the notes that may still say what was deleted, and what an erasure has left.
func deletedMessage(done string, e *notes.Erasure) message {
	const most = 32
	out := message{Message: done, Traces: e.Traces, Waiting: e.Waiting}
	for _, k := range e.Kept {
		out.Kept = append(out.Kept, k.Name)
	}
	if len(e.Said) > 0 {
		list := make([]string, 0, most)
		for _, id := range e.Said[:min(len(e.Said), most)] {
			list = append(list, id.String())
		}
		out.Message += " Messages that may still say it: " + strings.Join(list, ", ")
	}
	return out
}

// erases reports whether a request asks to remove every version.
func erases(r *route.Request) bool { return r.Query.Get("erase") == "true" }

func (s *Service) remove(ctx context.Context, r *route.Request, id uuid.UUID) (route.Reply, error) {
	out, err := s.deleteMemory(ctx, r.Scope, id, erases(r), r.Conditions)
	return answer(deletedMessage("Memory deleted successfully!", &out), err)
}

type batchBody struct {
	Memories []updateBody `json:"memories"`
}

// batch reads the ids of a batch. A batch with a memory that does not exist changes nothing.
func (s *Service) batch(ctx context.Context, r *route.Request) ([]updateBody, []uuid.UUID, error) {
	body, err := route.Bind[batchBody](r)
	if err != nil {
		return nil, nil, err
	}
	ids := make([]uuid.UUID, len(body.Memories))
	for i := range body.Memories {
		if ids[i], err = parseID(body.Memories[i].MemoryID); err == nil {
			err = s.holding(ctx, r.Scope, ids[i], func(*memory.Collection) error { return nil })
		}
		if err != nil {
			return nil, nil, atIndex(i, err)
		}
	}
	return body.Memories, ids, nil
}

// atIndex names the place of a failure in a batch.
func atIndex(i int, err error) error {
	f, ok := errors.AsType[*fault.Error](err)
	if !ok {
		return err
	}
	out := *f
	out.Message = "memories." + strconv.Itoa(i) + ": " + f.Message
	return &out
}

func (s *Service) updateMany(ctx context.Context, r *route.Request) (route.Reply, error) {
	list, ids, err := s.batch(ctx, r)
	if err != nil {
		return route.Reply{}, err
	}
	patches := make([]notes.NotePatch, len(list))
	for i := range list {
		if patches[i], err = list[i].patch(s.Clock()); err != nil {
			return route.Reply{}, atIndex(i, err)
		}
	}
	for i := range ids {
		if _, err := s.change(ctx, r.Scope, ids[i], patches[i], memory.Request{}); err != nil {
			return route.Reply{}, atIndex(i, err)
		}
	}
	return ok(message{Message: fmt.Sprintf("Successfully updated %d memories", len(ids))})
}

func (s *Service) removeMany(ctx context.Context, r *route.Request) (route.Reply, error) {
	list, ids, err := s.batch(ctx, r)
	if err != nil {
		return route.Reply{}, err
	}
	var all notes.Erasure
	for i, id := range ids {
		one, err := s.deleteMemory(ctx, r.Scope, id, erases(r) || list[i].Erase, memory.Request{})
		all.Add(&one)
		if err != nil && (!fault.Is(err, fault.NotFound) || !slices.Contains(ids[:i], id)) {
			return route.Reply{}, atIndex(i, err)
		}
	}
	all.Said = slices.DeleteFunc(all.Said, func(id uuid.UUID) bool { return slices.Contains(ids, id) })
	return ok(deletedMessage(fmt.Sprintf("Successfully deleted %d memories", len(ids)), &all))
}

// removeAll deletes the memories that the query selects, with the messages that they were learned from. Where that is
// all of an entity, its collections are deleted.
func (s *Service) removeAll(ctx context.Context, r *route.Request) (route.Reply, error) {
	c, err := queryCondition(r.Query)
	if err != nil {
		return route.Reply{}, err
	}
	if v, err := parseParameter("filters", r.Query.Get("filters")); err == nil {
		if name := nameless(v); name != "" {
			return route.Reply{}, malformed("filters.%s: is not known; a deletion names the metadata as such", clip.Runes(name, 40))
		}
	}
	homes, err := homesOf(c, "deleted")
	if err != nil {
		return route.Reply{}, err
	}
	var all notes.Erasure
	for _, home := range homes {
		if len(unknown(c)) > 0 {
			found, err := s.Collections.ByExternal(ctx, r.Scope, home)
			if err == nil {
				err = s.lookUp(ctx, r.Scope, &found, c)
			}
			if err != nil && !fault.Is(err, fault.NotFound) {
				return route.Reply{}, err
			}
		}
		e, t := c.in(home)
		switch t {
		case never:
		case always:
			err = s.forget(ctx, r.Scope, home)
		case depends:
			err = s.removeMatching(ctx, r, home, e, &all)
		}
		if err != nil && !fault.Is(err, fault.NotFound) {
			return route.Reply{}, err
		}
	}
	all.Said = nil // the messages are deleted, too
	return ok(deletedMessage("Memories deleted successfully!", &all))
}

// forget deletes every collection of an entity. One that is kept, since another agent's fork reads it, is an error.
func (s *Service) forget(ctx context.Context, scope tenant.Scope, e memory.External) error {
	done, err := s.Collections.Forget(ctx, scope, e, notes.RefuseForks)
	if err != nil {
		return err
	}
	for i := range done {
		if done[i].Kept != nil {
			return done[i].Kept
		}
	}
	return nil
}

// removeMatching deletes the memories and messages of an entity that match: first what was learned, then its sources. It adds to all.
func (s *Service) removeMatching(ctx context.Context, r *route.Request, home memory.External, e filter.Expr, all *notes.Erasure) error {
	found, err := s.Collections.ByExternal(ctx, r.Scope, home)
	if err != nil {
		return err
	}
	if e, err = checkExpr(e); err != nil {
		return err
	}
	ref := found.ID.String()
	for _, of := range [][]memory.Kind{kinds, {memory.KindMessage}} {
		for {
			v, err := s.Recall.Open(ctx, r.Scope, ref, nil, 0)
			if err != nil {
				return err
			}
			var ids []uuid.UUID
			err = s.eachNote(ctx, r.Scope, v, filter.And{memory.OfKinds(of...), e}, func(n *memory.Note) error {
				ids = append(ids, n.ID)
				return nil
			})
			if err != nil {
				return err
			}
			for _, id := range ids {
				one, err := s.deleteIn(ctx, r.Scope, ref, id, erases(r), memory.Request{})
				if err != nil && !fault.Is(err, fault.NotFound) {
					return err
				}
				all.Add(&one)
			}
			if len(ids) < maxListed {
				break
			}
		}
	}
	return nil
}

// historyEntry is a change of a memory.
type historyEntry struct {
	ID        string    `json:"id"`
	MemoryID  uuid.UUID `json:"memory_id"`
	OldMemory *string   `json:"old_memory"`
	NewMemory *string   `json:"new_memory"`
	Event     string    `json:"event"`
	UserID    *string   `json:"user_id"`
	AgentID   *string   `json:"agent_id"`
	AppID     *string   `json:"app_id"`
	RunID     *string   `json:"run_id"`
	Metadata  any       `json:"metadata"`
	CreatedAt string    `json:"created_at"`
	UpdatedAt string    `json:"updated_at"`
	IsDeleted bool      `json:"is_deleted"`
}

// history answers the texts that a memory had, oldest first, also of a deleted one.
func (s *Service) history(ctx context.Context, r *route.Request, id uuid.UUID) (route.Reply, error) {
	var out []historyEntry
	err := s.holding(ctx, r.Scope, id, func(c *memory.Collection) error {
		v, err := s.Recall.Open(ctx, r.Scope, c.ID.String(), nil, 0)
		if err != nil {
			return err
		}
		page, err := s.Recall.History(ctx, r.Scope, v, id, 0, memory.MaxPage)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(page.Items, func(e memory.HistoryEntry) bool { return slices.Contains(kinds, e.Note.Kind) }) {
			return fault.Missing("memory")
		}
		out = historyOf(c.External, id, page.Items, page.Next > 0)
		return nil
	})
	return answer(out, err)
}

// inOrder returns versions oldest first, with the older statements that they list where their time is.
func inOrder(versions []memory.HistoryEntry) (out []memory.HistoryEntry) {
	listed := map[string]bool{}
	for _, v := range slices.Backward(versions) {
		out = append(out, v)
		for _, e := range memory.EarlierOf(&v.Note) {
			if listed[e.Content] {
				continue
			}
			listed[e.Content] = true
			older := v
			older.Note.Content, older.Note.OccurredAt = e.Content, e.OccurredAt
			at := slices.IndexFunc(out, func(o memory.HistoryEntry) bool { return o.Note.OccurredAt.After(e.OccurredAt) })
			out = slices.Insert(out, max(0, at), older)
		}
	}
	return out
}

// historyOf returns versions, newest first, as changes of the text, oldest first. cut says that older versions were left
// out.
func historyOf(of memory.External, id uuid.UUID, versions []memory.HistoryEntry, cut bool) []historyEntry {
	out := []historyEntry{}
	var before *memory.Note
	for _, v := range inOrder(versions) {
		n := &v.Note
		e := historyEntry{
			ID: id.String() + "@" + strconv.FormatInt(int64(n.From), 10), MemoryID: id, Event: "UPDATE", IsDeleted: n.Deleted,
			UpdatedAt: formatTime(v.Changeset.At),
		}
		if before != nil {
			e.OldMemory = &before.Content
		}
		shown := n
		switch {
		case n.Deleted:
			e.Event, shown = "DELETE", before
		case before == nil:
			if !cut {
				e.Event = "ADD"
			}
			e.NewMemory = &n.Content
		case before.Content == n.Content:
			before = n
			continue
		default:
			e.NewMemory = &n.Content
		}
		if shown != nil {
			ids := idsOf(of, shown.Attributes)
			e.UserID, e.AgentID, e.AppID, e.RunID = ids[0], ids[1], ids[2], ids[3]
			e.Metadata, e.CreatedAt = shown.Attributes[attrMetadata], formatTime(createdAt(shown))
		} else {
			e.CreatedAt = e.UpdatedAt
		}
		if before = n; n.Deleted {
			before = nil
		}
		out = append(out, e)
	}
	return out
}
