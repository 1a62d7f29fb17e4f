package app

import (
	"net/http"
	"strings"
	"testing"

	"github.com/slipboxhq/slipbox/internal/llm/llmtest"
)

// The profile of a collection of layers is what is known of the person, since when, without a model and with one, and without
// what has ended or is told of others.
func TestLayeredProfile(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, start func(set func(*Settings)) *gatewayTest) {
		t.Helper()
		model := llmtest.New(t)
		findTriples(t, model, map[string]stated{
			"I live in Rotterdam.":        {triples: [][2]string{{"place", "Rotterdam"}}},
			"我很喜欢喝茶。":                     {triples: [][2]string{{"likes", "喝茶"}}},
			"Eva lives in Bergen.":        {triples: [][2]string{{"Eva lives in", "Bergen"}}},
			"Our boxes are in Copenhagen": {triples: [][2]string{{"place", "Copenhagen"}}, ends: []string{"Rotterdam"}},
		})
		for name, g := range map[string]*gatewayTest{"rules": start(nil), "model": startChat(start, model)} {
			g.call(http.StatusCreated, http.MethodPost, "/v1/collections", object{"name": "c", "policy": "layered", "policy_config": object{"timezone": "Asia/Tokyo"}})
			if empty := g.call(http.StatusOK, http.MethodGet, "/v1/collections/c/profile", nil); empty["text"] != nil {
				t.Errorf("%s: at the start: %v", name, empty)
			}
			for i, said := range []string{"I live in Rotterdam.", "我很喜欢喝茶。", "Eva lives in Bergen.", "Our boxes are in Copenhagen"} {
				g.call(http.StatusOK, http.MethodPost, "/v1/collections/c/remember", object{"content": said, "role": "user", "occurred_at": "2026-03-0" + string(rune('1'+i)) + "T22:00:00Z"})
			}
			profile := g.call(http.StatusOK, http.MethodGet, "/v1/collections/c/profile", nil)
			text, _ := profile["text"].(string)
			wanted, not := []string{"喝茶", "(since 2026-03-03)"}, []string{"Bergen"}
			if name == "model" {
				wanted, not = append(wanted, "Copenhagen"), append(not, "Rotterdam")
			} else {
				wanted = append(wanted, "Rotterdam")
			}
			for _, w := range wanted {
				if !strings.Contains(text, w) {
					t.Errorf("%s: %q is not in %q", name, w, text)
				}
			}
			for _, w := range not {
				if strings.Contains(text, w) {
					t.Errorf("%s: %q is in %q", name, w, text)
				}
			}
			if ids := listOf(profile["notes"]); len(ids) != strings.Count(text, "\n")+1 {
				t.Errorf("%s: notes %v of %q", name, ids, text)
			}
		}
	})
}
