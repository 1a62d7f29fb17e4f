package memory

import (
	"cmp"
	"context"
	"iter"

	"github.com/slipboxhq/slipbox/internal/tenant"
)

// Pages returns a listing page by page, until a page has fewer entries than size; empty pages are left out. read returns the page after
// an entry; nil: the first page. A page is valid afterwards, too. An error ends the listing.
func Pages[T any](size int, read func(last *T) ([]T, error)) iter.Seq2[[]T, error] {
	return func(yield func([]T, error) bool) {
		for last := (*T)(nil); ; {
			page, err := read(last)
			if err != nil {
				yield(nil, err)
				return
			}
			if len(page) > 0 && !yield(page, nil) || len(page) < size {
				return
			}
			last = &page[len(page)-1]
		}
	}
}

// Entries returns the entries of pages. An error comes with nil.
func Entries[T any](pages iter.Seq2[[]T, error]) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		for page, err := range pages {
			if err != nil {
				yield(nil, err)
				return
			}
			for i := range page {
				if !yield(&page[i], nil) {
					return
				}
			}
		}
	}
}

// All returns all entries of pages, and those before an error.
func All[T any](pages iter.Seq2[[]T, error]) (out []T, err error) {
	for page, err := range pages {
		if err != nil {
			return out, err
		}
		out = append(out, page...)
	}
	return out, nil
}

// NotePages returns the notes of a query in its order, in pages of its limit; 0: 500.
func NotePages(list func(NoteQuery) ([]Note, error), q NoteQuery) iter.Seq2[[]Note, error] {
	q.Limit = cmp.Or(q.Limit, 500)
	return Pages(q.Limit, func(last *Note) ([]Note, error) {
		if last != nil {
			q.After = last.ID
			if q.ByTime {
				q.AfterTime = last.OccurredAt
			}
		}
		return list(q)
	})
}

// NoteLister lists notes; see [Reader].
type NoteLister interface {
	ListNotes(ctx context.Context, s tenant.Scope, v View, q NoteQuery) ([]Note, error)
}

// NotePagesOf returns the notes of a view that a query selects, in its order, in pages of its limit.
func NotePagesOf(ctx context.Context, store NoteLister, s tenant.Scope, v View, q NoteQuery) iter.Seq2[[]Note, error] {
	return NotePages(func(q NoteQuery) ([]Note, error) { return store.ListNotes(ctx, s, v, q) }, q)
}

// EachNote returns the notes of [NotePagesOf] one by one.
func EachNote(ctx context.Context, store NoteLister, s tenant.Scope, v View, q NoteQuery) iter.Seq2[*Note, error] {
	return Entries(NotePagesOf(ctx, store, s, v, q))
}

// EachJob returns the jobs of a query, newest first.
func EachJob(ctx context.Context, store interface {
	ListJobs(ctx context.Context, s tenant.Scope, q JobQuery) ([]Job, error)
}, s tenant.Scope, q JobQuery,
) iter.Seq2[*Job, error] {
	return Entries(Pages(q.Limit, func(last *Job) ([]Job, error) {
		if last != nil {
			q.Before = last.ID
		}
		return store.ListJobs(ctx, s, q)
	}))
}

// EachReview returns the reviews of a query, newest first.
func EachReview(list func(ReviewQuery) ([]Review, error), q ReviewQuery) iter.Seq2[*Review, error] {
	return Entries(Pages(q.Limit, func(last *Review) ([]Review, error) {
		if last != nil {
			q.Offset += q.Limit
		}
		return list(q)
	}))
}

// EachChangeset returns the changesets of a view after a revision, oldest first.
func EachChangeset(ctx context.Context, store interface {
	Changesets(ctx context.Context, s tenant.Scope, v View, after Revision, limit int) ([]Changeset, error)
}, s tenant.Scope, v View, after Revision,
) iter.Seq2[*Changeset, error] {
	const page = 500
	return Entries(Pages(page, func(last *Changeset) ([]Changeset, error) {
		if last != nil {
			after = last.Revision
		}
		return store.Changesets(ctx, s, v, after, page)
	}))
}
