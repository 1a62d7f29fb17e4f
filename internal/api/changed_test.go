package api_test

import (
	"net/http"
	"slices"
	"testing"

	"github.com/slipboxhq/slipbox/internal/apptest"
)

// keptOf returns the contents of the notes of a kind.
func keptOf(t *testing.T, b *apptest.System, c, kind string) []string {
	t.Helper()
	return b.Call(t, "reader", "GET", c+"/notes?kind="+kind+"&limit=100", "").Want(http.StatusOK).Texts("items.*.content")
}

// Without a model what was said stays, in the words and with the date of who said it, and an answer follows its
// question; nothing takes the place of what was said before. No edge is made of it.
func TestMovedThingsStand(t *testing.T) {
	t.Parallel()
	for _, policy := range []string{"mem0", "mem0g"} {
		b := apptest.New(t)
		c := b.Space(t, "talk", policy)
		for _, said := range []string{
			`{"role":"user","name":"Lena","content":"My dentist appointment is on 12 March.","occurred_at":"2025-03-01T09:00:00Z"}`,
			`{"role":"user","name":"Lena","content":"My daughter Ida is a trainee at a bakery.","occurred_at":"2025-03-02T09:00:00Z"}`,
			`{"role":"assistant","content":"Shall I remind you of the appointment?","occurred_at":"2025-03-05T09:00:00Z"}`,
			`{"role":"user","name":"Lena","content":"They've pushed it back to the 17th. Ida's a pastry chef now.","occurred_at":"2025-03-05T09:01:00Z"}`,
		} {
			b.Call(t, "one", "POST", c+"/messages", `{"messages":[`+said+`]}`).Want(http.StatusAccepted)
			b.RunJobs(t)
		}
		facts := keptOf(t, b, c, "fact")
		slices.Sort(facts)
		if want := []string{
			"Lena, 2025-03-01: “My dentist appointment is on 12 March.”",
			"Lena, 2025-03-02: “My daughter Ida is a trainee at a bakery.”",
			"“Shall I remind you of the appointment?” – Lena, 2025-03-05: “They've pushed it back to the 17th. Ida's a pastry chef now.”",
		}; !slices.Equal(facts, want) {
			t.Errorf("%s: %q, want %q", policy, facts, want)
		}
		if got := b.Call(t, "reader", "GET", c+"/facts", "").Want(http.StatusOK); got.Length("items") != 0 {
			t.Errorf("%s: edges of no certain meaning: %s", policy, got.Body)
		}
	}
}
