package engine

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// catchUps is how often a reembed job catches up with new writes before it
// switches all the same. Notes that are left then get their vector right after.
const catchUps = 16

// errNewWrites is returned when the collection was written after the vectors were computed.
var errNewWrites = errors.New("the collection was written meanwhile")

// RunReembed runs a reembed job. It adds vectors of the new embedder to every
// visible version, also in the layers of ancestors, a batch at a time; then one
// changeset switches the collection. Until then all reads use the old vectors;
// the base and other forks keep theirs. An interrupted job resumes with the
// versions that have no such vector. Then, or when the embedder is the
// collection's own, notes without any vector get one, as changesets.
func (e *Engine) RunReembed(ctx context.Context, s tenant.Scope, job memory.Job, progress memory.ReportProgress) error {
	var p memory.ReembedJob
	if err := json.Unmarshal(job.Payload, &p); err != nil || p.Embedder == "" {
		return fault.New(fault.Invalid, "the payload of the reembed job cannot be read; a newer version may have made it")
	}
	em, ok := e.embedders.ByName(p.Embedder)
	if !ok {
		return fault.New(fault.Invalid, "the embedder %q is no longer configured", p.Embedder)
	}
	r := &reembedRun{e: e, s: s, job: &job, em: em, name: em.Name(), dim: em.Dim(), report: progress, until: e.now().Add(e.cfg.ReembedSlice)}
	err := r.run(ctx)
	end := memory.JobEnd{State: memory.JobDone, Stage: memory.StageTask, Attempts: job.Attempts}
	switch {
	case errors.Is(err, errTimeSlice):
		end = memory.JobEnd{State: memory.JobQueued, Stage: memory.StageTask} // it made progress: earlier failed tries no longer count
	case err != nil:
		return err
	default:
		if end.Result, err = json.Marshal(map[string]any{"embedder": r.name, "added": r.added, "filled": r.filled}); err != nil {
			return err
		}
	}
	return e.store.ReleaseJob(ctx, s, job.ID, job.Lease, end)
}

// errTimeSlice is returned when the job has used up its time slice.
var errTimeSlice = errors.New("the job continues later")

// reembedRun is one try of a reembed job.
type reembedRun struct {
	e      *Engine
	s      tenant.Scope
	job    *memory.Job
	em     memory.Embedder
	name   string
	dim    int // when the try began
	report memory.ReportProgress
	until  time.Time

	done          memory.Progress
	added, filled int64
}

func (r *reembedRun) run(ctx context.Context) error {
	v, err := r.e.open(ctx, r.s, r.job.Collection)
	if err != nil {
		return err
	}
	if err := r.startProgress(ctx, v); err != nil {
		return err
	}
	if v.Collection.Embedder != r.name {
		// A version without any vector gets one from its own job, or from fill.
		if err := r.eachBatch(ctx, v, func(list []memory.Note) error { return r.add(ctx, v, list) }); err != nil {
			return err
		}
		if err := r.switchEmbedder(ctx, v); err != nil {
			return err
		}
	} else if v.Collection.Dim != r.dim {
		return fault.New(fault.Invalid, "the embedder %q has %d dimensions now, the collection's vectors have %d", r.name, r.dim, v.Collection.Dim)
	}
	if err := r.fill(ctx); err != nil {
		return err
	}
	r.done.Done = r.done.Total
	return r.report(ctx, r.done)
}

// startProgress reports the progress of earlier tries. Vectors of the same
// embedder name with other dimensions are Invalid.
func (r *reembedRun) startProgress(ctx context.Context, v memory.View) error {
	have, other, err := r.e.store.CountVectors(ctx, r.s, v, r.name, r.dim)
	if err != nil {
		return err
	}
	if other > 0 {
		return fault.New(fault.Invalid, "%d vectors that the embedder %q made before have another number of dimensions than the %d that it has now; give it another name", other, r.name, r.dim)
	}
	counts, err := r.e.store.Counts(ctx, r.s, v)
	if err != nil {
		return err
	}
	r.done = memory.Progress{Done: have, Total: max(counts.Notes, have)}
	return r.report(ctx, r.done)
}

// eachBatch calls fn for the notes of a view without a vector, in batches for the embedder.
func (r *reembedRun) eachBatch(ctx context.Context, v memory.View, fn func([]memory.Note) error) error {
	for list, err := range memory.NotePagesOf(ctx, r.e.store, r.s, v, memory.NoteQuery{Lacks: r.name}) {
		if err != nil {
			return err
		}
		for some := range slices.Chunk(list, memory.EmbedBatch) {
			if err := fn(some); err != nil {
				return err
			}
			if r.e.now().After(r.until) {
				return errTimeSlice
			}
		}
	}
	return nil
}

// add computes and stores the additional vectors of notes that have one.
func (r *reembedRun) add(ctx context.Context, v memory.View, list []memory.Note) error {
	var notes []*memory.Note
	var vectors []memory.VersionVector
	for i := range list {
		if n := &list[i]; n.Embedder != "" {
			notes = append(notes, n)
			vectors = append(vectors, memory.VersionVector{Version: n.Version()})
		}
	}
	if len(notes) == 0 {
		return nil
	}
	made, err := r.embed(ctx, notes)
	if err != nil {
		return err
	}
	for i := range vectors {
		vectors[i].Vector, vectors[i].Tokens = made[i].Vector, made[i].Codes()
	}
	if err := r.e.store.AddVectors(ctx, r.s, v, r.name, vectors); err != nil {
		return err
	}
	r.added += int64(len(vectors))
	r.done.Done += int64(len(vectors))
	r.done.Total = max(r.done.Total, r.done.Done)
	return r.report(ctx, r.done)
}

// embed embeds notes. Vectors of other dimensions than at the start of the try are
// ModelFailed: an endpoint may change its model meanwhile.
func (r *reembedRun) embed(ctx context.Context, notes []*memory.Note) ([]memory.Embedding, error) {
	made, _, err := memory.EmbedNotes(ctx, r.em, r.s, notes)
	if err == nil && len(made[0].Vector) != r.dim {
		err = fault.New(fault.ModelFailed, "the embedder %q changed from %d to %d dimensions", r.name, r.dim, len(made[0].Vector))
	}
	return made, err
}

// switchEmbedder switches the collection to the new embedder, once notes written
// after the view have their vectors.
func (r *reembedRun) switchEmbedder(ctx context.Context, v memory.View) error {
	o := memory.WriteOptions{Cause: memory.CauseReembed, Job: r.job.ID, System: true}
	for try := 1; ; try++ {
		_, err := r.e.store.Write(ctx, r.s, r.job.Collection, o, func(ctx context.Context, tx memory.Tx) error {
			now := tx.View()
			switch {
			case now.Collection.Embedder == r.name:
				return nil
			case now.At != v.At && try < catchUps:
				return errNewWrites
			}
			return tx.SetEmbedder(ctx, r.name, r.dim, r.job.ID)
		})
		if !errors.Is(err, errNewWrites) {
			return err
		}
		if v, err = r.catchUp(ctx, v.At); err != nil {
			return err
		}
	}
}

// catchUp adds the vectors of versions written to the collection's own log after a revision.
func (r *reembedRun) catchUp(ctx context.Context, after memory.Revision) (memory.View, error) {
	v, err := r.e.open(ctx, r.s, r.job.Collection)
	if err != nil {
		return v, err
	}
	var list []memory.Note
	_, err = r.e.store.Log(ctx, r.s, v, 0, after, r.name, func(row memory.LogRow) error {
		if n := row.Note; row.To == 0 && n.From <= v.At && !n.Deleted && n.Vector == nil {
			list = append(list, n)
		}
		return nil
	})
	for len(list) > 0 && err == nil {
		n := min(len(list), memory.EmbedBatch)
		err = r.add(ctx, v, list[:n])
		list = list[n:]
	}
	return v, err
}

// fill embeds the notes that still have no vector.
func (r *reembedRun) fill(ctx context.Context) error {
	v, err := r.e.open(ctx, r.s, r.job.Collection)
	if err != nil {
		return err
	}
	return r.eachBatch(ctx, v, func(list []memory.Note) error {
		n, err := r.e.embedMissing(ctx, r.s, r.job, memory.CauseReembed, r.em, list)
		if err != nil {
			return err
		}
		r.filled += n
		r.done.Done += n
		r.done.Total = max(r.done.Total, r.done.Done)
		return r.report(ctx, r.done)
	})
}
