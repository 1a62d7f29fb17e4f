package storetest

import (
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/filter"
	"github.com/slipboxhq/slipbox/internal/memory"
)

func readCases() []testCase {
	return []testCase{
		{"Settings", collectionSettings},
		{"Versions", readVersions},
		{"VersionsOfForks", versionsOfForks},
		{"Nearest", nearest},
		{"NearestOfMany", nearestOfMany},
		{"NearestInForks", nearestInForks},
		{"NearestRefused", nearestRefused},
		{"Hot", hotNotes},
		{"HotInForks", hotInForks},
	}
}

// collectionSettings: every way to read a collection returns all of its settings. A policy that runs
// on a view depends on them.
func collectionSettings(_ *testing.T, w *world) {
	base := w.collection("base")
	w.add(base.ID, "one")
	ends := w.clock.Now().Add(time.Hour).Truncate(time.Microsecond)
	with := memory.Collection{
		Name: "c", Agent: w.aliceS.Agent(), DisplayName: "Shown as C", Policy: "amem", PolicyConfig: []byte(`{"max_links":2}`),
		Metadata: map[string]any{"team": "tides", "n": 1.5}, Ephemeral: true, ExpiresAt: ends, Parent: base.ID, ParentRevision: w.head(base.ID),
	}
	c := must(w.CreateCollection(w.ctx, w.all, memory.NewCollection{Collection: with}))(w.t).Collection
	check := func(what string, want memory.Collection) {
		w.t.Helper()
		at := w.head(c.ID)
		listed := must(w.ListCollections(w.ctx, w.all, memory.CollectionQuery{Limit: 10}))(w.t)
		w.assertf(len(listed) == 2, "%s: %d collections", what, len(listed))
		for name, got := range map[string]memory.Collection{
			"resolved by id": must(w.ResolveCollection(w.ctx, w.all, c.ID.String()))(w.t), "resolved by name": must(w.ResolveCollection(w.ctx, w.aliceS, "c"))(w.t),
			"listed": listed[1], "a view": w.view(c.ID).Collection, "a view of the past": w.viewAt(c.ID, at).Collection,
			"a view by name": must(w.OpenView(w.ctx, w.aliceS, "c", memory.At{}))(w.t).Collection,
		} {
			w.assertf(got.ID == c.ID && got.Name == "c" && got.Agent == with.Agent && got.AgentName == "alice" && got.DisplayName == want.DisplayName &&
				got.Policy == want.Policy && string(got.PolicyConfig) == string(want.PolicyConfig) && reflect.DeepEqual(got.Metadata, want.Metadata) &&
				got.Ephemeral && got.ExpiresAt.Equal(want.ExpiresAt) && got.Embedder == embedder && got.Dim == dim && got.State == memory.CollectionActive &&
				got.Parent == base.ID && got.ParentRevision == with.ParentRevision && got.Head == at && !got.CreatedAt.IsZero() && got.EvolvedAdds == want.EvolvedAdds,
				"%s, %s: %+v, want %+v", what, name, got, want)
		}
	}
	check("as created", with)
	with.DisplayName, with.PolicyConfig, with.Metadata = "Changed", []byte(`{"max_links":3}`), map[string]any{"team": "moon"}
	with.ExpiresAt, with.EvolvedAdds = ends.Add(time.Hour), 7
	w.noError(errOf(w.UpdateCollection(w.ctx, w.all, c.ID, memory.AuditEntry{}, func(c *memory.Collection) error {
		c.DisplayName, c.PolicyConfig, c.Metadata, c.ExpiresAt, c.EvolvedAdds = with.DisplayName, with.PolicyConfig, with.Metadata, with.ExpiresAt, with.EvolvedAdds
		return nil
	})))
	check("as changed", with)
	w.add(c.ID, "two")
	check("after a write", with)
}

// versionsOf reads versions and returns their contents.
func (w *world) versionsOf(v memory.View, keys ...memory.Version) string {
	w.t.Helper()
	var out []string
	for _, n := range must(w.Versions(w.ctx, w.all, v, keys))(w.t) {
		w.assertf(n.Collection == v.Collection.ID && n.Vector == nil && !n.Deleted, "version %+v", n)
		out = append(out, n.Content)
	}
	return strings.Join(out, " ")
}

// readVersions: versions are returned in the requested order, past ones too. Tombstones,
// versions after the view and versions that do not exist are left out.
func readVersions(_ *testing.T, w *world) {
	c, other := w.collection("c"), w.collection("other")
	a := w.put(c.ID, memory.Note{Content: "a1", Tags: []string{"t"}, Attributes: map[string]any{"n": 1.5}, Vector: []float32{1, 0, 0, 0}})
	b := w.add(c.ID, "b1")
	a2 := w.put(c.ID, memory.Note{ID: a.ID, Content: "a2"})
	w.delete(c.ID, b.ID)
	foreign := w.add(other.ID, "of another collection")
	v := w.view(c.ID)
	tomb := memory.Version{Layer: c.ID, Note: b.ID, From: v.At}
	never := memory.Version{Layer: c.ID, Note: a.ID, From: 2}
	got := w.versionsOf(v, b.Version(), tomb, a2.Version(), foreign.Version(), never, a.Version(), memory.Version{Layer: c.ID, Note: uuid.New(), From: 1})
	w.assertf(got == "b1 a2 a1", "existing versions in the requested order: %q", got)
	w.assertf(w.versionsOf(w.viewAt(c.ID, 2), a2.Version(), a.Version()) == "a1", "versions after the view are left out")
	w.assertf(w.versionsOf(v) == "", "no versions requested")
	whole := must(w.Versions(w.ctx, w.all, v, []memory.Version{a.Version()}))(w.t)[0]
	w.assertf(whole.Version() == a.Version() && whole.Tags[0] == "t" && whole.Attributes["n"] == 1.5 && whole.CreatedAt.Equal(a.CreatedAt) && whole.Embedder == embedder, "the version has all fields: %+v", whole)
	foreignC := must(w.CreateCollection(w.ctx, w.foreign, memory.NewCollection{Collection: memory.Collection{Name: "c", Policy: "amem"}}))(w.t).Collection
	view := must(w.OpenView(w.ctx, w.foreign, foreignC.ID.String(), memory.At{}))(w.t)
	w.assertf(len(must(w.Versions(w.ctx, w.foreign, view, []memory.Version{a.Version(), b.Version()}))(w.t)) == 0, "versions of another tenant")
}

// versionsOfForks: versions of each layer can be read up to its bound, hidden ones too.
func versionsOfForks(_ *testing.T, w *world) {
	c := w.collection("c")
	n := w.add(c.ID, "base1")
	f := w.mustFork(c.ID, -1, "f")
	later := w.put(c.ID, memory.Note{ID: n.ID, Content: "base2"})
	own := w.put(f.ID, memory.Note{ID: n.ID, Content: "fork2"})
	all := []memory.Version{own.Version(), later.Version(), n.Version()}
	w.assertf(w.versionsOf(w.view(f.ID), all...) == "fork2 base1", "through the fork: %q", w.versionsOf(w.view(f.ID), all...))
	w.assertf(w.versionsOf(w.view(c.ID), all...) == "base2 base1", "through the base: %q", w.versionsOf(w.view(c.ID), all...))
	w.assertf(w.versionsOf(w.viewAt(f.ID, 1), all...) == "base1", "at the fork point: %q", w.versionsOf(w.viewAt(f.ID, 1), all...))
}

// near returns the contents of the nearest notes. It checks their scores against the cosine
// of the vectors that are read.
func (w *world) near(v memory.View, q memory.NearestQuery) string {
	w.t.Helper()
	var out []string
	for _, h := range must(w.Nearest(w.ctx, w.all, v, q))(w.t) {
		n, ok := w.get(v, h.Note)
		w.assertf(ok && n.Version() == h.Version, "hit %+v is not %+v", h, n.Version())
		var dot, aa, bb float64
		for i, x := range n.Vector {
			dot += float64(x) * float64(q.Vector[i])
			aa += float64(x) * float64(x)
			bb += float64(q.Vector[i]) * float64(q.Vector[i])
		}
		w.assertf(math.Abs(h.Score-dot/math.Sqrt(aa*bb)) < 1e-5 && math.Abs(h.Score) <= 1, "%s scores %v", n.Content, h.Score)
		out = append(out, n.Content)
	}
	return strings.Join(out, " ")
}

func nearest(_ *testing.T, w *world) {
	c := w.collection("c")
	for _, n := range []memory.Note{
		{Content: "opposite", Vector: []float32{-3, 0, 0, 0}, Tags: []string{"x"}},
		{Content: "across", Vector: []float32{0, 1, 0, 0}},
		{Content: "across-too", Vector: []float32{0, 1, 0, 0}, Tags: []string{"x"}},
		{Content: "same", Vector: []float32{0.5, 0, 0, 0}, Attributes: map[string]any{"n": 0.1}},
		{Content: "close", Vector: []float32{1, 1, 0, 0}, Tags: []string{"x"}, Attributes: map[string]any{"n": 0.2}},
		{Content: "no-vector", Tags: []string{"x"}},
		{Content: "zeros", Vector: make([]float32, dim)},
		{Content: "elsewhere", Vector: []float32{1, 0, 0, 0}, Embedder: "another"},
	} {
		w.put(c.ID, n)
	}
	v := w.view(c.ID)
	for _, length := range []float32{2, 1e-7, 1e7} {
		q := memory.NearestQuery{Vector: []float32{length, 0, 0, 0}}
		w.assertf(w.near(v, q) == "same close across across-too opposite", "best first, ties by id: %q", w.near(v, q))
		q.Limit = 3
		w.assertf(w.near(v, q) == "same close across", "limited: %q", w.near(v, q))
	}
	for text, want := range map[string]string{
		`{"field":"tags","op":"contains","value":"x"}`:          "close across-too opposite",
		`{"not":{"field":"tags","op":"exists"}}`:                "same across",
		`{"field":"attributes.n","op":"lt","value":0.2}`:        "same",
		`{"field":"tags","op":"contains","value":"y"}`:          "",
		`{"field":"attributes.n","op":"gte","value":0.1}`:       "same close",
		`{"not":{"field":"attributes.n","op":"eq","value":99}}`: "same close across across-too opposite",
	} {
		q := memory.NearestQuery{Vector: []float32{1, 0, 0, 0}, Filter: must(filter.Parse([]byte(text)))(w.t)}
		w.assertf(w.near(v, q) == want, "%s: %q, want %q", text, w.near(v, q), want)
		first, _, _ := strings.Cut(want, " ")
		q.Limit = 1
		w.assertf(w.near(v, q) == first, "%s, limited to 1: %q, want %q", text, w.near(v, q), first)
	}
	empty := w.collection("empty")
	w.assertf(w.near(w.view(empty.ID), memory.NearestQuery{Vector: []float32{1, 0, 0, 0}}) == "", "an empty collection")
}

// nearestOfMany: among many notes the best ones are found.
func nearestOfMany(_ *testing.T, w *world) {
	const many = 1500
	c := w.collection("c")
	type scored struct {
		id    uuid.UUID
		score float64
	}
	var want []scored
	w.write(c.ID, func(tx memory.Tx) error {
		want = nil
		for i := range many {
			// Pairs with equal vectors; later ones score higher.
			angle := math.Pi / 2 * (1 - float64(i/2)/many)
			n, err := tx.Put(w.ctx, memory.Note{Vector: []float32{float32(math.Cos(angle)), float32(math.Sin(angle)), 0, 0}})
			if err != nil {
				return err
			}
			x, y := float64(n.Vector[0]), float64(n.Vector[1])
			want = append(want, scored{n.ID, x / math.Sqrt(x*x+y*y)})
		}
		return nil
	})
	got := must(w.Nearest(w.ctx, w.all, w.view(c.ID), memory.NearestQuery{Vector: []float32{1, 0, 0, 0}, Limit: 10}))(w.t)
	w.assertf(len(got) == 10, "%d hits", len(got))
	for i, h := range got {
		// The notes of a pair have equal scores; the older one is first.
		expected := want[many-2-i/2*2+i%2]
		w.assertf(h.Note == expected.id && math.Abs(h.Score-expected.score) < 1e-5, "hit %d is %s with %v, want %+v", i, h.Note, h.Score, expected)
	}
}

func nearestInForks(_ *testing.T, w *world) {
	c := w.collection("c")
	x, y := []float32{1, 0, 0, 0}, []float32{0, 1, 0, 0}
	put := func(id, note uuid.UUID, content string, vector []float32) memory.Note {
		return w.put(id, memory.Note{ID: note, Content: content, Vector: vector})
	}
	a, b := put(c.ID, uuid.Nil, "a", x), put(c.ID, uuid.Nil, "b", []float32{1, 0.5, 0, 0})
	d := put(c.ID, uuid.Nil, "d", []float32{1, 1, 0, 0})
	f := w.mustFork(c.ID, -1, "f")
	put(f.ID, a.ID, "a-fork", y)   // another vector
	put(f.ID, b.ID, "b-fork", nil) // no vector
	w.delete(f.ID, d.ID)
	put(f.ID, uuid.Nil, "own", x)
	put(c.ID, b.ID, "b-base", y) // not visible in the fork
	put(c.ID, uuid.Nil, "new", x)
	g := w.mustFork(f.ID, -1, "g")
	put(g.ID, b.ID, "b-again", x)
	for _, at := range []struct {
		name, want string
		view       memory.View
	}{
		{"base", "a new d b-base", w.view(c.ID)},
		{"base in the past", "a b d", w.viewAt(c.ID, f.Head)},
		{"fork", "own a-fork", w.view(f.ID)},
		{"fork at its beginning", "a b d", w.viewAt(f.ID, f.Head)},
		{"fork in the past", "b d a-fork", w.viewAt(f.ID, f.Head+1)},
		{"fork of a fork", "b-again own a-fork", w.view(g.ID)},
	} {
		got := w.near(at.view, memory.NearestQuery{Vector: x})
		w.assertf(got == at.want, "%s: %q, want %q", at.name, got, at.want)
	}
}

func nearestRefused(_ *testing.T, w *world) {
	c := w.collection("c")
	w.put(c.ID, memory.Note{Content: "a", Vector: []float32{1, 0, 0, 0}})
	nan := float32(math.NaN())
	for _, vector := range [][]float32{nil, {}, {1, 0, 0}, {1, 0, 0, 0, 0}, {0, 0, 0, 0}, {nan, 0, 0, 0}, {float32(math.Inf(1)), 0, 0, 0}} {
		_, err := w.Nearest(w.ctx, w.all, w.view(c.ID), memory.NearestQuery{Vector: vector})
		w.wantInvalid(err, "vector")
	}
	bare := must(w.CreateCollection(w.ctx, w.all, memory.NewCollection{Collection: memory.Collection{Name: "bare", Policy: "none"}}))(w.t).Collection
	_, err := w.Nearest(w.ctx, w.all, w.view(bare.ID), memory.NearestQuery{Vector: []float32{1}})
	w.wantInvalid(err, "vector")
}

// hottest returns the names of the hot notes. It checks their scores against
// memory.HotScore.
func (w *world) hottest(id uuid.UUID, names map[uuid.UUID]string, limit int) string {
	w.t.Helper()
	before := w.clock.Now()
	list := must(w.Hot(w.ctx, w.all, w.view(id), limit))(w.t)
	after := w.clock.Now()
	var out []string
	for _, h := range list {
		out = append(out, names[h.Note])
		most, least := memory.HotScore(h.Usage, before), memory.HotScore(h.Usage, after)
		w.assertf(least <= h.Score && h.Score <= most, "%s scores %v, not between %v and %v", names[h.Note], h.Score, least, most)
		u := must(w.Usage(w.ctx, w.all, w.view(id), []uuid.UUID{h.Note}))(w.t)[h.Note]
		w.assertf(u == h.Usage, "usage %+v, not %+v", h.Usage, u)
	}
	return strings.Join(out, " ")
}

func hotNotes(_ *testing.T, w *world) {
	c := w.collection("c")
	names := map[uuid.UUID]string{}
	ids := map[string]uuid.UUID{}
	for _, name := range []string{"old", "recent", "often", "twin1", "twin2", "never", "ahead", "ancient"} {
		n := w.add(c.ID, name)
		names[n.ID], ids[name] = name, n.ID
	}
	now := w.clock.Now()
	use := func(name string, n int64, ago time.Duration) {
		w.noError(w.AddUsage(w.ctx, w.all, w.view(c.ID), []memory.UsageDelta{{Note: ids[name], Accesses: n, LastAccess: now.Add(-ago)}}))
	}
	use("old", 30, 5*memory.HotHalfLife) // 0.94
	use("recent", 3, time.Minute)        // 3
	use("often", 80, 4*memory.HotHalfLife)
	use("twin2", 1, memory.HotHalfLife)
	use("twin1", 1, memory.HotHalfLife)
	use("ahead", 2, -time.Hour)
	w.write(c.ID, func(tx memory.Tx) error { // ancient: used at an unknown time; never: not used
		if err := tx.SetUsage(w.ctx, ids["ancient"], memory.Usage{AccessCount: 1000, Strength: 1}); err != nil {
			return err
		}
		return tx.SetUsage(w.ctx, ids["never"], memory.Usage{LastAccess: now, Strength: 2, Heat: 3})
	})
	const all = "often recent ahead old twin1 twin2 ancient"
	w.assertf(w.hottest(c.ID, names, 0) == all, "hottest first: %q", w.hottest(c.ID, names, 0))
	w.assertf(w.hottest(c.ID, names, 2) == "often recent", "limited: %q", w.hottest(c.ID, names, 2))
	w.delete(c.ID, ids["often"])
	w.assertf(w.hottest(c.ID, names, 2) == "recent ahead", "a deleted note is not hot: %q", w.hottest(c.ID, names, 2))
	w.clock.Advance(3 * memory.HotHalfLife)
	use("old", 1, -3*memory.HotHalfLife)
	w.assertf(strings.HasPrefix(w.hottest(c.ID, names, 0), "old recent"), "recent use counts more: %q", w.hottest(c.ID, names, 0))
	w.clock.Advance(100 * 365 * 24 * time.Hour)
	w.assertf(len(strings.Fields(w.hottest(c.ID, names, 0))) == 6, "notes whose score underflows are listed: %q", w.hottest(c.ID, names, 0))
	w.assertf(w.hottest(w.collection("empty").ID, names, 0) == "", "nothing is hot")
}

// hotInForks: usage is read through the lineage; the nearest layer wins.
func hotInForks(_ *testing.T, w *world) {
	c := w.collection("c")
	a, b := w.add(c.ID, "a"), w.add(c.ID, "b")
	names := map[uuid.UUID]string{a.ID: "a", b.ID: "b"}
	use := func(id, note uuid.UUID, n int64) {
		w.noError(w.AddUsage(w.ctx, w.all, w.view(id), []memory.UsageDelta{{Note: note, Accesses: n, LastAccess: w.clock.Now()}}))
	}
	use(c.ID, a.ID, 3)
	use(c.ID, b.ID, 2)
	f := w.mustFork(c.ID, -1, "f")
	w.assertf(w.hottest(f.ID, names, 0) == "a b", "inherited: %q", w.hottest(f.ID, names, 0))
	use(f.ID, b.ID, 5)
	w.assertf(w.hottest(f.ID, names, 0) == "b a" && w.hottest(c.ID, names, 0) == "a b", "copied up: %q, %q", w.hottest(f.ID, names, 0), w.hottest(c.ID, names, 0))
	own := w.add(f.ID, "own")
	names[own.ID] = "own"
	use(f.ID, own.ID, 9)
	w.delete(f.ID, a.ID)
	w.assertf(w.hottest(f.ID, names, 0) == "own b" && w.hottest(c.ID, names, 0) == "a b", "fork and base have their own usage: %q, %q", w.hottest(f.ID, names, 0), w.hottest(c.ID, names, 0))
	w.assertf(w.hottest(w.mustFork(c.ID, 1, "past").ID, names, 0) == "a", "a note that is not visible is not hot")
}
