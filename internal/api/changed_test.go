package api

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// kept returns the contents of the notes of a kind.
func (b *system) kept(t *testing.T, c, kind string) []string {
	t.Helper()
	got := b.call(t, "reader", "GET", c+"/notes?kind="+kind+"&limit=100", "").want(http.StatusOK)
	var out []string
	for i := range got.length("items") {
		out = append(out, got.text(fmt.Sprintf("items.%d.content", i)))
	}
	return out
}

// What was moved, without being named, takes the place of the older fact, which stays in its history; with a graph, an
// edge ends with its fact.
func TestMovedThingsReplaceTheirFacts(t *testing.T) {
	t.Parallel()
	for _, policy := range []string{"mem0", "mem0g"} {
		b := newSystem(t)
		c := b.space(t, "talk", policy)
		for _, said := range []string{
			`{"role":"user","name":"Lena","content":"My dentist appointment is on 12 March.","occurred_at":"2025-03-01T09:00:00Z"}`,
			`{"role":"user","name":"Lena","content":"My daughter Ida is a trainee at a bakery.","occurred_at":"2025-03-02T09:00:00Z"}`,
			`{"role":"assistant","content":"Shall I remind you of the appointment?","occurred_at":"2025-03-05T09:00:00Z"}`,
			`{"role":"user","name":"Lena","content":"They've pushed it back to the 17th. Ida's a pastry chef now.","occurred_at":"2025-03-05T09:01:00Z"}`,
		} {
			b.call(t, "one", "POST", c+"/messages", `{"messages":[`+said+`]}`).want(http.StatusAccepted)
			b.runJobs(t)
		}
		facts := b.kept(t, c, "fact")
		slices.Sort(facts)
		if want := []string{"Ida is a pastry chef now.", "Lena's dentist appointment is now on 17 March."}; !slices.Equal(facts, want) {
			t.Errorf("%s: %q, want %q", policy, facts, want)
		}
		if policy != "mem0g" {
			continue
		}
		got := b.call(t, "reader", "GET", c+"/facts", "").want(http.StatusOK)
		for i := range got.length("items") {
			if object := got.text(fmt.Sprintf("items.%d.object", i)); strings.Contains(object, "12 March") || strings.Contains(object, "trainee") {
				t.Errorf("an edge holds that ended: %s", got.Body)
			}
		}
	}
}
