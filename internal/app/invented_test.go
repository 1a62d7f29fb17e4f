package app

import (
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/slipboxhq/slipbox/internal/eval"
	"github.com/slipboxhq/slipbox/internal/llm/llmtest"
	"github.com/slipboxhq/slipbox/internal/memory/policy"
	"github.com/slipboxhq/slipbox/test/must"
)

// inventive is what a person says, and what a model makes of it: knowledge and objects that were said, and those that it invents.
var inventive = []struct {
	said            string
	knows, invents  []string
	objects, others []string
}{
	{
		"I moved to Tromsø in May, and I pay 1,150 for two rooms.", []string{"Nora moved to Tromsø in May and pays 1150 for 2 rooms."},
		[]string{"Nora moved to Tromsø with Erik.", "Nora moved to Tromsø and pays 1900.", "Somebody keeps tortoises."}, []string{"Tromsø", "two rooms"}, []string{"Bodø", "1,900", "tortoises"},
	},
	{
		"Ich habe im Sommer bei Zeiss in Jena angefangen.", []string{"Nora hat im Sommer bei Zeiss in Jena angefangen."},
		[]string{"Nora hat bei Siemens in Jena angefangen."}, []string{"Zeiss", "Jena"}, []string{"Siemens", "Zeiss Oberkochen", "optics"},
	},
	{"我在青岛开了一家书店。", []string{"Nora在青岛开了一家书店。"}, []string{"Nora喜欢骑车和游泳。"}, []string{"青岛", "书店"}, []string{"大连", "咖啡馆"}},
	{"先月から名古屋でパン屋をしています。", []string{"Noraは名古屋でパン屋をしている。"}, []string{"Noraは毎朝ヨガを習う。"}, []string{"名古屋", "パン屋"}, []string{"京都", "花屋"}},
	{"أفتتح مطعما في تونس مع أختي.", []string{"تفتتح نورا مطعما في تونس مع أختها."}, []string{"تملك نورا 37 قاربا في تونس."}, []string{"تونس", "مطعما"}, []string{"الجزائر", "مقهى"}},
}

// What a model writes without that anybody said it becomes neither knowledge of a person nor a triple, in any language. What was said does,
// in other forms too.
func TestInventedKnowledgeIsRefused(t *testing.T) {
	t.Parallel()
	model := llmtest.New(t)
	g := startChat(func(set func(*Settings)) *gatewayTest { return startGateway(t, set) }, model)
	model.Handle("knowledge", func(r llmtest.Request) llmtest.Reply {
		user := []string{}
		for _, c := range inventive {
			if strings.Contains(r.User, c.said) {
				user = slices.Concat(user, c.invents, c.knows)
			}
		}
		return llmtest.JSON(object{"user": user, "assistant": []string{"The assistant booked a table at Noma."}})
	})
	model.Handle("triples", func(r llmtest.Request) llmtest.Reply {
		var data struct{ Message string }
		r.ReadData(&data)
		found := []object{}
		for _, c := range inventive {
			if data.Message != c.said {
				continue
			}
			for _, o := range slices.Concat(c.others, c.objects) {
				found = append(found, object{"subject": "user", "relation": "has to do with", "object": o, "confidence": 1})
			}
			found = append(found, object{"subject": "Ingrid", "relation": "knows", "object": c.objects[0], "confidence": 1})
		}
		return llmtest.JSON(object{"triples": found, "ends": []int{}})
	})
	g.call(http.StatusCreated, http.MethodPost, "/v1/collections", object{"name": "tiers", "policy": "memoryos", "policy_config": object{"short_capacity": 1, "heat_threshold": 1, "merge_threshold": 0}})
	g.call(http.StatusCreated, http.MethodPost, "/v1/collections", object{"name": "layers", "policy": "layered"})
	for i, c := range inventive {
		at := fmt.Sprintf("2026-06-%02dT09:00:00Z", i+1)
		g.call(http.StatusOK, http.MethodPost, "/v1/collections/layers/remember", object{"content": c.said, "role": "user", "name": "Nora", "occurred_at": at})
		g.call(http.StatusAccepted, http.MethodPost, "/v1/collections/tiers/messages?wait=evolved", object{"messages": []object{
			{"role": "user", "name": "Nora", "content": c.said, "occurred_at": at}, {"role": "assistant", "content": "I see.", "occurred_at": at},
		}})
	}
	g.call(http.StatusAccepted, http.MethodPost, "/v1/collections/tiers/messages?wait=evolved", object{"messages": []object{{"role": "user", "content": "Bye."}, {"role": "assistant", "content": "Bye."}}})
	var knowledge []string
	for _, n := range listOf(g.call(http.StatusOK, http.MethodGet, "/v1/collections/tiers/knowledge?limit=100", nil)["items"]) {
		knowledge = append(knowledge, n.(object)["content"].(string))
	}
	triples := textOf(t, g.call(http.StatusOK, http.MethodGet, "/v1/collections/layers/notes?kind=knowledge&limit=100", nil))
	for _, c := range inventive {
		for _, s := range c.knows {
			if !slices.Contains(knowledge, s) {
				t.Errorf("%q is not in %q", s, knowledge)
			}
		}
		for _, s := range c.invents {
			if slices.Contains(knowledge, s) {
				t.Errorf("nobody said %q", s)
			}
		}
		for _, s := range c.objects {
			if !strings.Contains(triples, s) {
				t.Errorf("%q is not in %s", s, triples)
			}
		}
		for _, s := range append(c.others, "Ingrid") {
			if strings.Contains(triples, s) {
				t.Errorf("nobody said %q: %s", s, triples)
			}
		}
	}
	if strings.Contains(strings.Join(knowledge, "\n"), "Noma") {
		t.Errorf("the assistant did not say it: %q", knowledge)
	}
}

// TestGoodAnswersWereSaid: nothing of what a strong model writes about 213 exchanges is refused: each text has its names and numbers
// from the exchange, or from what was written before.
func TestGoodAnswersWereSaid(t *testing.T) {
	t.Parallel()
	corpus := must.Get(eval.ReadCorpus(filepath.Join("..", "..", eval.CorpusDir)))(t)
	dialogues, known, texts := map[string]*eval.Labeled{}, map[string][]string{}, 0
	for i := range corpus {
		dialogues[corpus[i].ID] = &corpus[i]
	}
	for _, x := range readAnswers(t, filepath.Join("..", "..", "corpus", "answers")) {
		d := dialogues[x.Dialogue]
		var said, names []string
		for _, n := range x.Turns {
			said, names = append(said, d.Turns[n].Text), append(names, d.Turns[n].Speaker)
		}
		talk := policy.NewEvidence(2025, said...)
		all := talk.With(append(names, known[x.Dialogue]...)...)
		for i := range x.Facts {
			for _, s := range []string{x.Facts[i].Fact, x.Facts[i].leaves()} {
				if texts++; !talk.Shares(s) || !all.Supports(s) {
					t.Errorf("%s, turns %v: refused: %q", x.Dialogue, x.Turns, s)
				}
			}
			known[x.Dialogue] = append(known[x.Dialogue], x.Facts[i].leaves())
		}
	}
	if texts < 400 {
		t.Errorf("only %d texts", texts)
	}
}
