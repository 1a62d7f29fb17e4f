package postgres

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/pgvector/pgvector-go"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/store"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// The server sums in 32 bits, so its ranking is computed again here. More candidates than the limit
// are read for as long as they could change the order.
const (
	moreCandidates = 64
	scoreError     = 1e-4
	candidateTries = 4
)

// Nearest implements memory.Reader.
func (s *Store) Nearest(ctx context.Context, sc tenant.Scope, v memory.View, nq memory.NearestQuery) (out []memory.Nearest, err error) {
	if err := v.Check(sc); err != nil {
		return nil, err
	}
	vector, err := store.QueryVector(&v.Collection, nq.Vector)
	if err != nil {
		return nil, err
	}
	if len(vector) > maxDim {
		return nil, nil // no note has such a vector
	}
	n := nearest{
		reader: reader{Collection: v.Collection.ID, Embedder: v.Collection.Embedder}, vector: vector, query: nq,
		text: "n.id, n.layer, n.from_rev, v.vec",
	}
	p := params{args: []any{sc.Tenant(), pgvector.NewHalfVector(vector), len(vector), n.Embedder}}
	where := ""
	if nq.Filter != nil {
		n.text = n.columns()
		if c := compile(nq.Filter); c.Text != "" {
			where = " AND (" + p.bind(c) + ")"
		}
	}
	branches := make([]string, len(v.Layers))
	for i, l := range v.Layers {
		branches[i] = "SELECT " + n.text + ", v.vec <=> $2::halfvec AS distance FROM notes n CROSS JOIN" + vectorOf("$4") +
			" WHERE n.tenant = $1 AND vector_dims(v.vec) = $3::int AND " + p.live("n", l) + " AND NOT n.deleted" + where + p.hiddenNotes(v.Layers[:i])
	}
	n.text = strings.Join(branches, " UNION ALL ") + " ORDER BY distance, 1 LIMIT "
	n.text += p.add(nil)
	most := store.Limit(nq.Limit)
	if nq.Limit > 0 {
		most += moreCandidates
	}
	err = s.readingPast(ctx, sc.Tenant(), v.Layers, func(ctx context.Context, q *session) error {
		for try, ask := 1, most; ; try, ask = try+1, 4*ask {
			p.args[len(p.args)-1] = ask
			again, err := n.find(ctx, q, p.args, ask)
			if err != nil || !again || try == candidateTries && nq.Filter == nil {
				out = n.found
				return err
			}
		}
	})
	return out, err
}

// nearest is a search in progress.
type nearest struct {
	reader
	vector []float32
	query  memory.NearestQuery
	text   string
	found  []memory.Nearest
}

// find ranks as many candidates as asked for, and reports whether others could change the result.
func (n *nearest) find(ctx context.Context, q *session, args []any, ask int64) (again bool, err error) {
	n.found = nil
	var rows int64
	var last float64 // the distance of the farthest candidate
	err = q.each(ctx, n.text, args, func(r pgx.Rows) error {
		rows++
		var note store.NoteVersion
		var err error
		if n.query.Filter == nil {
			var vec pgvector.HalfVector
			err = r.Scan(&note.ID, &note.Layer, &note.From, &vec, &last)
			note.Vector = vec.Slice()
		} else if note, err = n.scan(r, &last); err == nil && !note.Matches(n.query.Filter) {
			return nil
		}
		if err != nil {
			return err
		}
		if score, ok := memory.Cosine(n.vector, note.Vector); ok {
			n.found = append(n.found, memory.Nearest{Version: note.Version(), Score: score})
		}
		return nil
	})
	if err != nil {
		return false, err
	}
	slices.SortFunc(n.found, func(a, b memory.Nearest) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), bytes.Compare(a.Note[:], b.Note[:]))
	})
	if n.query.Limit <= 0 || rows < ask {
		if n.query.Limit > 0 && len(n.found) > n.query.Limit {
			n.found = n.found[:n.query.Limit]
		}
		return false, nil
	}
	if len(n.found) <= n.query.Limit {
		return true, nil
	}
	n.found = n.found[:n.query.Limit]
	return 1-last > n.found[n.query.Limit-1].Score-scoreError, nil
}
