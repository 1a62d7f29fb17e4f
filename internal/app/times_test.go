package app

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/slipboxhq/slipbox/internal/llm/llmtest"
)

// dayCases are times on two days of UTC and of their writer, at the ends of days, years and the zones.
var dayCases = []struct{ name, at, zone, day, not, shown string }{
	{"behind", "2026-06-01T21:00:00-05:00", "", "2026-06-01", "2026-06-02", "Monday 2026-06-01 21:00 -05:00"},
	{"ahead", "2026-06-02T07:30:00+09:00", "", "2026-06-02", "2026-06-01", "Tuesday 2026-06-02 07:30 +09:00"},
	{"half an hour", "2026-01-01T00:15:00+05:30", "", "2026-01-01", "2025-12-31", "Thursday 2026-01-01 00:15 +05:30"},
	{"the zone of the collection", "2026-06-02T02:00:00Z", "America/New_York", "2026-06-01", "2026-06-02", "Monday 2026-06-01 22:00 -04:00"},
	{"its winter", "2026-01-01T04:30:00Z", "America/New_York", "2025-12-31", "2026-01-01", "Wednesday 2025-12-31 23:30 -05:00"},
	{"another offset than the zone's", "2026-06-02T07:30:00+09:00", "America/New_York", "2026-06-02", "2026-06-01", "Tuesday 2026-06-02 07:30 +09:00"},
	{"a written zero", "2026-06-02T02:00:00+00:00", "America/New_York", "2026-06-02", "2026-06-01", "Tuesday 2026-06-02 02:00 UTC"},
	{"no zone at all", "2026-06-02T02:00:00Z", "", "2026-06-02", "2026-06-01", "Tuesday 2026-06-02 02:00 UTC"},
}

// The day of a message is that of its writer's clock, or of the collection's zone: in what is learned without a model, in
// contexts, in forks, and in what is asked about.
func TestDaysOfWriters(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, start func(set func(*Settings)) *gatewayTest) {
		t.Helper()
		g := start(func(*Settings) {})
		for i, tt := range dayCases {
			for _, policy := range []string{"mem0", "memorybank", "memoryos", "layered", "amem"} {
				name := policy + string(rune('a'+i))
				c := "/v1/collections/" + name
				in := object{"name": name, "policy": policy}
				config := object{}
				if tt.zone != "" {
					config["timezone"] = tt.zone
				}
				in["policy_config"] = config
				g.call(http.StatusCreated, http.MethodPost, "/v1/collections", in)
				g.call(http.StatusAccepted, http.MethodPost, c+"/messages?wait=evolved", object{"messages": []object{
					{"role": "user", "name": "Nora", "content": "I saw the dentist on Long Street today.", "occurred_at": tt.at},
				}})
				g.call(http.StatusCreated, http.MethodPost, c+"/clone", object{"name": name + "-fork"})
				for _, at := range []string{c, c + "-fork"} {
					shown := textOf(t, g.call(http.StatusOK, http.MethodPost, at+"/context", object{"query": "When was the dentist seen?"}))
					if !strings.Contains(shown, tt.day) || strings.Contains(shown, tt.not) {
						t.Errorf("%s: a context of %s has another day than %s: %s", tt.name, at, tt.day, shown)
					}
				}
				if policy != "amem" {
					continue
				}
				shown := textOf(t, g.call(http.StatusOK, http.MethodPost, c+"/context", object{"query": "When was the dentist seen?"}))
				if !strings.Contains(shown, tt.shown) {
					t.Errorf("%s: a context does not say %q: %s", tt.name, tt.shown, shown)
				}
			}
			facts := textOf(t, g.call(http.StatusOK, http.MethodGet, "/v1/collections/mem0"+string(rune('a'+i))+"/notes?kind=fact", nil))
			if !strings.Contains(facts, tt.day) {
				t.Errorf("%s: a fact has another day than %s: %s", tt.name, tt.day, facts)
			}
		}
	})
}

// A model reads the day and the zone of the writer.
func TestModelsReadDaysOfWriters(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, start func(set func(*Settings)) *gatewayTest) {
		t.Helper()
		model := llmtest.New(t)
		g := start(func(c *Settings) { c.LLM.Provider, c.LLM.BaseURL, c.LLM.Model = "openai", model.URL(), "words" })
		for _, policy := range g.policyNames() {
			for i, tt := range dayCases {
				name := policy + string(rune('a'+i))
				config := object{}
				if tt.zone != "" {
					config["timezone"] = tt.zone
				}
				g.call(http.StatusCreated, http.MethodPost, "/v1/collections", object{"name": name, "policy": policy, "policy_config": config})
				g.call(http.StatusAccepted, http.MethodPost, "/v1/collections/"+name+"/messages?wait=evolved", object{"messages": []object{
					{"role": "user", "name": "Nora", "content": "I saw the dentist of " + name + " today.", "occurred_at": tt.at},
				}})
				var prompts strings.Builder
				for _, r := range model.Requests() { // also those of other collections, whose summaries are still made
					if r.Call != llmtest.Embed && strings.Contains(r.User, name) {
						prompts.WriteString(r.User)
					}
				}
				said := prompts.String()
				if strings.Contains(said, tt.not) {
					t.Errorf("%s, %s: a prompt has the day %s: %s", policy, tt.name, tt.not, said)
				}
				if policy == "mem0" && !strings.Contains(said, tt.day) {
					t.Errorf("%s, %s: no prompt has the day %s: %s", policy, tt.name, tt.day, said)
				}
			}
		}
	})
}

// A turn makes a day of MemoryBank of its writer's date: the summary of the day is written by a job, which is waited for
// by its id.
func TestDaysOfMemoryBank(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, start func(set func(*Settings)) *gatewayTest) {
		t.Helper()
		g := start(nil)
		for i, tt := range dayCases {
			name := "bank" + string(rune('a'+i))
			c := "/v1/collections/" + name
			config := object{"summary_delay": 0}
			if tt.zone != "" {
				config["timezone"] = tt.zone
			}
			g.call(http.StatusCreated, http.MethodPost, "/v1/collections", object{"name": name, "policy": "memorybank", "policy_config": config})
			said := g.call(http.StatusAccepted, http.MethodPost, c+"/messages", object{"messages": []object{
				{"role": "user", "name": "Nora", "content": "I saw the dentist on Long Street.", "occurred_at": tt.at}, {"role": "assistant", "content": "I hope it went well.", "occurred_at": tt.at},
			}})
			g.ended(said["job"].(object)["id"].(string)) // it enqueues the summaries
			for _, job := range g.call(http.StatusOK, http.MethodGet, "/v1/jobs?limit=100&collection="+name, nil)["items"].([]any) {
				g.ended(job.(object)["id"].(string))
			}
			var days []string
			for _, s := range g.call(http.StatusOK, http.MethodGet, c+"/summaries?period=day", nil)["items"].([]any) {
				days = append(days, s.(object)["date"].(string))
			}
			if !slices.Equal(days, []string{tt.day}) {
				t.Errorf("%s: the days are %v, want %s", tt.name, days, tt.day)
			}
		}
	})
}

// ended waits until a job is done.
func (g *gatewayTest) ended(job string) {
	g.t.Helper()
	g.until("the job "+job+" is done", func() bool {
		return g.call(http.StatusOK, http.MethodGet, "/v1/jobs/"+job, nil)["state"] == "done"
	})
}
