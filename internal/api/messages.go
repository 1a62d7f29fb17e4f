package api

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/api/wire"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/filter"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/notes"
	"github.com/slipboxhq/slipbox/internal/memory/recall"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/internal/text/parts"
	"github.com/slipboxhq/slipbox/internal/wording"
)

// addMessages answers 202: the messages are stored, and their policy works on them.
func (h *core) addMessages(c *gin.Context, ref string) error {
	body, err := bind[struct {
		wire.MessagesInput

		Messages []any `json:"messages"` // in any form that is known
	}](c)
	if err != nil {
		return err
	}
	in, err := h.newMessages(body.Messages)
	if err != nil {
		return err
	}
	wait := query(c).Get("wait") == "evolved"
	leave, err := h.waiting.enterIf(wait, scope(c).Tenant())
	if err != nil {
		return err
	}
	defer leave()
	w, err := h.Notes.AddMessages(c.Request.Context(), scope(c), ref, notes.NewMessages{Messages: in.messages, Infer: body.Infer, OnDuplicate: memory.OnDuplicate(valueOr(body.OnDuplicate, "")), Guidance: guidanceOf(body.Guidance)}, conditions(c))
	if err != nil {
		return in.renameFields(err)
	}
	countRecords(c, len(w.Messages))
	if wait && w.Job != nil {
		endTurn(c)
		h.waitForMessages(c, ref, &w)
	}
	out := wire.MessagesAccepted{
		Messages: make([]wire.MessageRef, 0, len(w.Messages)), Revision: int64(w.Revision), Job: wireJobRef(w.Job), Unread: wire.Optional(in.unread),
		Unguided: wire.Optional(w.Unguided),
	}
	if wait && scope(c).Allows(tenant.NotesRead) {
		out.Learned = new(h.learned(c, &w))
	}
	for i := range w.Messages {
		out.Messages = append(out.Messages, wire.MessageRef{ID: w.Messages[i].ID})
	}
	return replyAt(c, http.StatusAccepted, w.Revision, out)
}

// guidanceOf returns what is to be learned from messages.
func guidanceOf(in *wire.Guidance) *memory.Guidance {
	if in == nil {
		return nil
	}
	out := &memory.Guidance{Instructions: valueOr(in.Instructions, ""), Includes: valueOr(in.Includes, ""), Excludes: valueOr(in.Excludes, "")}
	for _, c := range in.Categories {
		out.Categories = append(out.Categories, memory.Category{Name: c.Name, Description: valueOr(c.Description, "")})
	}
	return out
}

// waitForMessages waits for the last job of messages and updates w. The messages are written, so a failure
// here is not an error of the request.
func (h *core) waitForMessages(c *gin.Context, ref string, w *notes.MessagesWritten) {
	ctx, s := c.Request.Context(), scope(c)
	stale := func(err error) {
		if ctx.Err() == nil && !fault.Is(err, fault.NotFound) {
			h.log.WarnContext(ctx, "waiting for the job of messages failed; answered without waiting", slog.String("request_id", requestID(c)),
				slog.String("job", w.Job.ID.String()), slog.Any("error", err))
		}
	}
	if !w.Job.Ended() {
		job, err := h.waitForJob(ctx, s, w.Job.ID, max(0, len(w.Jobs)-1))
		if err != nil {
			stale(err)
			return
		}
		w.Job = &job
	}
	w.Unguided = cmp.Or(w.Unguided, memory.UnguidedOf(w.Job))
	if !s.Allows(tenant.NotesRead) {
		return
	}
	v, err := h.Recall.Open(ctx, s, ref, nil, 0)
	if err != nil {
		stale(err)
		return
	}
	w.Revision = v.At
}

// learned returns what the jobs of messages that have ended changed, in the order of the messages.
func (h *core) learned(c *gin.Context, w *notes.MessagesWritten) []wire.LearnedMemory {
	ctx, out := c.Request.Context(), []wire.LearnedMemory{}
	for _, id := range w.Jobs {
		job, err := w.Job, error(nil)
		if job == nil || id != job.ID {
			var other memory.Job
			other, err = h.Jobs.Job(ctx, scope(c), id)
			job = &other
		}
		if err != nil {
			if ctx.Err() != nil || !fault.Is(err, fault.NotFound) {
				h.log.WarnContext(ctx, "what was learned from messages could not be read", slog.String("request_id", requestID(c)), slog.Any("error", err))
				return out
			}
			continue
		}
		for _, l := range memory.LearnedOf(job) {
			out = append(out, wire.LearnedMemory{Memory: l.Memory, Event: wire.LearnedEvent(l.Event), Note: l.Note, Previous: wire.Optional(l.Previous)})
		}
	}
	return out
}

// givenMessages are the messages of a request as the service takes them, and their positions in the
// request: a pair is two messages.
type givenMessages struct {
	messages []notes.NewMessage
	at       []int
	side     []string // member that holds the content
	unread   int      // parts that were left out
}

func (g *givenMessages) add(i int, side string, m notes.NewMessage) {
	g.messages, g.at, g.side = append(g.messages, m), append(g.at, i), append(g.side, side)
}

// newMessages converts messages in all forms that are known.
func (h *core) newMessages(list []any) (givenMessages, error) {
	var out givenMessages
	schema, err := h.doc.schema("MessageInput")
	if err != nil {
		return out, err
	}
	own := slices.Collect(maps.Keys(schema.Properties))
	var refused error // the first message without a word
	for i, given := range list {
		at := "messages." + strconv.Itoa(i)
		m := parts.Object(given)
		if m == nil {
			return out, fault.InvalidField(at, "must be a message or a text; %s", parts.Forms)
		}
		others, err := checkNames(m, own)
		if err == nil {
			err = out.read(i, m, len(others) > 0)
		}
		switch {
		case errors.Is(err, errNoWords):
			out.unread++
			refused = cmp.Or(refused, error(fault.InvalidField(at+".content", "is required; %s", parts.Forms)))
		case err != nil:
			return out, prefixFields(at, err)
		}
	}
	if len(out.messages) == 0 {
		if refused == nil {
			refused = fault.InvalidField("messages.0.content", "nothing in the messages can be read; at least one needs a text")
		}
		return out, refused
	}
	if len(out.messages) > memory.MaxMessages {
		return out, fault.InvalidField("messages", "at most %d; the pairs make them %d", memory.MaxMessages, len(out.messages))
	}
	return out, nil
}

// errNoWords says that nobody says anything in a message. Among others it is left out.
var errNoWords = errors.New("nobody says anything")

// checkNames returns the fields that are not our own, and refuses one that was probably meant to be. Programs add fields to the other
// forms as they like.
func checkNames(m map[string]any, own []string) (others []string, err error) {
	others = slices.DeleteFunc(slices.Sorted(maps.Keys(m)), func(name string) bool { return slices.Contains(own, name) })
	if slices.ContainsFunc(others, parts.IsMember) {
		return others, nil
	}
	for _, name := range others {
		if !isEmpty(m[name]) && suggest(name, own) != "" {
			return others, fault.InvalidField(name, "%s", unknownName("field", name, own))
		}
	}
	return others, nil
}

// isEmpty reports whether a value says nothing, as programs write the fields that they do not use.
func isEmpty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	}
	return false
}

// read adds what a message says. What a tool answered, which some forms have among the parts of a user's message, is a message of its
// own.
func (g *givenMessages) read(i int, m map[string]any, others bool) error {
	pair := m["user"] != nil || m["assistant"] != nil
	if pair && (m["content"] != nil || m["role"] != nil) {
		return fault.InvalidField("content", "a message has role and content, or user and assistant")
	}
	read := parts.ReadMessage(m)
	base, err := ownFields(m, &read)
	if err != nil {
		return err
	}
	if pair {
		return g.addPair(i, m, base)
	}
	g.unread += read.Unread
	switch {
	case !read.Known && others:
		return fault.InvalidField("content", "is required; %s", parts.Forms)
	case read.Text != "" && strings.TrimSpace(read.Text) == "":
		return fault.InvalidField("content", "must not be blank")
	case read.Tool == "" && read.Text == "" && read.Unread == 0:
		return errNoWords // programs write absent as null, "" or []
	}
	if read.Tool != "" {
		one := base
		one.Role, one.Name, one.Content = memory.RoleTool, "", read.Tool
		if one.ID != "" {
			one.ID += "/" + string(memory.RoleTool)
		}
		g.add(i, "content", one)
	}
	if read.Text != "" {
		base.Content = read.Text
		g.add(i, "content", base)
	}
	return nil
}

// addPair adds what a user and an assistant said.
func (g *givenMessages) addPair(i int, m map[string]any, base notes.NewMessage) error {
	before := len(g.messages)
	for _, role := range []memory.Role{memory.RoleUser, memory.RoleAssistant} {
		said, _ := m[string(role)].(string)
		if strings.TrimSpace(said) == "" {
			continue
		}
		one := base
		one.Role, one.Content = role, said
		if role == memory.RoleAssistant {
			one.Name = "" // the name is the user's
		}
		if one.ID != "" {
			one.ID += "/" + string(role)
		}
		g.add(i, string(role), one)
	}
	if len(g.messages) == before {
		return fault.InvalidField("user", "what the user or the assistant said must not be empty or blank")
	}
	return nil
}

// ownFields returns what a message says beside its content. The contract has checked the types of fields.
func ownFields(m map[string]any, read *parts.Message) (out notes.NewMessage, err error) {
	if read.Named != "" {
		return out, fault.InvalidField("role", "must be one of %s, or what other programs call them", wording.Or(memory.Roles()...))
	}
	out = notes.NewMessage{
		ID: read.ID, Role: memory.Role(read.Role), Name: read.Name, Session: m["session"], Recalled: m["recalled"] == true, OccurredAt: memory.SaidAt(read.At),
	}
	out.Attributes, _ = m["attributes"].(map[string]any)
	if n, ok := m["ttl_seconds"].(json.Number); ok {
		seconds, err := n.Int64()
		if err != nil {
			return out, fault.InvalidField("ttl_seconds", "must be an integer")
		}
		out.TTLSeconds = &seconds
	}
	for field, into := range map[string]**time.Time{memory.AttrExpires: &out.ExpiresAt, "occurred_at": &out.OccurredAt} {
		if m[field] == nil {
			continue
		}
		at, err := memory.TimeOf(m[field])
		if err != nil {
			return out, fault.InvalidField(field, "%s", err)
		}
		*into = &at
	}
	return out, nil
}

// eventTime is [anyTime] with the offset that was written ([filter.ParseLocalTime]).
func eventTime(field, text string) (time.Time, error) {
	t, err := filter.ParseLocalTime(text)
	if err != nil {
		return t, fault.InvalidField(field, "must be "+memory.TimeForm)
	}
	return t, nil
}

// anyTime parses a time without bounds, in UTC.
func anyTime(field, text string) (time.Time, error) {
	t, err := filter.ParseTime(text)
	if err != nil {
		return t, fault.InvalidField(field, "must be "+memory.TimeForm)
	}
	return t, nil
}

// renameFields renames the fields of a fault to their positions in the request.
func (g *givenMessages) renameFields(err error) error {
	f, ok := errors.AsType[*fault.Error](err)
	if !ok || len(f.Fields) == 0 {
		return err
	}
	out := *f
	out.Fields = make([]fault.Field, 0, len(f.Fields))
	for _, field := range f.Fields {
		if rest, ok := strings.CutPrefix(field.Field, "messages."); ok {
			if n, member, ok := strings.Cut(rest, "."); ok {
				if i, err := strconv.Atoi(n); err == nil && i < len(g.at) {
					if member == "content" {
						member = g.side[i]
					}
					field.Field = "messages." + strconv.Itoa(g.at[i]) + "." + member
				}
			}
		}
		if !slices.Contains(out.Fields, field) { // what is wrong for both messages of a pair
			out.Fields = append(out.Fields, field)
		}
	}
	if f.Code == fault.Invalid {
		out.Message = out.Fields[0].Field + ": " + out.Fields[0].Reason
	}
	return &out
}

// listMessages pages through messages by time, or searches them.
func (h *core) listMessages(c *gin.Context) error {
	expr, err := messageFilter(c)
	if err != nil {
		return err
	}
	if query(c).Get("query") != "" {
		return h.searchMessages(c, expr)
	}
	v, cur, err := h.pageView(c)
	if err != nil {
		return err
	}
	page, next, err := h.listPage(c, v, cur, recall.ListQuery{Kinds: []memory.Kind{memory.KindMessage}, Filter: expr, ByTime: true})
	if err != nil {
		return err
	}
	items := each(page.Items, func(n *recall.NoteView) wire.StoredMessage { return wireMessage(&n.Note) })
	return replyAt(c, http.StatusOK, v.At, wire.MessageList{Items: items, NextCursor: next, Revision: int64(v.At)})
}

// messageFilter returns the filter for role, session, from and to.
func messageFilter(c *gin.Context) (filter.Expr, error) {
	all := filter.And{leafOf(filter.Kind, nil, filter.Eq, string(memory.KindMessage))}
	if role := query(c).Get("role"); role != "" {
		is := leafOf(filter.Attributes, []string{memory.AttrRole}, filter.Eq, role)
		if memory.Role(role) == memory.RoleUser {
			// A message without a role is a user's.
			all = append(all, filter.Or{is, &filter.Leaf{Field: filter.Attributes, Path: []string{memory.AttrRole}, Op: filter.Exists}})
		} else {
			all = append(all, is)
		}
	}
	if session := query(c).Get("session"); session != "" {
		all = append(all, filter.AttributeReads(memory.AttrSession, session))
	}
	for _, bound := range []struct {
		name string
		op   filter.Op
	}{{"from", filter.Gte}, {"to", filter.Lt}} {
		text := query(c).Get(bound.name)
		if text == "" {
			continue
		}
		at, err := anyTime(bound.name, text)
		if day, e := time.Parse(time.DateOnly, text); e == nil { // the last day is included
			op := bound.op
			if op == filter.Lt {
				op = filter.Lte
			}
			all = append(all, &filter.Leaf{Field: filter.OccurredAt, Op: op, Values: []filter.Value{{Type: filter.Time, Time: day, Day: true}}})
			continue
		}
		if err != nil {
			return nil, err
		}
		all = append(all, &filter.Leaf{Field: filter.OccurredAt, Op: bound.op, Values: []filter.Value{{Type: filter.Time, Time: at}}})
	}
	return all, nil
}

func leafOf(field filter.Field, path []string, op filter.Op, text string) *filter.Leaf {
	return &filter.Leaf{Field: field, Path: path, Op: op, Values: []filter.Value{{Type: filter.Text, Text: text}}}
}

// searchMessages answers the messages that match a query best.
func (h *core) searchMessages(c *gin.Context, expr filter.Expr) error {
	for _, name := range []string{"order", "cursor"} {
		if query(c).Has(name) {
			return fault.InvalidField(name, "cannot be combined with query")
		}
	}
	text := query(c).Get("query")
	if strings.TrimSpace(text) == "" {
		return fault.InvalidField("query", "must not be blank")
	}
	v, err := h.view(c)
	if err != nil {
		return err
	}
	found, err := h.Recall.Search(c.Request.Context(), scope(c), v, recall.Query{Text: text, K: pageLimit(c), Filter: expr, Halves: true})
	if err != nil {
		return err
	}
	out := wire.MessageList{Items: make([]wire.StoredMessage, 0, len(found.Hits)), Revision: int64(v.At), Degraded: wire.Optional(found.Degraded)}
	for i := range found.Hits {
		m := wireMessage(&found.Hits[i].Note.Note)
		m.Score = &found.Hits[i].Score
		out.Items = append(out.Items, m)
	}
	return replyAt(c, http.StatusOK, v.At, out)
}

// wireMessage renders a note of the kind message.
func wireMessage(n *memory.Note) wire.StoredMessage {
	said := memory.UtteranceOf(n)
	out := wire.StoredMessage{
		ID: n.ID, MessageID: wire.Optional(n.Key), Role: wire.MessageRole(said.Role), Content: n.Content, Name: wire.Optional(said.Name),
		OccurredAt: wire.Time(n.OccurredAt), CreatedAt: wire.Time(n.CreatedAt), Revision: int64(n.From), State: wire.NoteState(n.State),
	}
	switch s := n.Attributes[memory.AttrSession]; s.(type) {
	case nil:
	default:
		out.Session = &s
	}
	if turn, err := uuid.Parse(textOf(n, memory.AttrTurn)); err == nil {
		out.Turn = &turn
	}
	if at, ok := memory.ExpiryOf(n.Attributes); ok {
		out.ExpiresAt = wire.OptionalTime(at)
	}
	if n.Attributes[memory.AttrRecall] == true {
		out.Recalled = new(true)
	}
	for k, v := range n.Attributes {
		switch k {
		case memory.AttrRole, memory.AttrName, memory.AttrSession, memory.AttrTurn, memory.AttrRecall, memory.AttrExpires:
			continue
		}
		if out.Attributes == nil {
			out.Attributes = map[string]any{}
		}
		out.Attributes[k] = v
	}
	return out
}

// textOf returns a string attribute; "" if it is not a string.
func textOf(n *memory.Note, name string) string {
	s, _ := n.Attributes[name].(string)
	return s
}

// textsOf returns the strings of a list attribute.
func textsOf(n *memory.Note, name string) []string {
	list, _ := n.Attributes[name].([]any)
	var out []string
	for _, x := range list {
		if s, ok := x.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

// eachNote calls fn for every note that a query lists, until fn returns false. The limit of the query is its own.
func (h *core) eachNote(ctx context.Context, s tenant.Scope, v memory.View, q recall.ListQuery, fn func(n *memory.Note) (more bool)) error {
	q.Limit = memory.MaxPage
	for {
		page, err := h.Recall.List(ctx, s, v, q)
		if err != nil {
			return err
		}
		for i := range page.Items {
			if !fn(&page.Items[i].Note) {
				return nil
			}
		}
		if page.Next == uuid.Nil {
			return nil
		}
		q.After, q.AfterTime, q.AfterRevision = page.Next, page.NextTime, page.NextRevision
	}
}
