package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/filter"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/store"
	"github.com/slipboxhq/slipbox/test/must"
)

// TestPlans: requests find rows by an index down to the note, so that their cost does not grow with
// the collection.
func TestPlans(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := uuid.New()
	layers := []memory.Layer{{Collection: uuid.New(), Bound: 5}, {Collection: uuid.New(), Bound: 4}, {Collection: uuid.New(), Bound: 3}}
	for name, run := range map[string]func(ctx context.Context, q *session) error{
		"page": func(ctx context.Context, q *session) error {
			_, err := q.ListNotes(ctx, id, layers, store.NotePage{Limit: 5, After: id})
			return err
		},
		"newest": func(ctx context.Context, q *session) error {
			_, err := q.ListNotes(ctx, id, layers, store.NotePage{Limit: 5, After: id, Newest: true})
			return err
		},
		"steps": func(ctx context.Context, q *session) error {
			for _, page := range []store.NotePage{{Limit: 5, After: id}, {Limit: 5, After: id, Newest: true, Kinds: []memory.Kind{memory.KindFact}}} {
				text, args := stepText(id, layers, &page)
				if _, err := collect(ctx, q, text, args, reader{}.scanner()); err != nil {
					return err
				}
			}
			return nil
		},
		"links": func(ctx context.Context, q *session) error {
			_, err := q.Links(ctx, id, layers, memory.LinkQuery{Notes: []uuid.UUID{id, uuid.New()}, Direction: memory.Both})
			return err
		},
		"links of one": func(ctx context.Context, q *session) error {
			_, err := q.Links(ctx, id, layers, memory.LinkQuery{Notes: []uuid.UUID{id}, Direction: memory.Both})
			return err
		},
		"notes": func(ctx context.Context, q *session) error {
			_, err := q.NoteVersions(ctx, id, layers, store.NoteReader{}, []uuid.UUID{id, uuid.New()})
			return err
		},
		"note": func(ctx context.Context, q *session) error {
			_, err := q.NoteVersions(ctx, id, layers, store.NoteReader{Embedder: "e"}, []uuid.UUID{id})
			return err
		},
		"key": func(ctx context.Context, q *session) error {
			_, _, err := q.NoteVersionByKey(ctx, id, layers, store.NoteReader{}, memory.KindNote, "k")
			return err
		},
		"digest": func(ctx context.Context, q *session) error {
			_, err := q.NoteVersionsByDigest(ctx, id, layers, store.NoteReader{}, []int64{1, 2})
			return err
		},
		"touching": func(ctx context.Context, q *session) error {
			_, _, err := q.CountLinksOf(ctx, id, layers, id)
			return err
		},
		"usage": func(ctx context.Context, q *session) error {
			_, err := q.UsageOf(ctx, id, layers, []uuid.UUID{id, uuid.New()})
			return err
		},
		"tenant": func(ctx context.Context, q *session) error {
			_, err := q.TenantUsage(ctx, b.scope, time.Now())
			return err
		},
		"open jobs": func(ctx context.Context, q *session) error {
			_, err := q.ListJobs(ctx, b.scope, memory.JobQuery{Collection: id, State: memory.JobDead, Limit: 5}, time.Now())
			return err
		},
		"work": func(ctx context.Context, q *session) error {
			_, err := q.CountWork(ctx, id, uuid.New(), time.Now())
			if err == nil {
				_, err = q.get(ctx, workParts.Ended(), []any{id, id, memory.StageDecide}, new(int64), new(int64), new(int64))
			}
			return err
		},
		"waiting": func(ctx context.Context, q *session) error { _, err := q.HasUnfinished(ctx, id, layers); return err },
	} {
		conn, err := b.read.db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		q := &session{conn: conn, stmts: map[string]*sql.Stmt{}}
		if err := run(t.Context(), q); err != nil {
			t.Fatal(name, err)
		}
		for text := range q.stmts {
			for _, step := range plan(t, q, text) {
				if strings.HasPrefix(step, "SCAN ") && !strings.Contains(step, "VIRTUAL TABLE") && !strings.Contains(step, "subquery") && step != "SCAN page" && step != "SCAN k" && step != "SCAN CONSTANT ROW" ||
					strings.HasPrefix(step, "SEARCH ") && strings.HasSuffix(step, "(tenant=? AND layer=?)") ||
					strings.HasPrefix(step, "SEARCH ") && strings.HasSuffix(step, "(tenant=? AND layer=? AND from_rev<?)") ||
					strings.HasPrefix(step, "SEARCH j ") && strings.HasSuffix(step, "(tenant=?)") && !strings.Contains(step, " jobs_open ") {
					t.Errorf("%s: %s", name, step)
				}
			}
		}
		for _, st := range q.stmts {
			err = errors.Join(err, st.Close())
		}
		must.Do(t, errors.Join(err, conn.Close()))
	}
}

// parameter is a place of a value in a statement.
var parameter = regexp.MustCompile(`\?\d*`)

func plan(t *testing.T, q *session, text string) (steps []string) {
	t.Helper()
	rows := must.Get(q.conn.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+parameter.ReplaceAllString(text, "X'00'")))(t)
	for rows.Next() {
		var a, b, c int
		var step string
		must.Do(t, rows.Scan(&a, &b, &c, &step))
		steps = append(steps, step)
	}
	must.Do(t, errors.Join(rows.Err(), rows.Close()))
	return steps
}

// TestPlansOfPages: a page is read in the order of an index, from the first one on, so that it costs what it holds; the
// blocks of a collection are found by their keys.
func TestPlansOfPages(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	layers := []memory.Layer{{Collection: uuid.New(), Bound: 5}}
	messages := []memory.Kind{memory.KindMessage}
	for name, c := range map[string]struct {
		page  store.NotePage
		index string
	}{
		"first":              {store.NotePage{Limit: 5}, "sqlite_autoindex_notes_1"},
		"newest":             {store.NotePage{Limit: 5, Newest: true}, "sqlite_autoindex_notes_1"},
		"newest messages":    {store.NotePage{Limit: 5, Newest: true, Kinds: messages}, "sqlite_autoindex_notes_1"},
		"messages after one": {store.NotePage{Limit: 5, After: uuid.New(), Kinds: messages}, "sqlite_autoindex_notes_1"},
		"messages by time":   {store.NotePage{Limit: 5, ByTime: true, Kinds: messages}, "notes_said"},
		"messages of a session": {store.NotePage{
			Limit: 5, ByTime: true, Newest: true, Kinds: messages, Filter: filter.AttributeIs(memory.AttrSession, "s"), After: uuid.New(), Since: time.Now(),
		}, "notes_session"},
		"messages of several": {store.NotePage{
			Limit: 5, ByTime: true, Kinds: messages, Filter: filter.AttributeIs(memory.AttrSession, "s"), Listed: true,
		}, "notes_session_lists"},
		"messages without one": {store.NotePage{
			Limit: 5, ByTime: true, Kinds: messages, Filter: &filter.Leaf{Field: filter.Attributes, Path: []string{memory.AttrSession}, Op: filter.Exists},
		}, "notes_session"},
		"newest of their time": {store.NotePage{Limit: 5, ByTime: true, Newest: true, Kinds: messages}, "notes_said"},
		"facts":                {store.NotePage{Limit: 5, Newest: true, After: uuid.New(), Kinds: []memory.Kind{memory.KindFact}}, "notes_kind"},
		"blocks":               {store.NotePage{Limit: 5, Keyed: true, Kinds: []memory.Kind{memory.KindBlock}}, "notes_newest_by_key"},
	} {
		conn, err := b.read.db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		q := &session{conn: conn, stmts: map[string]*sql.Stmt{}}
		if _, err := q.ListNotes(t.Context(), uuid.New(), layers, c.page); err != nil {
			t.Fatal(name, err)
		}
		for text := range q.stmts {
			steps := strings.Join(plan(t, q, text), "; ")
			if !strings.Contains(steps, "INDEX "+c.index+" ") || strings.Contains(steps, "TEMP B-TREE") && c.index != "notes_newest_by_key" {
				t.Errorf("%s: %s", name, steps)
			}
		}
		for _, st := range q.stmts {
			err = errors.Join(err, st.Close())
		}
		must.Do(t, errors.Join(err, conn.Close()))
	}
}

// TestPlansOfScans: reading all vectors of a lineage reads no note that is live, a page of a log is found
// where it begins, what has ended since is found without reading the log, and so are the jobs ahead of one.
func TestPlansOfScans(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	v := memory.View{Layers: []memory.Layer{{Collection: uuid.New(), Bound: 5}, {Collection: uuid.New(), Bound: 4}}}
	for name, c := range map[string]struct {
		run  func(context.Context, *session) error
		want []string
	}{
		"vectors": {func(ctx context.Context, q *session) error {
			return q.eachVector(ctx, uuid.New(), &v, func(memory.Version, []byte) {})
		}, []string{
			"SEARCH notes USING COVERING INDEX notes_began (tenant=? AND layer=? AND from_rev<?)",
			"SEARCH notes USING INDEX notes_ended (tenant=? AND layer=? AND to_rev<?)",
			"SEARCH vectors USING INDEX sqlite_autoindex_vectors_1 (tenant=? AND layer=?)",
		}},
		"log": {func(ctx context.Context, q *session) error {
			_, err := q.LogPage(ctx, uuid.New(), store.NoteReader{Embedder: "e"}, store.LogPage{To: 9, Limit: 5})
			return err
		}, []string{
			"SEARCH n USING INDEX notes_began (tenant=? AND layer=? AND (from_rev,id)>(?,?) AND from_rev<?)",
			"SEARCH v USING INDEX sqlite_autoindex_vectors_1 (tenant=? AND layer=? AND note=? AND from_rev=? AND embedder=?) LEFT-JOIN",
		}},
		"log of kinds": {func(ctx context.Context, q *session) error {
			_, err := q.LogPage(ctx, uuid.New(), store.NoteReader{Embedder: "e"}, store.LogPage{To: 9, Kinds: []memory.Kind{memory.KindSession, memory.KindProfile}, Limit: 5})
			return err
		}, []string{
			"SEARCH n USING INDEX notes_began (tenant=? AND layer=? AND (from_rev,id)>(?,?) AND from_rev<?)",
			"SEARCH v USING INDEX sqlite_autoindex_vectors_1 (tenant=? AND layer=? AND note=? AND from_rev=? AND embedder=?) LEFT-JOIN",
		}},
		"what has ended": {func(ctx context.Context, q *session) error {
			_, err := q.LogPage(ctx, uuid.New(), store.NoteReader{}, store.LogPage{Ended: true, After: 3, From: -1, To: 9, Limit: 5})
			return err
		}, []string{
			"SEARCH n USING INDEX notes_ended (tenant=? AND layer=? AND to_rev>? AND to_rev<?)",
			"USE TEMP B-TREE FOR ORDER BY",
		}},
		"jobs ahead": {func(ctx context.Context, q *session) error {
			_, err := q.CountJobsBefore(ctx, memory.Job{Seq: 5})
			return err
		}, []string{"SEARCH j USING INDEX jobs_waiting (tenant=? AND collection=? AND stage=? AND seq<?)"}},
	} {
		conn := must.Get(b.read.db.Conn(t.Context()))(t)
		q := &session{conn: conn, stmts: map[string]*sql.Stmt{}}
		err := c.run(t.Context(), q)
		var steps []string
		for text, st := range q.stmts {
			steps = append(steps, plan(t, q, text)...)
			err = errors.Join(err, st.Close())
		}
		if err := errors.Join(err, conn.Close()); err != nil {
			t.Fatal(name, err)
		}
		slices.Sort(steps)
		if !slices.Equal(steps, c.want) {
			t.Errorf("%s: the plans are %q", name, steps)
		}
	}
}
