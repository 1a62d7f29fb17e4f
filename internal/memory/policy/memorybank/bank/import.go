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
	"github.com/slipboxhq/slipbox/internal/telemetry"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// The policy that processes an imported bank, with its names for tasks, keys and attributes.
const (
	policyName  = "memorybank"
	taskDay     = "day"
	taskOverall = "overall"
	keyOverall  = "overall"
	dayPrefix   = "day/"

	attrPeriod = "period"
	attrDate   = "date"
	attrEvents = "events"
	attrReply  = "reply_strategy"
)

// batchNotes is the maximum number of notes in one changeset.
const batchNotes = 500

// Import adds one person's memory to a collection (notes:write, and base:write if it is shared).
// The whole document is validated before anything is written. Importing it again writes nothing: a
// turn is identified by its day and its words, at any position, and a summary by its day. Jobs
// summarize the days and histories that the document does not, if the collection's policy does so.
// The turns of a day are said from 00:00 UTC on, one second apart.
//
// Faults: Malformed or Invalid naming places of the document, QuotaExceeded, Conflict if a
// concurrent import writes the same notes.
func (b *Service) Import(ctx context.Context, s tenant.Scope, ref string, raw []byte) (Report, error) {
	if err := tenant.Check(s, tenant.NotesWrite); err != nil {
		return Report{}, err
	}
	c, err := b.store.ResolveCollection(ctx, s, ref)
	if err != nil {
		return Report{}, err
	}
	telemetry.NameMemoryStore(ctx, c.ID)
	if c.Shared() {
		if err := tenant.Check(s, tenant.BaseWrite); err != nil {
			return Report{}, err
		}
	}
	doc, skipped, err := parse(raw, b.clock())
	if err != nil {
		return Report{}, err
	}
	if name := strings.TrimSpace(doc.name); name != "" {
		if err := b.notes.CheckPerson(ctx, s, &c, memberName, name); err != nil {
			return Report{}, err
		}
	}
	v, err := b.store.OpenView(ctx, s, c.ID.String(), memory.At{})
	if err != nil {
		return Report{}, err
	}
	im := importRun{b: b, s: s, c: &c, v: v, doc: &doc, report: Report{Name: doc.name, Days: len(doc.days), Revision: v.At, Skipped: []Skipped{}}}
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

// importRun is a running import.
type importRun struct {
	b      *Service
	s      tenant.Scope
	c      *memory.Collection
	v      memory.View
	doc    *document
	report Report
	items  []*item // to write, in order
}

// item is a note to write, with its job.
type item struct {
	note  memory.Note
	usage *memory.Usage
	task  *memory.Task // of the policy, enqueued with the note
}

func (im *importRun) run(ctx context.Context) error {
	sums := im.c.Policy == policyName // the policy summarizes what the document does not
	asked, summed := false, false
	for i := range im.doc.days {
		d := &im.doc.days[i]
		before := len(im.items)
		if err := im.addDay(ctx, d); err != nil {
			return err
		}
		summed = summed || d.summary != nil || d.personality != nil
		if sums && len(im.items) > before && len(d.turns) > 0 && (d.summary == nil || d.personality == nil) {
			im.items[len(im.items)-1].task, asked = &memory.Task{Name: taskDay, Key: d.date}, true
		}
	}
	before := len(im.items)
	if err := im.addOverall(ctx); err != nil {
		return err
	}
	if sums && summed && !asked && len(im.items) > before && (im.doc.overall == "" || im.doc.portrait == "") {
		im.items[len(im.items)-1].task = &memory.Task{Name: taskOverall}
	}
	if err := im.checkQuota(ctx); err != nil {
		return err
	}
	list := make([]*memory.Note, len(im.items))
	for i, it := range im.items {
		list[i] = &it.note
	}
	im.b.notes.Embed(ctx, im.s, im.c, list)
	for batch := range slices.Chunk(im.items, batchNotes) {
		if err := im.write(ctx, batch); err != nil {
			return err
		}
	}
	return nil
}

// findNote returns the note of a kind and key, if it exists.
func (im *importRun) findNote(ctx context.Context, kind memory.Kind, key string) (n memory.Note, ok bool, err error) {
	n, err = im.b.store.NoteByKey(ctx, im.s, im.v, kind, key)
	if fault.Is(err, fault.NotFound) {
		return n, false, nil
	}
	return n, err == nil, err
}

// add queues a note to be written, unless one of its kind and key exists; that one is returned
// unchanged.
func (im *importRun) add(ctx context.Context, path string, it item) (memory.Note, error) {
	if _, err := im.c.ScreenNote(ctx, &it.note); err != nil {
		return memory.Note{}, fault.InvalidField(path, "%s", err)
	}
	old, ok, err := im.findNote(ctx, it.note.Kind, it.note.Key)
	if err != nil {
		return old, err
	}
	if ok {
		im.report.Known++
		if old.Content != it.note.Content {
			im.report.Skipped = append(im.report.Skipped, Skipped{Path: path, Reason: "the collection has a different one"})
		}
		return old, nil
	}
	if it.note.ID, err = uuid.NewV7(); err != nil {
		return old, fault.Wrap(err, fault.Internal, "an id could not be generated")
	}
	im.items = append(im.items, &it)
	return it.note, nil
}

// newNote returns a note in the state of one that a policy has already processed.
func (im *importRun) newNote(kind memory.Kind, key, content string, at time.Time) memory.Note {
	return memory.Note{
		Kind: kind, Key: key, Content: content, OccurredAt: at, Attributes: map[string]any{},
		Category: memory.DefaultCategory, Importance: memory.DefaultImportance, State: memory.StateEvolved,
		Provenance: memory.Provenance{Actor: im.s.Actor()},
	}
}

// addDay adds the turns of a day, then their summaries.
func (im *importRun) addDay(ctx context.Context, d *day) error {
	repeats := map[[32]byte]int{}
	at := d.start
	var sources []uuid.UUID
	for i := range d.turns {
		t := &d.turns[i]
		sum := sha256.Sum256([]byte(t.query + "\x00" + t.response))
		repeats[sum]++
		key := turnKey(d.date, sum, repeats[sum])
		ids, err := im.addTurn(ctx, d.date, key, t, &at)
		if err != nil {
			return err
		}
		sources = append(sources, ids...)
	}
	if len(sources) > 0 {
		at = at.Add(-time.Second) // time of the last message
	}
	for _, part := range []struct {
		kind memory.Kind
		of   *dated
		name string
	}{{memory.KindSummary, d.summary, memberSummary}, {memory.KindProfile, d.personality, memberPersonality}} {
		if part.of == nil {
			continue
		}
		n := im.newNote(part.kind, dayPrefix+d.date, part.of.content, im.notInFuture(at))
		n.Attributes[attrPeriod], n.Attributes[attrDate] = "day", d.date
		if len(part.of.events) > 0 {
			n.Attributes[attrEvents] = anyList(part.of.events)
		}
		if len(part.of.more) > 0 {
			n.Attributes[attrBank] = part.of.more
		}
		n.Provenance.Sources = sources
		if _, err := im.add(ctx, memberPath(part.name, d.date), item{note: n, usage: part.of.usage(d.start)}); err != nil {
			return err
		}
	}
	return nil
}

// turnKey returns the key of a turn, from its day and its words. A position in the day would change
// when turns before it are forgotten.
func turnKey(date string, sum [32]byte, repeat int) string {
	key := "bank/" + date + "/" + hex.EncodeToString(sum[:8])
	if repeat > 1 {
		key += fmt.Sprintf(".%d", repeat)
	}
	return key
}

// anyList returns a list of strings as attributes hold it.
func anyList(list []string) []any {
	out := make([]any, len(list))
	for i, s := range list {
		out[i] = s
	}
	return out
}

// notInFuture returns t, or the present time if t is in the future.
func (im *importRun) notInFuture(t time.Time) time.Time {
	if now := memory.Instant(im.b.clock()); t.After(now) {
		return now
	}
	return t
}

// addTurn adds the messages of one turn and returns their ids.
func (im *importRun) addTurn(ctx context.Context, date, key string, t *turn, at *time.Time) ([]uuid.UUID, error) {
	exchange, err := uuid.NewV7()
	if err != nil {
		return nil, fault.Wrap(err, fault.Internal, "an id could not be generated")
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
		n := im.newNote(memory.KindMessage, key+"/"+string(m.role), m.content, im.notInFuture(*at))
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
			within = known // the messages after it belong to the existing exchange
		}
		ids = append(ids, stored.ID)
		*at = at.Add(time.Second)
	}
	return ids, nil
}

func dayStart(t time.Time) time.Time { return t.Truncate(24 * time.Hour) }

// usage returns the counters of a memory; nil if they are those of a new note.
func (f *retention) usage(start time.Time) *memory.Usage {
	u := memory.Usage{Strength: cmp.Or(f.strength, 1), LastAccess: f.recalled}
	if u.Strength == 1 && (u.LastAccess.IsZero() || u.LastAccess.Equal(start)) {
		return nil
	}
	return &u
}

// addOverall adds what the document says about the person and all days.
func (im *importRun) addOverall(ctx context.Context) error {
	end := im.b.clock()
	if n := len(im.doc.days); n > 0 {
		end = im.doc.days[n-1].start.Add(24*time.Hour - time.Second)
	}
	end = im.notInFuture(memory.Instant(end))
	said := maps.Clone(im.doc.meta)
	if name := strings.TrimSpace(im.doc.name); name != "" {
		if said == nil {
			said = map[string]any{}
		}
		said[memberName] = name
	}
	meta := im.newNote(memory.KindProfile, notes.KeyMeta, notes.ProfileText(said), end)
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
		}{memberOverall, im.newNote(memory.KindSummary, keyOverall, im.doc.overall, end)})
	}
	if im.doc.portrait != "" {
		list = append(list, struct {
			path string
			note memory.Note
		}{memberPortrait, im.newNote(memory.KindProfile, keyOverall, im.doc.portrait, end)})
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

// checkQuota checks the quota for the notes to write.
func (im *importRun) checkQuota(ctx context.Context) error {
	if im.b.quota == nil || len(im.items) == 0 {
		return nil
	}
	var bytes int64
	for _, it := range im.items {
		bytes += it.note.Size()
	}
	return im.b.quota.CheckNotes(ctx, im.s, int64(len(im.items)), bytes)
}

// write writes one changeset.
func (im *importRun) write(ctx context.Context, batch []*item) error {
	var wrote Report
	o := memory.WriteOptions{Cause: memory.CauseImport, Long: true, Audit: []memory.AuditEntry{{
		Action: "bank.import", Target: im.c.ID.String(), Detail: map[string]any{"collection": im.c.ID.String(), "notes": len(batch)},
	}}}
	w, err := im.b.store.Write(ctx, im.s, im.c.ID, o, func(ctx context.Context, tx memory.Tx) error {
		wrote = Report{}
		for _, it := range batch {
			if err := im.putNote(ctx, tx, it, &wrote); err != nil {
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

func (im *importRun) putNote(ctx context.Context, tx memory.Tx, it *item, wrote *Report) error {
	switch _, err := tx.NoteByKey(ctx, it.note.Kind, it.note.Key); {
	case err == nil:
		return fault.New(fault.Conflict, "a concurrent import has written the same notes; send the document again")
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
			return fault.Wrap(err, fault.Internal, "the job cannot be encoded")
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
		return fault.Wrap(err, fault.Internal, "the task cannot be encoded")
	}
	wrote.Tasks++
	_, err = tx.Enqueue(ctx, im.job(memory.JobPolicy, memory.StageTask, uuid.Nil, payload))
	return err
}

func (im *importRun) job(kind memory.JobKind, stage memory.Stage, note uuid.UUID, payload json.RawMessage) memory.Job {
	return memory.Job{
		Tenant: im.s.Tenant(), Collection: im.c.ID, Note: note, Kind: kind, Stage: stage, State: memory.JobQueued, Payload: payload,
	}
}
