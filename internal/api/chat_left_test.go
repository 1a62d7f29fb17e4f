package api_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/slipboxhq/slipbox/internal/apptest"
	"github.com/slipboxhq/slipbox/internal/llm/llmtest"
	"github.com/slipboxhq/slipbox/test/must"
)

// What the user said is kept when the client leaves before the end of the answer, on every way to ask. The same question again is the
// same message, with an answer; said once more behind that, it is another one.
func TestChatKeepsTheQuestionOfAClientThatLeft(t *testing.T) {
	t.Parallel()
	const said = "I keep bees in Kiel. What do they like?"
	for name, c := range map[string]struct{ path, body string }{
		"chat":                 {"/v1/collections/home/chat", `{"message":"` + said + `"}`},
		"streamed chat":        {"/v1/collections/home/chat", `{"message":"` + said + `","stream":true}`},
		"completions":          {"/v1/chat/completions", `{"model":"slipbox@home","messages":[{"role":"user","content":"` + said + `"}]}`},
		"streamed completions": {"/v1/chat/completions", `{"model":"slipbox@home","stream":true,"messages":[{"role":"user","content":"` + said + `"}]}`},
		"responses":            {"/v1/responses", `{"model":"slipbox@home","input":"` + said + `"}`},
		"streamed responses":   {"/v1/responses", `{"model":"slipbox@home","stream":true,"input":"` + said + `"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, model := apptest.Talking(t)
			at := b.Collection(t, "one", "home")
			answered := make(chan struct{}, 3)
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				b.ServeHTTP(w, r)
				answered <- struct{}{}
			}))
			t.Cleanup(srv.Close)
			for i, x := range []struct {
				leaves bool
				want   string
			}{{true, "user"}, {false, "user assistant"}, {false, "user assistant user assistant"}} {
				ctx, leave := context.WithCancel(t.Context())
				t.Cleanup(leave)
				model.Handle("", func(llmtest.Request) llmtest.Reply {
					if x.leaves {
						leave()
						return llmtest.Hang()
					}
					return llmtest.Text("Lavender.")
				})
				r := must.Get(http.NewRequestWithContext(ctx, http.MethodPost, srv.URL+c.path, strings.NewReader(c.body)))(t)
				r.Header.Set("Authorization", "Bearer one")
				r.Header.Set("Content-Type", "application/json")
				res, err := srv.Client().Do(r)
				if err == nil {
					_, err = io.ReadAll(res.Body)
					_ = res.Body.Close()
				}
				if (err != nil) != x.leaves {
					t.Fatal(err)
				}
				<-answered
				log := b.Call(t, "one", "GET", at+"/messages", "").Want(http.StatusOK)
				if got := strings.Join(log.Texts("items.*.role"), " "); got != x.want {
					t.Errorf("request %d: %s", i+1, log.Body)
				}
			}
		})
	}
}

// With a key an exchange is stored once, also when the whole answer was sent and the client has lost it.
func TestChatIsStoredOnceByKey(t *testing.T) {
	t.Parallel()
	b, model := apptest.Talking(t)
	at := b.Collection(t, "one", "home")
	model.Always("", llmtest.Text("Lavender."))
	for i, key := range []string{"first", "first", "second"} {
		b.Call(t, "one", "POST", at+"/chat", `{"message":"What do bees like?"}`, "Idempotency-Key", key).Want(http.StatusOK)
		if log := b.Call(t, "one", "GET", at+"/messages", "").Want(http.StatusOK); log.Length("items") != []int{2, 2, 4}[i] {
			t.Errorf("request %d: %s", i+1, log.Body)
		}
	}
}
