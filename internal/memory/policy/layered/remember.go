package layered

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy"
	"github.com/slipboxhq/slipbox/internal/text"
	"github.com/slipboxhq/slipbox/internal/wording"
)

// RememberArgs are the arguments of TaskRemember.
type RememberArgs struct {
	Content    string         `json:"content"`
	Role       memory.Role    `json:"role,omitempty"` // "": an item that nobody said; its importance follows the rules of items
	Name       string         `json:"name,omitempty"` // of the speaker
	Type       string         `json:"type,omitempty"` // free; "": text
	Importance *float64       `json:"importance,omitempty"`
	Layers     []string       `json:"layers,omitempty"` // empty: all
	Attributes map[string]any `json:"attributes,omitempty"`
	OccurredAt time.Time      `json:"occurred_at,omitzero"` // zero: now
	ExpiresAt  time.Time      `json:"expires_at,omitzero"`  // when the item and its episode end; zero: never
}

// check returns a fault for arguments that cannot be remembered.
func (a *RememberArgs) check() error {
	switch {
	case policy.IsBlank(a.Content):
		return fault.InvalidField("content", "must not be empty or blank")
	case len(a.Content) > memory.MaxContentBytes:
		return fault.InvalidField("content", "at most %d bytes; it has %d", memory.MaxContentBytes, len(a.Content))
	case a.Role != "" && !slices.Contains(memory.Roles(), a.Role):
		return fault.InvalidField("role", "must be one of %s", wording.Or(memory.Roles()...))
	case a.Importance != nil && !(*a.Importance >= 0 && *a.Importance <= 1):
		return fault.InvalidField("importance", "must be between 0 and 1")
	}
	for i, l := range a.Layers {
		if l != Working && l != Episodic && l != Semantic {
			return fault.InvalidField("layers", "entry %d must be working, episodic or semantic", i)
		}
	}
	for _, name := range reserved() {
		if _, ok := a.Attributes[name]; ok {
			return fault.InvalidField("attributes", "%q is set by the layers themselves", name)
		}
	}
	return nil
}

// reserved are the attributes that callers of remember cannot set.
func reserved() []string {
	return []string{AttrLayer, AttrTurnNumber, AttrStates, AttrOrigin, AttrCopy, AttrConsolidated, AttrAbstract, attrBase, attrDecayed, memory.AttrRole, memory.AttrRecall}
}

// item is what a turn adds to the layers.
type item struct {
	note       *memory.Note // as the decision writes it
	importance float64
	layers     []string
}

func (i *item) wants(layer string) bool {
	return len(i.layers) == 0 || slices.Contains(i.layers, layer)
}

// remember stores one item at a caller's request.
func (w *writer) remember(ctx context.Context, raw json.RawMessage) (memory.Decision, error) {
	var args RememberArgs
	if err := json.Unmarshal(raw, &args); err != nil {
		return memory.Decision{}, badArgs(TaskRemember)
	}
	if err := args.check(); err != nil {
		return memory.Decision{}, err
	}
	w.out.Decision = "remember"
	n := memory.Note{
		ID: w.d.NewID(), Kind: memory.KindNote, Content: args.Content, Context: memory.DefaultContext, Category: memory.DefaultCategory,
		Attributes: maps.Clone(args.Attributes), OccurredAt: memory.EventInstant(memory.Localize(args.OccurredAt, w.d.Now().Location())), State: memory.StateEvolved, Importance: memory.DefaultImportance,
	}
	if args.OccurredAt.IsZero() {
		n.OccurredAt = memory.EventInstant(w.d.Now())
	}
	if n.Attributes == nil {
		n.Attributes = map[string]any{}
	}
	if args.Type != "" {
		n.Attributes[AttrType] = args.Type
	}
	if args.Role != "" {
		n.Kind = memory.KindMessage
		n.Attributes[memory.AttrRole] = string(args.Role)
	}
	if args.Name != "" {
		n.Attributes[memory.AttrName] = args.Name
	}
	if !args.ExpiresAt.IsZero() {
		n.ExpireAt(memory.Instant(args.ExpiresAt))
	}
	if err := n.Check(); err != nil {
		return memory.Decision{}, err
	}
	it := item{note: w.put(&n), layers: args.Layers}
	if args.Importance != nil {
		it.importance = *args.Importance
	} else if err := w.rate(ctx, &it, nil); err != nil {
		return memory.Decision{}, err
	}
	if err := w.add(ctx, &it); err != nil {
		return memory.Decision{}, err
	}
	if err := w.countTurn(ctx, it.note); err != nil {
		return memory.Decision{}, err
	}
	if err := w.settle(ctx); err != nil {
		return memory.Decision{}, err
	}
	return w.decision(memory.CauseExtract)
}

// exchange stores what a person said and the answer.
func (w *writer) exchange(ctx context.Context, messages []memory.Note) (memory.Decision, error) {
	w.out.Decision = "remember"
	var items []*item
	for i := range messages {
		if layerOf(&messages[i]) != "" {
			continue // it was stored by an earlier try, or imported
		}
		it := &item{note: w.put(&messages[i])}
		if err := w.rate(ctx, it, items); err != nil {
			return memory.Decision{}, err
		}
		items = append(items, it)
		if err := w.add(ctx, it); err != nil {
			return memory.Decision{}, err
		}
	}
	if len(items) > 0 {
		if err := w.countTurn(ctx, items[0].note); err != nil {
			return memory.Decision{}, err
		}
	}
	if err := w.settle(ctx); err != nil {
		return memory.Decision{}, err
	}
	return w.decision(memory.CauseExtract)
}

// settle ends a turn: the working layer keeps its capacity. An item that leaves immediately was not stored there.
func (w *writer) settle(ctx context.Context) error {
	left, err := w.prune(ctx)
	if err != nil {
		return err
	}
	w.out.Stored = slices.DeleteFunc(w.out.Stored, func(s Stored) bool {
		gone := s.Layer == Working && slices.Contains(left, s.Note)
		if gone {
			if w.c.WorkingStrategy == strategyWindow {
				w.skippedf(Working, "the layer is full, and this item is the oldest of all")
			} else {
				w.skippedf(Working, "the layer is full, and this item has the lowest score of all")
			}
		}
		return gone
	})
	return nil
}

// rate sets the importance of an item by the rules: of what was said those of chats, else those of items. before
// are the items of the same exchange.
func (w *writer) rate(ctx context.Context, it *item, before []*item) error {
	n := it.note
	if n.Kind != memory.KindMessage {
		it.importance = itemImportance(n.Content).Value
		return nil
	}
	switch memory.UtteranceOf(n).Role {
	case memory.RoleUser:
		it.importance = chatImportance(n.Content, func() bool { return w.tells(ctx, n.Content) }).Value
	case memory.RoleAssistant:
		kept, said, err := w.answered(ctx, n.ID, before)
		if err != nil {
			return err
		}
		it.importance = replyTo(kept, said, n.Content).Value
	case memory.RoleSystem, memory.RoleDeveloper, memory.RoleTool:
		it.importance = baseImportance
	}
	return nil
}

// maxAsked is how many messages before a reply are looked through for the one that it answers.
const maxAsked = 10

// answered returns what a reply answers, and whether it became an episode: the last message of a user, of the same
// exchange or before it, in whichever layer it is.
func (w *writer) answered(ctx context.Context, reply uuid.UUID, before []*item) (kept bool, said string, err error) {
	for _, it := range slices.Backward(before) {
		if memory.UtteranceOf(it.note).Role == memory.RoleUser {
			return isKept(it.note), it.note.Content, nil
		}
	}
	list, err := w.d.List(ctx, memory.NoteQuery{Kinds: []memory.Kind{memory.KindMessage}, Newest: true, After: reply, Limit: maxAsked})
	if err != nil {
		return false, "", fmt.Errorf("list what was said before a reply: %w", err)
	}
	for i := range list {
		if memory.UtteranceOf(&list[i]).Role == memory.RoleUser {
			return isKept(&list[i]), list[i].Content, nil
		}
	}
	return false, "", nil
}

// isKept reports whether an item is an episode or was copied to one.
func isKept(n *memory.Note) bool { return layerOf(n) == Episodic || textOf(n, AttrCopy) != "" }

// add stores an item in the layers.
func (w *writer) add(ctx context.Context, it *item) error {
	n := it.note
	n.Importance, n.Attributes[AttrLayer] = it.importance, layerLog
	if it.wants(Working) {
		n.Attributes[AttrLayer] = Working
		w.stored(Working, n)
	}
	if it.wants(Episodic) {
		if err := w.addEpisode(ctx, it); err != nil {
			return err
		}
	}
	if it.wants(Semantic) {
		return w.addKnowledge(ctx, n, true)
	}
	return nil
}

// addEpisode stores an item in the episodic layer, if it is important enough and not there.
func (w *writer) addEpisode(ctx context.Context, it *item) error {
	n := it.note
	if !memory.Learnable(n) {
		w.skippedf(Episodic, "nothing is learned from what a system, a developer or a tool says, nor from a reply that was written from memory")
		return nil
	}
	if it.importance < w.c.Threshold {
		w.skippedf(Episodic, "importance %.2f is below the threshold of %g", it.importance, w.c.Threshold)
		return nil
	}
	if layerOf(n) != Working { // it is needed only once
		existing, ok, err := w.episodeOf(ctx, n.Content)
		if err != nil {
			return err
		}
		if ok {
			w.out.Skipped = append(w.out.Skipped, Skipped{Layer: Episodic, Reason: "it is there already", Note: &existing.ID})
			return nil
		}
		n.Attributes[AttrLayer] = Episodic
		if n.From == 0 {
			n.Key = episodeKey(n.Content)
		}
		w.stored(Episodic, n)
		return nil
	}
	return w.copyEpisode(ctx, n, it.importance)
}

// copyEpisode copies an item to the episodic layer, unless its text is there: an episode keeps its importance and
// its use.
func (w *writer) copyEpisode(ctx context.Context, n *memory.Note, importance float64) error {
	existing, ok, err := w.episodeOf(ctx, n.Content)
	if err != nil {
		return err
	}
	if ok {
		w.out.Skipped = append(w.out.Skipped, Skipped{Layer: Episodic, Reason: "it is there already", Note: &existing.ID})
		w.put(n).Attributes[AttrCopy] = existing.ID.String()
		w.keepLonger(&existing, n)
		return nil
	}
	e := memory.Note{
		ID: w.d.NewID(), Kind: memory.KindNote, Key: episodeKey(n.Content), Content: n.Content, Context: n.Context, Keywords: n.Keywords, Tags: n.Tags,
		Category: n.Category, Attributes: maps.Clone(n.Attributes), OccurredAt: n.OccurredAt, ExpiresAt: n.ExpiresAt, Importance: importance, State: memory.StateEvolved,
		Provenance: memory.Provenance{Sources: []uuid.UUID{n.ID}},
	}
	for _, name := range []string{AttrTurnNumber, AttrConsolidated, attrBase, attrDecayed, memory.AttrTurn} {
		delete(e.Attributes, name)
	}
	e.Attributes[AttrLayer], e.Attributes[AttrOrigin] = Episodic, n.ID.String()
	w.put(n).Attributes[AttrCopy] = e.ID.String()
	w.stored(Episodic, w.put(&e))
	return nil
}

// keepLonger makes an episode that expires last as long as an item with the same text, from which it is derived then, too.
func (w *writer) keepLonger(episode, n *memory.Note) {
	if episode.ExpiresAt.IsZero() || !n.ExpiresAt.IsZero() && !n.ExpiresAt.After(episode.ExpiresAt) {
		return
	}
	e := w.put(episode)
	e.ExpireAt(n.ExpiresAt)
	e.Provenance.Sources = append(slices.Clone(e.Provenance.Sources), n.ID)
}

const episodeKeyPrefix = "layered/episode/"

// episodeKey returns the natural key of an episode with a text, so that two writers cannot both add it.
func episodeKey(content string) string {
	sum := sha256.Sum256([]byte(text.Normalize(content)))
	return episodeKeyPrefix + hex.EncodeToString(sum[:16])
}

// episodeOf returns the episode with a text. A note that still has the key of that text, but left the layer or has
// another text now, loses the key: a new episode needs it.
func (w *writer) episodeOf(ctx context.Context, content string) (memory.Note, bool, error) {
	key, want := episodeKey(content), text.Normalize(content)
	for _, id := range w.order {
		if n := w.puts[id]; layerOf(n) == Episodic && text.Normalize(n.Content) == want && !slices.Contains(w.deletes, id) {
			return *n, true, nil
		}
	}
	if n := w.episodes[want]; n != nil {
		return *n, true, nil
	}
	for _, kind := range itemKinds() {
		n, ok, err := w.d.ByKey(ctx, kind, key)
		if err != nil {
			return n, false, fmt.Errorf("find an episode: %w", err)
		}
		if !ok || slices.Contains(w.deletes, n.ID) {
			continue
		}
		if is := w.current(&n); layerOf(is) == Episodic && text.Normalize(is.Content) == want {
			return *is, true, nil
		}
		w.put(&n).Key = ""
	}
	return memory.Note{}, false, nil
}

// addKnowledge stores what an item states. It is called again when the text of the item has changed: fresh is
// false then.
func (w *writer) addKnowledge(ctx context.Context, n *memory.Note, fresh bool) error {
	if !memory.Learnable(n) || memory.UtteranceOf(n).Role != memory.RoleUser {
		w.skippedf(Semantic, "only what a user says is learned")
		return nil
	}
	triples, ended, err := w.triples(ctx, n)
	if err != nil {
		return err
	}
	setStates(n, len(triples))
	if episode, err := uuid.Parse(textOf(n, AttrCopy)); err == nil && w.puts[episode] != nil {
		setStates(w.puts[episode], len(triples))
	}
	if !fresh {
		if err := w.facts.keepOnly(ctx, n.ID, triples); err != nil {
			return err
		}
	}
	if len(triples) == 0 {
		w.skippedf(Semantic, "it states nothing that is kept as knowledge")
	}
	if err := w.facts.endStated(ctx, ended, triples, n); err != nil {
		return err
	}
	for _, t := range triples {
		if err := w.facts.assert(ctx, t, n); err != nil {
			return err
		}
	}
	return nil
}

// setStates sets how many triples an item states.
func setStates(n *memory.Note, count int) {
	if count == 0 {
		delete(n.Attributes, AttrStates)
		return
	}
	n.Attributes[AttrStates] = float64(count)
}

// triples returns what a text states, and what it ends.
func (w *writer) triples(ctx context.Context, n *memory.Note) (triples []Triple, ended []*edge, err error) {
	said := memory.UtteranceOf(n)
	known, err := w.mayEnd(ctx, &said)
	if err != nil {
		return nil, nil, err
	}
	in := TriplesInput{Message: said, Known: w.facts.known(known)}
	call, err := w.p.calls.Triples(in)
	if err != nil {
		return nil, nil, err
	}
	call.MaxTokens = w.c.MaxTokens
	answer, err := w.d.Ask(ctx, call)
	switch {
	case err == nil:
		read, err := ReadTriples(answer.JSON, answer.Analyst, len(known))
		if err != nil {
			return nil, nil, err
		}
		w.out.Analyst, triples = answer.Analyst, read.Triples
		if answer.Analyst == memory.AnalystModel {
			triples = saidOf(&in, read.Triples)
		}
		w.out.Dropped += read.Dropped + len(read.Triples) - len(triples)
		for _, k := range read.Ends {
			ended = append(ended, known[k])
		}
	case errors.Is(err, memory.ErrBadAnswer) || errors.Is(err, memory.ErrBudget):
		triples, w.out.Analyst = RuleTriples(in), memory.AnalystHeuristic
	default:
		return nil, nil, fmt.Errorf("%s: %w", CallTriples, err)
	}
	for i := range triples {
		if triples[i].Subject == SubjectUser {
			triples[i].Subject = w.subjectOf(&said)
		}
	}
	return triples, ended, nil
}

// saidOf returns the triples whose ends were said: the object in the message, the subject there or in what is known, if it is not
// who speaks.
func saidOf(in *TriplesInput, triples []Triple) (out []Triple) {
	message := policy.NewEvidence(in.Message.Time.Year(), in.Message.Content)
	names := []string{in.Message.Name}
	for i := range in.Known {
		names = append(names, in.Known[i].Subject, in.Known[i].Object)
	}
	background := message.With(names...)
	for _, t := range triples {
		if message.Has(t.Object) && (t.Subject == SubjectUser || background.Has(t.Subject)) {
			out = append(out, t)
		}
	}
	return out
}

// note decides about a note that a caller wrote or changed.
func (w *writer) note(ctx context.Context, n memory.Note) (memory.Decision, error) {
	if !isItemKind(n.Kind) {
		dec, err := w.decision("")
		dec.Note = n
		return dec, err
	}
	w.out.Decision = "remember"
	event := w.put(&n)
	var err error
	if layerOf(&n) == "" {
		it := &item{note: event}
		if err = w.rateUnset(ctx, it); err == nil {
			err = w.place(ctx, it)
		}
		if err == nil {
			err = w.countTurn(ctx, event)
		}
	} else {
		err = w.changed(ctx, event)
	}
	if err == nil {
		err = w.settle(ctx)
	}
	if err != nil {
		return memory.Decision{}, err
	}
	dec, err := w.decision(memory.CauseExtract)
	dec.Note = *event
	dec.Puts = slices.DeleteFunc(dec.Puts, func(p memory.Note) bool { return p.ID == n.ID })
	return dec, err
}

// rateUnset sets the importance of an item by the rules, unless its writer has set another than the default.
func (w *writer) rateUnset(ctx context.Context, it *item) error {
	it.importance = it.note.Importance
	if math.Abs(it.importance-memory.DefaultImportance) < 1e-12 {
		return w.rate(ctx, it, nil)
	}
	return nil
}

// place stores an item that a caller wrote: as an episode if it is important enough, else in the working layer.
func (w *writer) place(ctx context.Context, it *item) error {
	it.layers = []string{Episodic, Semantic}
	if it.importance < w.c.Threshold {
		it.layers = []string{Working, Semantic}
		w.skippedf(Episodic, "importance %.2f is below the threshold of %g", it.importance, w.c.Threshold)
	}
	return w.add(ctx, it)
}

// changed follows the change of an item's text: its copy gets the same text, what it stated is read again, and an
// abstract of the text of before goes.
func (w *writer) changed(ctx context.Context, n *memory.Note) error {
	origin := n
	twin, ids, err := w.twin(ctx, n.ID, cmp.Or(textOf(n, AttrOrigin), textOf(n, AttrCopy)))
	switch {
	case err != nil:
		return err
	case twin == nil:
		delete(n.Attributes, AttrCopy) // the episode has the text of before
	default:
		if textOf(n, AttrOrigin) != "" {
			origin = twin
		}
		twin.Content, twin.Context, twin.Keywords, twin.Tags = n.Content, n.Context, n.Keywords, n.Tags
		if err := w.rekey(ctx, twin); err != nil {
			return err
		}
	}
	if err := w.rekey(ctx, n); err != nil {
		return err
	}
	if err := w.dropAbstracts(ctx, ids); err != nil {
		return err
	}
	return w.addKnowledge(ctx, origin, false)
}

// rekey sets the key of an episode that has another text now; it has none if another note has that key.
func (w *writer) rekey(ctx context.Context, n *memory.Note) error {
	if !strings.HasPrefix(n.Key, episodeKeyPrefix) {
		return nil
	}
	key := episodeKey(n.Content)
	for _, kind := range itemKinds() {
		holder, ok, err := w.d.ByKey(ctx, kind, key)
		if err != nil {
			return fmt.Errorf("find an episode: %w", err)
		}
		if ok && holder.ID != n.ID {
			key = ""
			break
		}
	}
	n.Key = key
	return nil
}

// twin returns what an item is a copy of, or its copy, as the decision leaves it; nil: neither is there. named is the
// id that the item has of it. An item may name an episode that is the copy of another item with the same text. ids
// are those of the item and its twin, also of a twin that is gone.
func (w *writer) twin(ctx context.Context, item uuid.UUID, named string) (twin *memory.Note, ids []uuid.UUID, err error) {
	ids = []uuid.UUID{item}
	id, err := uuid.Parse(named)
	if err != nil {
		return nil, ids, nil //nolint:nilerr // it names none
	}
	notes, err := w.d.Notes(ctx, []uuid.UUID{id})
	switch {
	case err != nil:
		return nil, nil, fmt.Errorf("read a copy: %w", err)
	case len(notes) == 0:
		return nil, append(ids, id), nil
	case !areTwins(item, &notes[0]):
		return nil, ids, nil
	}
	return w.put(&notes[0]), append(ids, id), nil
}

// areTwins reports whether a note is the copy of an item, or what that is a copy of.
func areTwins(item uuid.UUID, n *memory.Note) bool {
	if origin := textOf(n, AttrOrigin); origin != "" {
		return origin == item.String()
	}
	return textOf(n, AttrCopy) == item.String()
}

// reread takes in an item that was restored, which the key of the task names.
func (w *writer) reread(ctx context.Context, task memory.Task, take func(context.Context, *memory.Note) error) (memory.Decision, error) {
	id, err := uuid.Parse(task.Key)
	if err != nil {
		return memory.Decision{}, badArgs(task.Name)
	}
	notes, err := w.d.Notes(ctx, []uuid.UUID{id})
	if err != nil {
		return memory.Decision{}, fmt.Errorf("read a restored item: %w", err)
	}
	w.out.Decision = "remember"
	for i := range notes {
		if err := take(ctx, w.put(&notes[i])); err != nil {
			return memory.Decision{}, err
		}
	}
	if err := w.settle(ctx); err != nil {
		return memory.Decision{}, err
	}
	return w.decision(memory.CauseExtract)
}

// restored takes in a restored item: what went with its deletion and what it named then may be gone. It is an episode
// again if it was one, and its knowledge is taken again. A copy whose origin is gone is an item of its own.
func (w *writer) restored(ctx context.Context, n *memory.Note) error {
	named, err := w.named(ctx, n, AttrOrigin, AttrCopy, AttrAbstract)
	if err != nil {
		return err
	}
	if a := named[AttrAbstract]; a == nil || !slices.Contains(a.Provenance.Sources, n.ID) {
		delete(n.Attributes, AttrAbstract)
	}
	if textOf(n, AttrOrigin) != "" {
		origin := named[AttrOrigin]
		if origin != nil && text.Normalize(origin.Content) == text.Normalize(n.Content) {
			w.put(origin).Attributes[AttrCopy] = n.ID.String()
			return nil
		}
		delete(n.Attributes, AttrOrigin)
	}
	if textOf(n, AttrCopy) != "" {
		episode := named[AttrCopy]
		if episode == nil || layerOf(episode) != Episodic || text.Normalize(episode.Content) != text.Normalize(n.Content) {
			delete(n.Attributes, AttrCopy)
			if err := w.copyEpisode(ctx, n, n.Importance); err != nil {
				return err
			}
		}
	}
	return w.addKnowledge(ctx, n, false)
}

// named returns the visible notes whose ids attributes of an item have, by attribute.
func (w *writer) named(ctx context.Context, n *memory.Note, attributes ...string) (map[string]*memory.Note, error) {
	byID := map[uuid.UUID]string{}
	for _, name := range attributes {
		if id, err := uuid.Parse(textOf(n, name)); err == nil {
			byID[id] = name
		}
	}
	notes, err := w.d.Notes(ctx, slices.Collect(maps.Keys(byID)))
	if err != nil {
		return nil, fmt.Errorf("read what an item names: %w", err)
	}
	out := map[string]*memory.Note{}
	for i := range notes {
		out[byID[notes[i].ID]] = &notes[i]
	}
	return out, nil
}

// retract removes what a deleted item leaves behind: its copies, and its support of what it stated.
func (w *writer) retract(ctx context.Context, raw json.RawMessage) (memory.Decision, error) {
	var args retractArgs
	if err := json.Unmarshal(raw, &args); err != nil {
		return memory.Decision{}, badArgs(TaskRetract)
	}
	w.out.Decision = "retract"
	gone, err := uuid.Parse(args.Note)
	if err != nil {
		return memory.Decision{}, badArgs(TaskRetract)
	}
	twin, ids, err := w.twin(ctx, gone, args.Twin)
	if err != nil {
		return memory.Decision{}, err
	}
	if twin != nil {
		w.deletes = append(w.deletes, twin.ID)
		if textOf(twin, AttrOrigin) != "" {
			if err := w.copyAgain(ctx, twin.ID); err != nil {
				return memory.Decision{}, err
			}
		}
	}
	if err := w.dropAbstracts(ctx, ids); err != nil {
		return memory.Decision{}, err
	}
	if err := w.facts.withdraw(ctx, ids); err != nil {
		return memory.Decision{}, err
	}
	return w.decision(memory.CauseForget)
}

// copyAgain makes an episode of the other items that have the text of an episode that goes with its origin.
func (w *writer) copyAgain(ctx context.Context, episode uuid.UUID) error {
	others, err := w.holders(ctx, episode)
	if err != nil {
		return err
	}
	for _, n := range others {
		delete(n.Attributes, AttrCopy)
		if err := w.copyEpisode(ctx, n, n.Importance); err != nil {
			return err
		}
	}
	return nil
}
