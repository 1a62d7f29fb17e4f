package bank

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/oapi-codegen/nullable"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/notes"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// The policy whose notes a bank becomes, with its names for them.
const (
	policyName  = "memorybank"
	taskDay     = "day"
	taskOverall = "overall"
	keyOverall  = "overall"
	keyMeta     = "meta"
	dayPrefix   = "day/"

	attrPeriod = "period"
	attrDate   = "date"
	attrEvents = "events"
	attrReply  = "reply_strategy"
)

// batchNotes is how many notes one changeset writes at most.
const batchNotes = 500

// embedFor bounds how long an import waits for vectors; what is left is the work of jobs.
const embedFor = 20 * time.Second

// Import brings one person's memory into a collection (notes:write, and
// base:write for a shared one). The document is checked wholly before anything
// is written. Importing it again writes nothing: a turn is known by its day and
// its words, whatever stands before it, a summary by its day. Days and wholes
// that the document does not sum up are summed up by jobs, where the policy of
// the collection does so. Each turn is said at 00:00 UTC of its day, a second
// after the one before.
//
// Faults: Malformed or Invalid naming places of the document, QuotaExceeded,
// Conflict when another import writes the same at the same time.
func (b *Service) Import(ctx context.Context, s tenant.Scope, ref string, raw []byte) (Report, error) {
	if err := tenant.Check(s, tenant.NotesWrite); err != nil {
		return Report{}, err
	}
	c, err := b.store.ResolveCollection(ctx, s, ref)
	if err != nil {
		return Report{}, err
	}
	if c.Shared() {
		if err := tenant.Check(s, tenant.BaseWrite); err != nil {
			return Report{}, err
		}
	}
	doc, skipped, err := parse(raw, b.clock())
	if err != nil {
		return Report{}, err
	}
	v, err := b.store.OpenView(ctx, s, c.ID.String(), memory.At{})
	if err != nil {
		return Report{}, err
	}
	im := importing{b: b, s: s, c: &c, v: v, doc: &doc, report: Report{Name: doc.name, Days: len(doc.days), Revision: v.At, Skipped: []Skipped{}}}
	im.report.Skipped = append(im.report.Skipped, skipped...)
	if err := im.run(ctx); err != nil {
		return Report{}, err
	}
	if b.collections != nil && c.DisplayName == "" && doc.name != "" && tenant.Check(s, tenant.CollectionsWrite) == nil {
		p := notes.CollectionPatch{DisplayName: nullable.NewNullableWithValue(strings.TrimSpace(doc.name))}
		if _, err := b.collections.Patch(ctx, s, c.ID.String(), p); err != nil {
			return Report{}, err
		}
	}
	return im.report, nil
}

// importing is one import at work.
type importing struct {
	b      *Service
	s      tenant.Scope
	c      *memory.Collection
	v      memory.View
	doc    *document
	report Report
	items  []*item // that are to be written, in their order
}

// item is a note to be written, with what goes with it.
type item struct {
	note  memory.Note
	usage *memory.Usage
	task  *memory.Task // the policy's, once the note is there
}

func (im *importing) run(ctx context.Context) error {
	sums := im.c.Policy == policyName // its policy sums up what the document does not
	asked, summed := false, false
	for i := range im.doc.days {
		d := &im.doc.days[i]
		before := len(im.items)
		if err := im.day(ctx, d); err != nil {
			return err
		}
		summed = summed || d.summary != nil || d.personality != nil
		if sums && len(im.items) > before && len(d.turns) > 0 && (d.summary == nil || d.personality == nil) {
			im.items[len(im.items)-1].task, asked = &memory.Task{Name: taskDay, Key: d.date}, true
		}
	}
	before := len(im.items)
	if err := im.whole(ctx); err != nil {
		return err
	}
	if sums && summed && !asked && len(im.items) > before && (im.doc.overall == "" || im.doc.portrait == "") {
		im.items[len(im.items)-1].task = &memory.Task{Name: taskOverall}
	}
	if err := im.room(ctx); err != nil {
		return err
	}
	im.embed(ctx)
	for batch := range slices.Chunk(im.items, batchNotes) {
		if err := im.write(ctx, batch); err != nil {
			return err
		}
	}
	return nil
}

// find looks for the note of a kind and key.
func (im *importing) find(ctx context.Context, kind memory.Kind, key string) (n memory.Note, ok bool, err error) {
	n, err = im.b.store.NoteByKey(ctx, im.s, im.v, kind, key)
	if fault.Is(err, fault.NotFound) {
		return n, false, nil
	}
	return n, err == nil, err
}

// add takes a note to be written, unless one of its kind and key is there;
// then that one stays as it is.
func (im *importing) add(ctx context.Context, path string, it item) (memory.Note, error) {
	old, ok, err := im.find(ctx, it.note.Kind, it.note.Key)
	if err != nil {
		return old, err
	}
	if ok {
		im.report.Known++
		if old.Content != it.note.Content {
			im.report.Skipped = append(im.report.Skipped, Skipped{Path: path, Reason: "the collection has another one"})
		}
		return old, nil
	}
	if it.note.ID, err = uuid.NewV7(); err != nil {
		return old, fault.Wrap(err, fault.Internal, "no id could be made")
	}
	im.items = append(im.items, &it)
	return it.note, nil
}

// note makes a note as it is stored: what comes from elsewhere is not looked
// at by policies again.
func (im *importing) note(kind memory.Kind, key, content string, at time.Time) memory.Note {
	return memory.Note{
		Kind: kind, Key: key, Content: content, OccurredAt: at, Attributes: map[string]any{},
		Category: memory.DefaultCategory, Importance: memory.DefaultImportance, State: memory.StateEvolved,
		Provenance: memory.Provenance{Actor: im.s.Actor()},
	}
}

// day takes the turns of a day, then what they are summed up to.
func (im *importing) day(ctx context.Context, d *day) error {
	repeats := map[[32]byte]int{}
	at := d.start
	var sources []uuid.UUID
	for i := range d.turns {
		t := &d.turns[i]
		sum := sha256.Sum256([]byte(t.query + "\x00" + t.response))
		repeats[sum]++
		key := turnKey(d.date, sum, repeats[sum])
		ids, err := im.turn(ctx, d.date, key, t, &at)
		if err != nil {
			return err
		}
		sources = append(sources, ids...)
	}
	if len(sources) > 0 {
		at = at.Add(-time.Second) // of the last message
	}
	for _, part := range []struct {
		kind memory.Kind
		of   *dated
		name string
	}{{memory.KindSummary, d.summary, memberSummary}, {memory.KindProfile, d.personality, memberPersonality}} {
		if part.of == nil {
			continue
		}
		n := im.note(part.kind, dayPrefix+d.date, part.of.content, im.by(at))
		n.Attributes[attrPeriod], n.Attributes[attrDate] = "day", d.date
		if len(part.of.events) > 0 {
			n.Attributes[attrEvents] = anyList(part.of.events)
		}
		if len(part.of.more) > 0 {
			n.Attributes[attrBank] = part.of.more
		}
		n.Provenance.Sources = sources
		if _, err := im.add(ctx, place(part.name, d.date), item{note: n, usage: part.of.usage(d.start)}); err != nil {
			return err
		}
	}
	return nil
}

// turnKey names a turn by its day and its words. A place among the turns of a
// day would name another turn once some of them are forgotten.
func turnKey(date string, sum [32]byte, repeat int) string {
	key := "bank/" + date + "/" + hex.EncodeToString(sum[:8])
	if repeat > 1 {
		key += fmt.Sprintf(".%d", repeat)
	}
	return key
}

// anyList is a list as attributes hold it.
func anyList(list []string) []any {
	out := make([]any, len(list))
	for i, s := range list {
		out[i] = s
	}
	return out
}

// by keeps a time out of the future.
func (im *importing) by(t time.Time) time.Time {
	if now := memory.Instant(im.b.clock()); t.After(now) {
		return now
	}
	return t
}

// turn takes the messages of one exchange and gives their ids.
func (im *importing) turn(ctx context.Context, date, key string, t *turn, at *time.Time) ([]uuid.UUID, error) {
	exchange, err := uuid.NewV7()
	if err != nil {
		return nil, fault.Wrap(err, fault.Internal, "no id could be made")
	}
	within := exchange.String()
	more := t.more
	var ids []uuid.UUID
	for _, m := range []struct {
		role    memory.Role
		content string
	}{{memory.RoleUser, t.query}, {memory.RoleAssistant, t.response}} {
		if m.content == "" {
			continue
		}
		n := im.note(memory.KindMessage, key+"/"+string(m.role), m.content, im.by(*at))
		n.Attributes[memory.AttrRole], n.Attributes[memory.AttrSession], n.Attributes[memory.AttrTurn] = string(m.role), date, within
		if name := strings.TrimSpace(im.doc.name); m.role == memory.RoleUser && name != "" {
			n.Attributes[memory.AttrName] = name
		}
		if len(more) > 0 {
			n.Attributes[attrBank], more = more, nil
		}
		stored, err := im.add(ctx, "", item{note: n, usage: t.usage(dayStart(*at))})
		if err != nil {
			return nil, err
		}
		if known, ok := stored.Attributes[memory.AttrTurn].(string); ok {
			within = known // what follows belongs to the exchange that is there
		}
		ids = append(ids, stored.ID)
		*at = at.Add(time.Second)
	}
	return ids, nil
}

func dayStart(t time.Time) time.Time { return t.Truncate(24 * time.Hour) }

// usage is nil where it says nothing that a new note would not say.
func (f *fading) usage(start time.Time) *memory.Usage {
	u := memory.Usage{Strength: cmp.Or(f.strength, 1), LastAccess: f.recalled}
	if u.Strength == 1 && (u.LastAccess.IsZero() || u.LastAccess.Equal(start)) {
		return nil
	}
	return &u
}

// whole takes what is said of the person and of all days.
func (im *importing) whole(ctx context.Context) error {
	end := im.b.clock()
	if n := len(im.doc.days); n > 0 {
		end = im.doc.days[n-1].start.Add(24*time.Hour - time.Second)
	}
	end = im.by(memory.Instant(end))
	meta := im.note(memory.KindProfile, keyMeta, metaText(im.doc), end)
	maps.Copy(meta.Attributes, im.doc.meta)
	form := map[string]any{fieldsMember: anyList(im.doc.fields)}
	if im.doc.name != "" {
		form[memberName] = im.doc.name
	}
	if len(im.doc.silent) > 0 {
		form[silentMember] = anyList(im.doc.silent)
	}
	if len(im.doc.more) > 0 {
		form[moreMember] = im.doc.more
	}
	meta.Attributes[attrBank] = form
	list := []struct {
		path string
		note memory.Note
	}{{memberMeta, meta}}
	if im.doc.overall != "" {
		list = append(list, struct {
			path string
			note memory.Note
		}{memberOverall, im.note(memory.KindSummary, keyOverall, im.doc.overall, end)})
	}
	if im.doc.portrait != "" {
		list = append(list, struct {
			path string
			note memory.Note
		}{memberPortrait, im.note(memory.KindProfile, keyOverall, im.doc.portrait, end)})
	}
	for _, x := range list {
		if x.note.Key == keyOverall {
			x.note.Attributes[attrPeriod] = "global"
		}
		if _, err := im.add(ctx, x.path, item{note: x.note}); err != nil {
			return err
		}
	}
	return nil
}

// metaText tells in one line what is known of the person.
func metaText(d *document) string {
	var parts []string
	if name := strings.TrimSpace(d.name); name != "" {
		parts = append(parts, "name: "+name)
	}
	for _, k := range sortedKeys(d.meta) {
		if s, ok := d.meta[k].(string); ok && strings.TrimSpace(s) != "" && k != memberName {
			parts = append(parts, strings.ReplaceAll(k, "_", " ")+": "+s)
		}
	}
	if len(parts) == 0 {
		return "a person"
	}
	return strings.Join(parts, "; ")
}

// room asks for the room that the notes take.
func (im *importing) room(ctx context.Context) error {
	if im.b.quota == nil || len(im.items) == 0 {
		return nil
	}
	var bytes int64
	for _, it := range im.items {
		bytes += it.note.Size()
	}
	return im.b.quota.CheckNotes(ctx, im.s, int64(len(im.items)), bytes)
}

// embed gives notes their vectors when the embedder is fast; a note without one
// gets a job.
func (im *importing) embed(ctx context.Context) {
	e, ok := im.b.embedders.ByName(im.c.Embedder)
	if !ok || !e.Fast() || e.Dim() != im.c.Dim {
		return
	}
	patience := embedFor
	if until, ok := ctx.Deadline(); ok {
		patience = min(patience, time.Until(until)/2)
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for batch := range slices.Chunk(im.items, memory.EmbedBatch) {
		texts := make([]string, len(batch))
		for i, it := range batch {
			texts[i] = memory.EmbedText(&it.note)
		}
		made, err := memory.EmbedAll(ctx, e, im.s, texts)
		if err != nil {
			im.b.log.WarnContext(ctx, "embedding before an import failed; jobs will do it", "collection", im.c.ID, "error", err)
			return
		}
		for i, it := range batch {
			it.note.Embed(made[i], im.c.Embedder)
		}
	}
}

// write writes one changeset.
func (im *importing) write(ctx context.Context, batch []*item) error {
	var wrote Report
	o := memory.WriteOptions{Cause: memory.CauseImport, Audit: []memory.AuditEntry{{
		Action: "bank.import", Target: im.c.ID.String(), Detail: map[string]any{"collection": im.c.ID.String(), "notes": len(batch)},
	}}}
	w, err := im.b.store.Write(ctx, im.s, im.c.ID, o, func(ctx context.Context, tx memory.Tx) error {
		wrote = Report{}
		for _, it := range batch {
			if err := im.put(ctx, tx, it, &wrote); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	im.report.Messages += wrote.Messages
	im.report.Summaries += wrote.Summaries
	im.report.Profiles += wrote.Profiles
	im.report.Tasks += wrote.Tasks
	im.report.Revision = w.Revision
	return nil
}

func (im *importing) put(ctx context.Context, tx memory.Tx, it *item, wrote *Report) error {
	switch _, err := tx.NoteByKey(ctx, it.note.Kind, it.note.Key); {
	case err == nil:
		return fault.New(fault.Conflict, "another import has written the same meanwhile; send the document again")
	case !fault.Is(err, fault.NotFound):
		return err
	}
	if _, err := tx.Put(ctx, it.note); err != nil {
		return err
	}
	counts := map[memory.Kind]*int{memory.KindMessage: &wrote.Messages, memory.KindSummary: &wrote.Summaries, memory.KindProfile: &wrote.Profiles}
	*counts[it.note.Kind]++
	if it.usage != nil {
		if err := tx.SetUsage(ctx, it.note.ID, *it.usage); err != nil {
			return err
		}
	}
	if it.note.Vector == nil {
		payload, err := json.Marshal(memory.NoteJob{EmbedOnly: true})
		if err != nil {
			return fault.Wrap(err, fault.Internal, "the job cannot be kept")
		}
		if _, err := tx.Enqueue(ctx, im.job(memory.JobNote, memory.StagePrepare, it.note.ID, payload)); err != nil {
			return err
		}
	}
	if it.task == nil {
		return nil
	}
	payload, err := json.Marshal(it.task)
	if err != nil {
		return fault.Wrap(err, fault.Internal, "the task cannot be kept")
	}
	wrote.Tasks++
	_, err = tx.Enqueue(ctx, im.job(memory.JobPolicy, memory.StageTask, uuid.Nil, payload))
	return err
}

func (im *importing) job(kind memory.JobKind, stage memory.Stage, note uuid.UUID, payload json.RawMessage) memory.Job {
	return memory.Job{
		Tenant: im.s.Tenant(), Collection: im.c.ID, Note: note, Kind: kind, Stage: stage, State: memory.JobQueued, Payload: payload,
	}
}
