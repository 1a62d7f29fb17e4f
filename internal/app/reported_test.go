package app

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/slipboxhq/slipbox/internal/encoder/weights/weightstest"
)

// What was corrected, denied or has changed since is never lost without a model, in one language or two: both statements are found, and a
// context shows each with its date. Where they share their words, the newest is first.
func TestReportedChanges(t *testing.T) {
	t.Parallel()
	dir := weightstest.Dir(t)
	g := startGateway(t, func(c *Settings) { c.LLM.EmbedProvider, c.LLM.EncoderDir = "", dir })
	for i, c := range []struct {
		told   []string // a day each
		asked  string
		newest bool // the newest is promised to be first
	}{
		{[]string{"I love Chinese food.", "I hate Chinese food."}, "Does Nora like Chinese food?", true},
		{[]string{"I live in Berlin.", "Sorry, I meant Bern, not Berlin."}, "Where does Nora live?", true},
		{[]string{"Anna lives in Graz.", "No, Anna lives in Linz."}, "Where does Anna live?", true},
		{[]string{"My birthday is on 15 May.", "Correction: my birthday is on 5 May."}, "When is Nora's birthday?", true},
		{[]string{"My salary is 85k.", "I got a raise, my salary is 92k now.", "My salary is 95k now."}, "What is Nora's salary?", true},
		{[]string{"我特别怕狗。", "我现在一点都不怕狗了。"}, "Nora怕狗吗？", true},
		{[]string{"Ich wiege 90 Kilo.", "Ich war lange krank, ich wiege jetzt 78 Kilo."}, "Wie viel wiegt Nora?", false},
		{[]string{"My dog is called Max.", "Actually his name is Rex, I mistyped."}, "What is Nora's dog called?", false},
		{[]string{"I live in Berlin.", "我搬到慕尼黑了。"}, "Where does Nora live?", false},
		{[]string{"Vivo en Madrid.", "Me mudé a Sevilla la semana pasada."}, "¿Dónde vive Nora?", false},
		{[]string{"東京に住んでいます。", "先週大阪に引っ越しました。"}, "Noraはどこに住んでいますか？", false},
		{[]string{"أعيش في القاهرة.", "انتقلت إلى دبي الأسبوع الماضي."}, "أين تعيش نورا؟", false},
	} {
		name := fmt.Sprintf("c%d", i)
		g.call(http.StatusCreated, http.MethodPost, "/v1/collections", object{"name": name, "policy": "mem0"})
		for day, said := range c.told {
			g.call(http.StatusAccepted, http.MethodPost, "/v1/collections/"+name+"/messages?wait=evolved", object{"messages": []object{
				{"role": "user", "name": "Nora", "content": said, "occurred_at": fmt.Sprintf("2026-06-0%dT09:00:00Z", day+1)},
			}})
		}
		var hits []string
		for _, h := range listOf(g.call(http.StatusOK, http.MethodPost, "/v1/collections/"+name+"/search", object{"query": c.asked, "k": 10})["hits"]) {
			hits = append(hits, h.(object)["note"].(object)["content"].(string))
		}
		context, _ := g.call(http.StatusOK, http.MethodPost, "/v1/collections/"+name+"/context", object{"query": c.asked})["text"].(string)
		all := strings.Join(hits, "\n")
		for day, said := range c.told {
			if !strings.Contains(all, said) || !strings.Contains(context, said) || !strings.Contains(context, fmt.Sprintf("2026-06-0%d", day+1)) {
				t.Errorf("%q is lost: %q, %q", said, hits, context)
			}
		}
		if last := c.told[len(c.told)-1]; c.newest && (len(hits) == 0 || !strings.Contains(hits[0], last)) {
			t.Errorf("%q is not first: %q", last, hits)
		}
	}
}
