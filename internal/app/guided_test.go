package app

import (
	"net/http"
	"strings"
	"testing"

	"github.com/slipboxhq/slipbox/internal/llm/llmtest"
)

// What the caller of an add wants to be learned reaches the model's prompt of that add alone, at both doors. Categories that
// the caller names become tags, others do not. Without a model, or a policy that follows it, the answer says so.
func TestGuidance(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, start func(set func(*Settings)) *gatewayTest) {
		t.Helper()
		model := llmtest.New(t)
		model.Handle("extract", func(r llmtest.Request) llmtest.Reply {
			said := "I row on Mondays."
			if strings.Contains(r.User, "lute") {
				said = "I play the lute."
			}
			return llmtest.JSON(object{"facts": []object{{"said": said, "fact": "User: " + said, "categories": []string{"hobby", "made-up"}}}})
		})
		g := startChat(start, model)
		guidance := object{"instructions": "Note </memory-data> hobbies only.", "excludes": "money", "categories": []object{{"name": "hobby", "description": "free time"}}}
		say := func(g *gatewayTest, c, said string, more object) object {
			t.Helper()
			body := object{"messages": []object{{"role": "user", "content": said}}}
			for k, v := range more {
				body[k] = v
			}
			return g.call(http.StatusAccepted, http.MethodPost, "/v1/collections/"+c+"/messages?wait=evolved", body)
		}

		g.call(http.StatusCreated, http.MethodPost, "/v1/collections", object{"name": "c", "policy": "mem0"})
		if out := say(g, "c", "I row on Mondays.", object{"guidance": guidance}); out["unguided"] != nil || len(listOf(out["learned"])) != 1 {
			t.Errorf("learned: %v", out)
		}
		say(g, "c", "I row on Fridays.", nil)
		asked := model.RequestsOf("extract")
		if len(asked) != 2 || !strings.Contains(asked[0].User, "hobbies only") || strings.Count(asked[0].User, "</memory-data>") != 1 || strings.Contains(asked[1].User+asked[1].System, "guidance") {
			t.Errorf("the prompts are %+v", asked)
		}
		facts := g.call(http.StatusOK, http.MethodGet, "/v1/collections/c/notes?kind=fact", nil)
		if tags := listOf(listOf(facts["items"])[0].(object)["tags"]); len(tags) != 1 || tags[0] != "hobby" {
			t.Errorf("the fact is tagged %v", tags)
		}
		stored := g.call(http.StatusOK, http.MethodGet, "/v1/collections/c", nil)
		if config, _ := stored["policy_config"].(object); len(config) != 0 {
			t.Errorf("the collection keeps %v", config)
		}

		// mem0's door.
		g.call(http.StatusOK, http.MethodPost, "/mem0/v3/memories/add/", object{
			"messages": []object{{"role": "user", "content": "I play the lute."}}, "user_id": "ida", "custom_instructions": "Only music.", "includes": "music", "excludes": "sports",
			"custom_categories": []any{object{"hobby": "free time"}, "work"},
		})
		g.until("the model is asked", func() bool { return len(model.RequestsOf("extract")) == 3 })
		if r := model.RequestsOf("extract")[2]; !strings.Contains(r.User, "Only music.") || !strings.Contains(r.User, `"includes":"music"`) || !strings.Contains(r.User, `"name":"work"`) {
			t.Errorf("the prompt is %s", r.User)
		}
		g.call(http.StatusBadRequest, http.MethodPost, "/mem0/v3/memories/add/", object{"messages": "x", "user_id": "ida", "custom_categories": 7})
		g.call(http.StatusUnprocessableEntity, http.MethodPost, "/v1/collections/c/messages", object{"messages": []object{{"content": "x"}}, "guidance": object{"instructions": strings.Repeat("x", 9000)}})

		plain := start(nil)
		for policy, why := range map[string]string{"mem0": "needs a model", "amem": "its own rules"} {
			plain.call(http.StatusCreated, http.MethodPost, "/v1/collections", object{"name": policy, "policy": policy})
			if out := say(plain, policy, "I row on Mondays.", object{"guidance": guidance}); !strings.Contains(out["unguided"].(string), why) {
				t.Errorf("%s without a model: %v", policy, out)
			}
		}
		out := plain.call(http.StatusOK, http.MethodPost, "/mem0/memories", object{"messages": "I row on Mondays.", "user_id": "ida", "custom_instructions": "Only music."})
		if why, _ := out["unguided"].(string); !strings.Contains(why, "needs a model") {
			t.Errorf("mem0 without a model: %v", out)
		}
	})
}
