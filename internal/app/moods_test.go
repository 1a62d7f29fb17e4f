package app

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/slipboxhq/slipbox/internal/llm/llmtest"
)

// The mood of a day is a judgment: without a model there is none, nor traits nor a way to answer, in any language and with any
// words. With a model, a day of good and bad is asked for both and shows both.
func TestMoodsOfDays(t *testing.T) {
	t.Parallel()
	model := llmtest.New(t)
	both := "glad about the engagement, grieving for the cat"
	model.Handle("daily_personality", func(r llmtest.Request) llmtest.Reply {
		if !strings.Contains(string(r.Body), "says both") && !strings.Contains(string(r.Body), "两者都写") {
			t.Errorf("the model is not asked for both: %s", r.Body)
		}
		return llmtest.JSON(object{"traits": []string{"caring"}, "mood": both, "reply_strategy": "Be gentle."})
	})
	model.Always("daily_summary", llmtest.JSON(object{"summary": "Nora got engaged, and her cat Plum died.", "events": []string{}}))
	model.Always("overall_history", llmtest.JSON(object{"summary": "Nora got engaged."}))
	model.Always("overall_personality", llmtest.JSON(object{"portrait": "Nora cares.", "reply_strategy": "Be gentle."}))
	start := func(set func(*Settings)) *gatewayTest { return startGateway(t, set) }
	for name, g := range map[string]*gatewayTest{"without a model": start(nil), "with one": startChat(start, model)} {
		g.call(http.StatusCreated, http.MethodPost, "/v1/collections", object{"name": "c", "policy": "memorybank", "policy_config": object{"summary_delay": 0}})
		for i, said := range []string{
			"We had a fight and I feel pretty down, but painting calms me.", "He proposed, and Plum died the same night.", "我讨厌香菜。今天是我的生日，谢谢你！", "Please, could you help me? I'm not running.", "Ich bin so glücklich, und meine Oma ist krank.",
		} {
			g.call(http.StatusAccepted, http.MethodPost, "/v1/collections/c/messages?wait=evolved", object{"messages": []object{
				{"role": "user", "name": "Nora", "content": said, "occurred_at": fmt.Sprintf("2026-08-0%dT09:00:00Z", i+1)},
			}})
		}
		g.until("the days are summed up", func() bool {
			return len(g.call(http.StatusOK, http.MethodGet, "/v1/collections/c/summaries?limit=50", nil)["items"].([]any)) >= 5
		})
		g.until("nothing is left to do", func() bool {
			return len(g.call(http.StatusOK, http.MethodGet, "/v1/jobs?limit=1&state=queued", nil)["items"].([]any))+len(g.call(http.StatusOK, http.MethodGet, "/v1/jobs?limit=1&state=running", nil)["items"].([]any)) == 0
		})
		profile := textOf(t, g.call(http.StatusOK, http.MethodGet, "/v1/collections/c/profile", nil))
		switch modeled := name == "with one"; {
		case modeled && !strings.Contains(profile, both):
			t.Errorf("%s: %s", name, profile)
		case !modeled && (strings.Contains(profile, `"mood"`) || strings.Contains(profile, "reply_strategy") || strings.Contains(profile, "portrait")):
			t.Errorf("%s, a mood is guessed: %s", name, profile)
		}
		// A small context shows no summary that is cut to its date.
		bare := regexp.MustCompile(`(?m)^\[\d+\] [\d-]*…?$`)
		for budget := 10; budget <= 150; budget += 20 {
			text, _ := g.call(http.StatusOK, http.MethodPost, "/v1/collections/c/context", object{"query": "How was Nora in August?", "token_budget": budget})["text"].(string)
			if cut := bare.FindString(text); cut != "" {
				t.Errorf("%s: %d tokens show %q in %q", name, budget, cut, text)
			}
		}
	}
}
