package notes

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// AddMany stores up to 10,000 lines in changesets of at most 500 and returns one result per line,
// in order. An invalid line fails alone. A line that was sent before under its idempotency key
// returns the note it made; a different line under that key is IdempotencyReuse. A line whose
// natural key exists with the same content returns that note; with other content it is Exists. When
// a changeset fails, all its lines fail; earlier changesets stay written.
func (n *Service) AddMany(ctx context.Context, s tenant.Scope, ref string, lines []BulkLine) ([]BulkResult, error) {
	c, err := n.resolveWritable(ctx, s, ref)
	if err != nil {
		return nil, err
	}
	if len(lines) > n.cfg.BulkLines {
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
	for i := range lines {
		results[i].Line = i + 1
		b := &bulkNote{at: i, infer: wantsPolicy(&lines[i].Note), once: lines[i].Once}
		err := lines[i].Err
		if err == nil && lines[i].Note.ID != uuid.Nil {
			err = fault.InvalidField("id", "is set by the server; only an import keeps ids")
		}
		if err == nil {
			b.note, err = lines[i].Note.build(n.clock(), s.Actor())
		}
		if err == nil {
			b.note.ID, err = uuid.NewV7()
		}
		if err != nil {
			results[i].Err = lineFault(err)
			continue
		}
		if batch = append(batch, b); len(batch) == n.cfg.BatchSize {
			n.addBatch(ctx, embedding, s, &c, batch, results)
			batch = nil
		}
	}
	n.addBatch(ctx, embedding, s, &c, batch, results)
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
	once  *memory.Idempotency
}

// embedContext returns the context for embedding the texts of a bulk. It leaves enough of the request's
// time for the write.
func (n *Service) embedContext(ctx context.Context) (context.Context, context.CancelFunc) {
	patience := n.cfg.EmbedFor
	if until, ok := ctx.Deadline(); ok {
		patience = min(patience, time.Until(until)/2)
	}
	return context.WithTimeout(ctx, patience)
}

// addBatch writes one changeset and fills in the results of its lines.
func (n *Service) addBatch(ctx, embedding context.Context, s tenant.Scope, c *memory.Collection, batch []*bulkNote, results []BulkResult) {
	if len(batch) == 0 {
		return
	}
	fail := func(err error) {
		for _, b := range batch {
			results[b.at].Err = lineFault(err)
		}
	}
	var bytes, jobs int64
	texts := make([]string, len(batch))
	for i, b := range batch {
		bytes += b.note.Size()
		if b.infer {
			jobs++
		}
		texts[i] = memory.EmbedText(&b.note)
	}
	if err := n.checkQuota(ctx, s, int64(len(batch)), bytes); err != nil {
		fail(err)
		return
	}
	if err := n.checkJobs(ctx, s, c, jobs); err != nil {
		fail(err)
		return
	}
	for i, e := range n.embed(embedding, s, c, texts) {
		if e.Vector != nil {
			batch[i].note.Embed(e, c.Embedder)
		}
	}
	var out []BulkResult
	o := memory.WriteOptions{Cause: memory.CauseAdd, Audit: []memory.AuditEntry{audit("note.bulk", c.ID, c)}}
	_, err := n.store.Write(ctx, s, c.ID, o, func(ctx context.Context, tx memory.Tx) error {
		out = make([]BulkResult, 0, len(batch))
		for _, b := range batch {
			r, err := addLine(ctx, s, tx, c, b)
			if err != nil {
				return err
			}
			out = append(out, r)
		}
		return nil
	})
	if err != nil {
		fail(err)
		return
	}
	for i, b := range batch {
		results[b.at] = out[i]
	}
}

// addLine writes one line of a bulk. A returned error fails the transaction; an error of the line
// alone is in the result.
func addLine(ctx context.Context, s tenant.Scope, tx memory.Tx, c *memory.Collection, b *bulkNote) (BulkResult, error) {
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
			r.ID, r.Revision = ids.Notes[0], ids.Revision
			return r, nil
		}
	}
	put := b.note
	if put.OccurredAt.IsZero() {
		put.OccurredAt = tx.Now()
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
	if b.once == nil {
		return r, nil
	}
	ids := memory.AnswerIDs{Collection: c.ID, Notes: []uuid.UUID{put.ID}, Revision: r.Revision}
	if r.Job != nil {
		ids.Job = &r.Job.ID
	}
	once := *b.once
	once.IDs = ids.Raw()
	return r, tx.Remember(ctx, once)
}

// lineFault returns an error that the result of a line may show: faults as they are, any other error
// as Internal.
func lineFault(err error) error {
	if _, ok := errors.AsType[*fault.Error](err); ok {
		return err
	}
	return fault.Wrap(err, fault.Internal, "the line could not be written")
}
