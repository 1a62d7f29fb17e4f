package layers_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/slipboxhq/slipbox/internal/apptest"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/test/must"
)

// visible reports whether every note that an answer of remember names can be read.
func visible(t *testing.T, b *apptest.System, c string, got apptest.Response) bool {
	t.Helper()
	for _, id := range got.Texts("stored.*.note") {
		if b.Call(t, "one", "GET", c+"/notes/"+id, "").Code != http.StatusOK {
			return false
		}
	}
	return got.Length("stored") > 0
}

// C285: the text of an episode that was changed, or that has left the layer, can be remembered again.
func TestC285EpisodeAgain(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := layeredSpace(t, b, `{"consolidate_every":0,"episodic_capacity":10}`)
	const said, other = "Remember the blue door.", "Remember the red gate."
	item := stored(remember(t, b, c, said), "working")[0]
	b.Call(t, "one", "PATCH", c+"/notes/"+item, apptest.Object(t, "content", other)).Want(http.StatusOK)
	b.RunJobs(t)
	if got := remember(t, b, c, said); len(stored(got, "episodic")) != 1 || !visible(t, b, c, got) {
		t.Errorf("after a change: %s", got.Body)
	}
	if got := remember(t, b, c, other); len(stored(got, "episodic")) != 0 {
		t.Errorf("the changed text is an episode already: %s", got.Body)
	}
	for i := range 9 {
		remember(t, b, c, fmt.Sprintf("We met number %d.", i), "importance", .9)
	}
	only := []string{"episodic"}
	remember(t, b, c, "It rained.", "importance", .3, "layers", only)
	b.Call(t, "one", "POST", c+"/consolidate", "").Want(http.StatusAccepted)
	b.RunJobs(t)
	if _, e, _ := counts(t, b, c); e != 7 {
		t.Fatalf("%d episodes", e)
	}
	if got := remember(t, b, c, "It rained.", "importance", .3, "layers", only); len(stored(got, "episodic")) != 1 || !visible(t, b, c, got) {
		t.Errorf("after it left: %s", got.Body)
	}
}

// C278, C279: a text that lets one rival win and then names the other one leaves one triple for each, which can be read.
func TestC279RivalComesBack(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := layeredSpace(t, b, `{}`)
	for _, said := range []string{"I live in Beijing.", "I live in Shanghai.", "I live in Shanghai. I live in Beijing."} {
		if got := remember(t, b, c, said, "role", "user"); !visible(t, b, c, got) {
			t.Errorf("%s", got.Body)
		}
	}
	facts := b.Call(t, "one", "GET", c+"/facts", "").Want(http.StatusOK)
	if _, _, semantic := counts(t, b, c); semantic != 2 || facts.Length("items") != 2 {
		t.Errorf("%d triples, %s", semantic, facts.Body)
	}
}

// C268, C338: an abstract goes with what it says: when a source is deleted or has another text, its other sources may be
// merged again.
func TestC268AbstractOfDeletedSource(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"DELETE", "PATCH"} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			b := apptest.New(t)
			c := layeredSpace(t, b, `{"consolidate_every":0,"abstract_cosine":0.1}`)
			var items []string
			for _, said := range []string{"The meeting moved to Monday.", "The meeting was about the budget.", "The meeting hired two engineers.", "The meeting named a codeword: zebra."} {
				items = append(items, stored(remember(t, b, c, said, "importance", .8), "working")...)
			}
			consolidated := func() []string {
				t.Helper()
				b.Call(t, "one", "POST", c+"/consolidate", "").Want(http.StatusAccepted)
				b.RunJobs(t)
				return recalled(t, b, c, "items", "meeting", "layer", "semantic")
			}
			before := consolidated()
			if len(before) != 1 {
				t.Fatalf("%q", before)
			}
			body := ""
			if method == "PATCH" {
				body = `{"content":"The meeting named a codeword."}`
			}
			b.Call(t, "one", method, c+"/notes/"+items[3], body)
			b.RunJobs(t)
			if got := recalled(t, b, c, "items", "meeting zebra", "layer", "semantic"); len(got) != 0 {
				t.Errorf("%q", got)
			}
			if got := consolidated(); len(got) != 1 || slices.Equal(got, before) {
				t.Errorf("merged again: %q", got)
			}
		})
	}
}

// C285: an episode that goes with its origin is made again of another item with its text.
func TestC285SharedEpisodeStays(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := layeredSpace(t, b, `{"consolidate_every":0}`)
	first := remember(t, b, c, "Remember the blue door.")
	remember(t, b, c, "Remember the blue door!")
	b.Call(t, "one", "DELETE", c+"/notes/"+stored(first, "working")[0], "").Want(http.StatusNoContent)
	b.RunJobs(t)
	b.Call(t, "one", "GET", c+"/notes/"+stored(first, "episodic")[0], "").Refused(http.StatusNotFound, fault.NotFound, "")
	if w, e, _ := counts(t, b, c); w != 1 || e != 1 {
		t.Errorf("%d working, %d episodes", w, e)
	}
	if got := recalled(t, b, c, "items", "blue door", "layer", "episodic"); !slices.Equal(got, []string{"Remember the blue door!"}) {
		t.Errorf("%q", got)
	}
}

// C255: an item that is older than all others does not enter a full window, and the answer says so.
func TestC255OldItem(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := layeredSpace(t, b, `{"working_capacity":1,"working_strategy":"sliding_window"}`)
	remember(t, b, c, "It rains.")
	got := remember(t, b, c, "It snowed.", "occurred_at", "2020-01-01T00:00:00Z", "layers", []string{"working"})
	if got.Text("skipped.0.reason") != "the layer is full, and this item is the oldest of all" {
		t.Errorf("%s", got.Body)
	}
}

// C254, C272: items that are remembered at the same time are all counted: no turn and no repeat is lost, and the working
// layer does not exceed its capacity.
func TestRememberAtOnce(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := layeredSpace(t, b, `{"consolidate_every":0,"working_capacity":3}`)
	const requests = 6
	answers := make([]apptest.Response, requests)
	var wait sync.WaitGroup
	for i := range answers {
		wait.Go(func() {
			answers[i] = b.Call(t, "one", "POST", c+"/remember", `{"content":"I like tea.","role":"user"}`)
		})
	}
	wait.Wait()
	taken := map[int]bool{}
	for _, got := range answers {
		taken[int(got.Want(http.StatusOK).Number("turn"))] = true
	}
	if len(taken) != requests {
		t.Errorf("turns %v", taken)
	}
	if w, e, s := counts(t, b, c); w != 3 || e != 1 || s != 1 {
		t.Errorf("%d working, %d episodes, %d triples", w, e, s)
	}
	got := b.Call(t, "one", "POST", c+"/recall", `{"query":"tea","layer":"semantic"}`).Want(http.StatusOK)
	if got.Number("items.0.note.attributes.mentions") != requests || !near(got.Number("items.0.note.attributes.confidence"), 1) {
		t.Errorf("%s", got.Body)
	}
}

// C251: an item that is recalled is accessed once, at that time, by whichever way it was found. Looking at it by its id,
// in a list or in the log is no access, so what nobody recalls fades however often a program reads it.
func TestC251Accesses(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := layeredSpace(t, b, `{"consolidate_every":0}`)
	id := stored(remember(t, b, c, "We met at the harbor.", "role", "user", "importance", .8, "layers", []string{"episodic"}), "episodic")[0]
	seen := func(accesses float64, at string) {
		t.Helper()
		n := b.Call(t, "one", "GET", c+"/notes/"+id, "").Want(http.StatusOK)
		if last, _ := n.At("usage.last_access").(string); n.Number("usage.access_count") != accesses || last != at {
			t.Errorf("want %v accesses, the last at %q: %s", accesses, at, n.Body)
		}
	}
	look := func() {
		t.Helper()
		for _, path := range []string{"/notes/" + id, "/notes", "/messages", "/layers", "/facts", "/notes/" + id + "/history"} {
			b.Call(t, "one", "GET", c+path, "").Want(http.StatusOK)
		}
	}
	look()
	seen(0, "")
	at := ""
	for i, ask := range []struct{ path, body string }{
		{"/recall", `{"query":"harbor","layer":"episodic"}`}, {"/recall", `{"query":"harbor"}`}, {"/recall", `{"query":"harbor","combined":true}`},
		{"/search", `{"query":"harbor"}`}, {"/context", `{"query":"harbor"}`}, {"/chat", `{"message":"What of the harbor?"}`},
	} {
		b.Pass(time.Hour)
		at = b.Now().Format(time.RFC3339)
		b.Call(t, "one", "POST", c+ask.path, ask.body).Want(http.StatusOK)
		seen(float64(i+1), at)
		look()
		seen(float64(i+1), at)
	}
	must.Do(t, b.Recall.Flush(t.Context()))
	seen(6, at)
	b.Pass(14 * 24 * time.Hour)
	look()
	b.Call(t, "one", "POST", c+"/consolidate", "").Want(http.StatusAccepted)
	b.RunJobs(t)
	if n := b.Call(t, "one", "GET", c+"/notes/"+id, "").Want(http.StatusOK); !near(n.Number("importance"), .2) {
		t.Errorf("it did not fade: %s", n.Body)
	}
}

// C266, C285: an item whose episode left the layer, also in the cycle that copied it, names none and is not copied again. An
// episode that comes back belongs to its item again.
func TestC285EpisodeThatLeft(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := layeredSpace(t, b, `{"consolidate_every":0,"abstract":false,"consolidate_from":1,"episodic_capacity":10}`)
	var ids []string
	for i := range 12 {
		got := remember(t, b, c, fmt.Sprintf("We met number %d.", i), "importance", .5+.04*float64(i), "layers", []string{"working"})
		ids = append(ids, stored(got, "working")[0])
	}
	first := remember(t, b, c, "It rained.", "importance", .41)
	item, episode := stored(first, "working")[0], stored(first, "episodic")[0]
	run := func() apptest.Response {
		t.Helper()
		job := b.Call(t, "one", "POST", c+"/consolidate", "").Want(http.StatusAccepted).Text("job.id")
		b.RunJobs(t)
		return b.Call(t, "one", "GET", "/v1/jobs/"+job, "").Want(http.StatusOK)
	}
	done := run()
	if _, e, _ := counts(t, b, c); e != 7 || done.Number("result.counts.copied") != 12 || done.Number("result.counts.shrunk") != 6 || done.At("result.refused") != nil {
		t.Fatalf("%d episodes: %s", e, done.Body)
	}
	named := 0
	for _, id := range append(ids, item) {
		n := b.Call(t, "one", "GET", c+"/notes/"+id, "").Want(http.StatusOK)
		if name, ok := n.At("attributes.episode_id").(string); ok {
			named++
			b.Call(t, "one", "GET", c+"/notes/"+name, "").Want(http.StatusOK)
		}
	}
	if named != 7 {
		t.Errorf("%d items name their episode", named)
	}
	if again := run(); again.Number("result.counts.copied") != 0 || again.Number("result.counts.shrunk") != 0 {
		t.Errorf("%s", again.Body)
	}
	history := b.Call(t, "one", "GET", c+"/notes/"+episode+"/history", "").Want(http.StatusOK)
	b.Call(t, "one", "POST", c+"/notes/"+episode+"/restore", fmt.Sprintf(`{"revision":%d}`, int(history.Number("items.1.revision")))).Want(http.StatusOK)
	b.RunJobs(t)
	if n := b.Call(t, "one", "GET", c+"/notes/"+item, "").Want(http.StatusOK); n.Text("attributes.episode_id") != episode {
		t.Errorf("%s", n.Body)
	}
}

// C338: a restored item has an episode again, whichever of the two was deleted, and names no abstract that is gone. Nothing that it
// names is missing.
func TestC338RestoredItem(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := layeredSpace(t, b, `{"consolidate_every":0,"abstract_cosine":0.1}`)
	var items, episodes []string
	for _, said := range []string{"The meeting moved to Monday.", "The meeting was about the budget.", "The meeting hired two engineers."} {
		got := remember(t, b, c, said, "importance", .8)
		items, episodes = append(items, stored(got, "working")[0]), append(episodes, stored(got, "episodic")[0])
	}
	b.Call(t, "one", "POST", c+"/consolidate", "").Want(http.StatusAccepted)
	b.RunJobs(t)
	merged := slices.IndexFunc(episodes, func(id string) bool {
		return b.Call(t, "one", "GET", c+"/notes/"+id, "").Want(http.StatusOK).At("attributes.abstract") != nil
	})
	if merged < 0 {
		t.Fatal("no abstract")
	}
	for _, id := range []string{items[(merged+1)%3], episodes[merged]} {
		n := b.Call(t, "one", "GET", c+"/notes/"+id, "").Want(http.StatusOK)
		b.Call(t, "one", "DELETE", c+"/notes/"+id, "").Want(http.StatusNoContent)
		b.RunJobs(t)
		b.Call(t, "one", "POST", c+"/notes/"+id+"/restore", fmt.Sprintf(`{"revision":%d}`, int(n.Number("revision")))).Want(http.StatusOK)
		b.RunJobs(t)
		n = b.Call(t, "one", "GET", c+"/notes/"+id, "").Want(http.StatusOK)
		for _, name := range []string{"episode_id", "copy_of", "abstract"} {
			if named, ok := n.At("attributes." + name).(string); ok {
				b.Call(t, "one", "GET", c+"/notes/"+named, "").Want(http.StatusOK)
			}
		}
		said := n.Text("content")
		if got := recalled(t, b, c, "items", said, "layer", "episodic", "k", 1); !slices.Equal(got, []string{said}) {
			t.Errorf("%q", got)
		}
		if found := b.Call(t, "one", "POST", c+"/search", apptest.Object(t, "query", said, "k", 1)).Want(http.StatusOK); found.Text("hits.0.note.content") != said {
			t.Errorf("%s", found.Body)
		}
	}
	if _, e, _ := counts(t, b, c); e != 3 {
		t.Errorf("%d episodes", e)
	}
}

// C338: a triple that an item no longer states has no link to it.
func TestC338LostSource(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := layeredSpace(t, b, `{"consolidate_every":0}`)
	var items []string
	triple := ""
	for _, said := range []string{"I like tea.", "As I said, I like tea."} {
		got := remember(t, b, c, said, "role", "user", "layers", []string{"working", "semantic"})
		items, triple = append(items, stored(got, "working")[0]), stored(got, "semantic")[0]
	}
	b.Call(t, "one", "PATCH", c+"/notes/"+items[1], `{"content":"It rained."}`).Want(http.StatusOK)
	b.RunJobs(t)
	n := b.Call(t, "one", "GET", c+"/notes/"+triple, "").Want(http.StatusOK)
	var sources []string
	for i := range n.Length("links") {
		if at := fmt.Sprintf("links.%d.", i); n.Text(at+"relation") == "derived_from" {
			sources = append(sources, n.Text(at+"target"))
		}
	}
	if !slices.Equal(sources, items[:1]) || n.Length("provenance.sources") != 1 || n.Text("provenance.sources.0") != items[0] {
		t.Errorf("%s", n.Body)
	}
}

// C278: of two that contradict, the old one is that of the earlier time, in whichever order they come in, and both have the same
// confidence in both orders.
func TestC278ConflictByTime(t *testing.T) {
	t.Parallel()
	for name, order := range map[string][]int{"in order": {0, 1, 2}, "the old one late": {1, 2, 0}, "in between": {1, 0, 2}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := apptest.New(t)
			c := layeredSpace(t, b, `{"consolidate_every":0}`)
			said := []struct{ text, at string }{
				{"I live in Beijing.", "2020-05-01T00:00:00Z"}, {"I live in Shanghai.", "2024-05-01T00:00:00Z"}, {"My cat likes Shanghai.", "2025-05-01T00:00:00Z"},
			}
			for _, i := range order {
				got := remember(t, b, c, said[i].text, "role", "user", "occurred_at", said[i].at)
				for j := range got.Length("conflicts") {
					at := fmt.Sprintf("conflicts.%d.", j)
					if got.Text(at+"old.object") != "Beijing" || got.Text(at+"new.object") != "Shanghai" || !near(got.Number(at+"old.confidence"), .48) || got.Number(at+"new.confidence") != .4 {
						t.Errorf("%s", got.Body)
					}
				}
			}
			pairs := b.Call(t, "one", "GET", c+"/facts?conflicts=true", "").Want(http.StatusOK)
			if pairs.Length("conflicts") != 1 || pairs.Text("conflicts.0.old.object") != "Beijing" || !near(pairs.Number("conflicts.0.old.confidence"), .48) ||
				pairs.Number("conflicts.0.new.confidence") != .4 {
				t.Errorf("%s", pairs.Body)
			}
		})
	}
}

// C338: an older text that is restored over a newer one is that of the item and of its episode, and what is known follows it.
func TestC338RestoredOverVisible(t *testing.T) {
	t.Parallel()
	for _, which := range []string{"working", "episodic"} {
		t.Run(which, func(t *testing.T) {
			t.Parallel()
			b := apptest.New(t)
			c := layeredSpace(t, b, `{"consolidate_every":0}`)
			const before, after = "I work as a baker. I like tea.", "I work as a pilot. I like tea."
			got := remember(t, b, c, before, "role", "user")
			item, episode := stored(got, "working")[0], stored(got, "episodic")[0]
			id := stored(got, which)[0]
			revision := int(b.Call(t, "one", "GET", c+"/notes/"+id, "").Want(http.StatusOK).Number("revision"))
			b.Call(t, "one", "PATCH", c+"/notes/"+id, apptest.Object(t, "content", after)).Want(http.StatusOK)
			b.RunJobs(t)
			b.Call(t, "one", "POST", c+"/notes/"+id+"/restore", fmt.Sprintf(`{"revision":%d}`, revision)).Want(http.StatusOK)
			b.RunJobs(t)
			for _, n := range []string{item, episode} {
				if said := b.Call(t, "one", "GET", c+"/notes/"+n, "").Want(http.StatusOK).Text("content"); said != before {
					t.Errorf("%q", said)
				}
			}
			facts := b.Call(t, "one", "GET", c+"/facts", "").Want(http.StatusOK)
			objects := facts.Texts("items.*.object")
			slices.Sort(objects)
			if got := strings.Join(objects, ", "); got != "baker, tea" {
				t.Errorf("%s", got)
			}
		})
	}
}
