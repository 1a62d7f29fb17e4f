package notes

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// AddMany stores up to 10,000 lines in changesets of at most 500 and returns one result per line,
// in order. An invalid line fails alone. A line that was sent before under its idempotency key
// returns the note it made; a different line under that key is IdempotencyReuse. A line whose
// natural key exists with the same content returns that note; with other content it is Exists. A line without a
// key returns a note that says the same, as Add does, if it was there before the call. When
// a changeset fails, all its lines fail; earlier changesets stay written. Of lines for which the tenant has no room those are
// written that fit.
func (n *Service) AddMany(ctx context.Context, s tenant.Scope, ref string, lines []BulkLine) ([]BulkResult, error) {
	keys := make([]*memory.Idempotency, len(lines))
	for i := range lines {
		keys[i] = lines[i].Once
	}
	return memory.Again(func() ([]BulkResult, error) { return n.addMany(ctx, s, ref, lines) }, keys...)
}

func (n *Service) addMany(ctx context.Context, s tenant.Scope, ref string, lines []BulkLine) ([]BulkResult, error) {
	c, err := n.resolveWritable(ctx, s, ref)
	if err != nil {
		return nil, err
	}
	if len(lines) > memory.MaxBulkLines {
		return nil, &fault.Error{
			Code: fault.TooLarge, Message: "too many lines",
			Fields: []fault.Field{{Field: "lines", Reason: "more lines than one bulk may have; use import"}},
		}
	}
	if err := n.checkWhole(ctx, s, lines); err != nil {
		return nil, err
	}
	results := make([]BulkResult, len(lines))
	embedding, cancel := n.embedContext(ctx)
	defer cancel()
	var batch []*bulkNote
	made := map[uuid.UUID]bool{}
	for i := range lines {
		results[i].Line = i + 1
		b := &bulkNote{at: i, infer: wantsPolicy(&lines[i].Note), find: lines[i].Note.looksForDuplicate(), once: lines[i].Once}
		err := lines[i].Err
		if err == nil && lines[i].Note.ID != uuid.Nil {
			err = fault.InvalidField("id", "is set by the server; only an import keeps ids")
		}
		if err == nil {
			b.note, err = lines[i].Note.build(n.now(&c), s.Actor(), n.takesImages(&c))
		}
		if err == nil {
			_, err = c.ScreenNote(ctx, &b.note)
		}
		if err == nil {
			b.note.ID, err = uuid.NewV7()
		}
		if err != nil {
			results[i].Err = lineFault(err)
			continue
		}
		if batch = append(batch, b); len(batch) == n.cfg.BatchSize {
			if err := n.addBatch(ctx, embedding, s, &c, batch, made, results); err != nil {
				return nil, err
			}
			batch = nil
		}
	}
	if len(batch) > 0 {
		if err := n.addBatch(ctx, embedding, s, &c, batch, made, results); err != nil {
			return nil, err
		}
	}
	return results, nil
}

// checkWhole refuses a bulk whose idempotency key was used with another body.
func (n *Service) checkWhole(ctx context.Context, s tenant.Scope, lines []BulkLine) error {
	for i := range lines {
		if !lines[i].Whole || lines[i].Once == nil {
			continue
		}
		if _, _, err := n.store.Replayed(ctx, s, *lines[i].Once); err != nil {
			return err
		}
	}
	return nil
}

// bulkNote is a validated line and its position in the input.
type bulkNote struct {
	at    int
	note  memory.Note
	infer bool
	find  bool // a note that says the same is returned instead
	once  *memory.Idempotency
}

// embedContext returns the context for embedding the texts of a bulk. It leaves enough of the request's
// time for the write.
func (n *Service) embedContext(ctx context.Context) (context.Context, context.CancelFunc) {
	patience := n.cfg.EmbedFor
	if until, ok := ctx.Deadline(); ok {
		patience = min(patience, time.Until(until)*3/4)
	}
	return context.WithTimeout(ctx, patience)
}

// Embed sets the vectors of notes that a caller will write, as far as the embedder is fast and the time of the
// request allows. A note that has none then needs a job.
func (n *Service) Embed(ctx context.Context, s tenant.Scope, c *memory.Collection, list []*memory.Note) {
	ctx, cancel := n.embedContext(ctx)
	defer cancel()
	n.embedNotes(ctx, s, c, list...)
}

// addBatch writes one changeset, or more if other tenants wait for the writer or there is no room for all, fills in the results of its
// lines, and adds the notes that it made to made. A Planned is returned, and nothing is written.
func (n *Service) addBatch(ctx, embedding context.Context, s tenant.Scope, c *memory.Collection, batch []*bulkNote, made map[uuid.UUID]bool, results []BulkResult) error {
	refuse := func(b *bulkNote, err error) { results[b.at].Err = lineFault(err) }
	todo := func(batch []*bulkNote) []*bulkNote {
		return slices.DeleteFunc(slices.Clone(batch), func(b *bulkNote) bool { return results[b.at].ID != uuid.Nil || results[b.at].Err != nil })
	}
	err := storeWhatFits(batch, func(part []*bulkNote) error {
		return n.addPart(ctx, embedding, s, c, todo(part), made, results)
	}, refuse)
	if _, ok := errors.AsType[*memory.Planned](err); ok {
		return err
	}
	if err != nil {
		for _, b := range todo(batch) {
			refuse(b, err)
		}
	}
	return nil
}

// storeWhatFits calls add with a batch, or with its halves where the tenant has no room for the whole. refuse is called with what does not
// fit. When there is no room for one note more, the rest is refused without asking for each.
func storeWhatFits[T any](batch []T, add func([]T) error, refuse func(T, error)) error {
	var full error
	var store func([]T) error
	store = func(part []T) error {
		err := full
		if err == nil {
			if err = add(part); !isFull(err) {
				return err
			}
			if len(part) == 1 && errors.Is(err, tenant.ErrNoteLimit) {
				full = err
			}
		}
		if full != nil || len(part) == 1 {
			for _, x := range part {
				refuse(x, err)
			}
			return nil
		}
		half := len(part) / 2
		if err := store(part[:half]); err != nil {
			return err
		}
		return store(part[half:])
	}
	return store(batch)
}

// isFull reports whether an error says that the tenant has no room, which does not come back by waiting.
func isFull(err error) bool {
	f, ok := errors.AsType[*fault.Error](err)
	return ok && f.Code == fault.QuotaExceeded && f.RetryAfter == 0
}

// addPart writes a part of a batch for which there is room, or nothing of it but what is in results.
func (n *Service) addPart(ctx, embedding context.Context, s tenant.Scope, c *memory.Collection, batch []*bulkNote, made map[uuid.UUID]bool, results []BulkResult) error {
	if len(batch) == 0 {
		return nil
	}
	var bytes, jobs int64
	list := make([]*memory.Note, len(batch))
	for i, b := range batch {
		bytes += b.note.Size()
		if b.infer {
			jobs++
		}
		list[i] = &b.note
	}
	if err := n.checkQuota(ctx, s, int64(len(batch)), bytes); err != nil {
		return err
	}
	if err := n.checkJobs(ctx, s, c, jobs); err != nil {
		return err
	}
	n.embedNotes(embedding, s, c, list...)
	for len(batch) > 0 {
		out, err := n.addLines(ctx, s, c, batch, made)
		if err != nil {
			return err
		}
		for i, r := range out {
			results[batch[i].at] = r
			if r.Created {
				made[r.ID] = true
			}
		}
		batch = batch[len(out):]
	}
	return nil
}

// fewestLines is how many lines a changeset of a bulk has at least, if there are as many, when other tenants wait.
const fewestLines = 8

// addLines writes lines as one changeset: all, or the first ones when other tenants wait. It returns the results of those.
func (n *Service) addLines(ctx context.Context, s tenant.Scope, c *memory.Collection, batch []*bulkNote, made map[uuid.UUID]bool) (out []BulkResult, err error) {
	o := memory.WriteOptions{Cause: memory.CauseAdd, Long: true, Audit: []memory.AuditEntry{audit("note.bulk", c.ID, c)}}
	_, err = n.store.Write(ctx, s, c.ID, o, func(ctx context.Context, tx memory.Tx) error {
		out = make([]BulkResult, 0, len(batch))
		known, err := findDuplicates(ctx, tx, batch, made)
		if err != nil {
			return err
		}
		ids := make([]uuid.UUID, len(batch))
		for i, b := range batch {
			ids[i] = b.note.ID
		}
		tx.Fresh(ids...)
		for _, b := range batch {
			if len(out) >= fewestLines && tx.OthersWait() {
				break
			}
			r, err := addLine(ctx, s, tx, c, b, known)
			if err != nil {
				return err
			}
			out = append(out, r)
		}
		return nil
	})
	return out, err
}

// duplicates are notes that lines of a bulk may repeat, by memory.DigestOf.
type duplicates map[int64]memory.Note

// findDuplicates reads the notes that lines repeat, in one call. made are those of earlier batches of the call.
func findDuplicates(ctx context.Context, tx memory.Tx, batch []*bulkNote, made map[uuid.UUID]bool) (duplicates, error) {
	var asked []memory.Note
	for _, b := range batch {
		if b.find {
			asked = append(asked, b.put(tx))
		}
	}
	known := duplicates{}
	if len(asked) == 0 {
		return known, nil
	}
	same, err := tx.Duplicates(ctx, asked)
	for i := range same {
		if n := &same[i]; n.ID != uuid.Nil && !made[n.ID] {
			known[memory.DigestOf(n)] = *n
		}
	}
	return known, err
}

func (k duplicates) of(n *memory.Note) (memory.Note, bool) {
	same, ok := k[memory.DigestOf(n)]
	return same, ok && memory.IsDuplicate(&same, n)
}

// put returns the note of a line as it will be stored.
func (b *bulkNote) put(tx memory.Tx) memory.Note {
	n := b.note
	if n.OccurredAt.IsZero() {
		n.OccurredAt = tx.Now()
	}
	return n
}

// addLine writes one line of a bulk. A returned error fails the transaction; an error of the line
// alone is in the result.
func addLine(ctx context.Context, s tenant.Scope, tx memory.Tx, c *memory.Collection, b *bulkNote, known duplicates) (BulkResult, error) {
	r := BulkResult{Line: b.at + 1}
	if b.once != nil {
		seen, ok, err := tx.Answered(ctx, *b.once)
		switch {
		case fault.Is(err, fault.IdempotencyReuse):
			r.Err = err
			return r, nil
		case err != nil:
			return r, err
		case ok:
			ids, err := seen.AnswerFor(c.ID)
			switch {
			case fault.Is(err, fault.IdempotencyReuse):
				r.Err = err
				return r, nil
			case err != nil:
				return r, err
			case len(ids.Notes) != 1:
				return r, fault.New(fault.Internal, "the stored answer is not about one note")
			}
			r.ID, r.Revision, r.Found = ids.Notes[0], ids.Revision, ids.Found
			return r, nil
		}
	}
	put := b.put(tx)
	if same, ok := known.of(&put); ok && b.find {
		same, err := keepLonger(ctx, tx, same, put.ExpiresAt)
		if err != nil {
			return r, err
		}
		r.ID, r.Revision, r.Found = same.ID, same.From, true
		return r, b.remember(ctx, tx, memory.AnswerIDs{Collection: c.ID, Notes: []uuid.UUID{same.ID}, Revision: same.From, Found: true})
	}
	// Looked up before the write, because a failed statement ends the transaction on some engines.
	if put.Key != "" {
		old, err := tx.NoteByKey(ctx, put.Kind, put.Key)
		switch {
		case err == nil && old.Content == put.Content:
			r.ID, r.Revision = old.ID, old.From
			return r, nil
		case err == nil:
			r.Err = &fault.Error{
				Code: fault.Exists, Message: "another note has this key",
				Fields: []fault.Field{{Field: "key", Reason: "is taken by another note"}},
			}
			return r, nil
		case !fault.Is(err, fault.NotFound):
			return r, err
		}
	}
	if _, err := tx.Put(ctx, put); err != nil {
		return r, err
	}
	if job := noteJob(s, c, &put, b.infer); job != nil {
		j, err := tx.Enqueue(ctx, *job)
		if err != nil {
			return r, err
		}
		r.Job = &j
	}
	r.ID, r.Revision, r.Created = put.ID, tx.Revision(), true
	ids := memory.AnswerIDs{Collection: c.ID, Notes: []uuid.UUID{put.ID}, Revision: r.Revision}
	if r.Job != nil {
		ids.Job = &r.Job.ID
	}
	return r, b.remember(ctx, tx, ids)
}

// remember stores the answer of a line under its idempotency key.
func (b *bulkNote) remember(ctx context.Context, tx memory.Tx, ids memory.AnswerIDs) error {
	if b.once == nil {
		return nil
	}
	once := *b.once
	once.IDs = ids.Raw()
	return tx.Remember(ctx, once)
}

// lineFault returns an error that the result of a line may show: faults as they are, any other error
// as Internal.
func lineFault(err error) error {
	if _, ok := errors.AsType[*fault.Error](err); ok {
		return err
	}
	return fault.Wrap(err, fault.Internal, "the line could not be written")
}
