package llm_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/llm"
	"github.com/slipboxhq/slipbox/internal/llm/llmtest"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/chat"
	"github.com/slipboxhq/slipbox/internal/tenant/grant"
	"github.com/slipboxhq/slipbox/test/must"
)

func newChatProxy(t *testing.T, srv *llmtest.Server, d llm.Deps, set func(*llm.Config)) *llm.ChatProxy {
	t.Helper()
	cfg := llm.Config{
		BaseURL: srv.URL(), Model: "fake", APIKey: "sk-secret", Timeout: time.Minute, MaxTries: 3,
		RetryWait: time.Millisecond, MaxRetryWait: 20 * time.Millisecond, BreakerFailures: 100, BreakerPause: time.Hour,
	}
	if set != nil {
		set(&cfg)
	}
	d.Clock = time.Now
	proxy := must.Get(llm.NewChatProxy(d, cfg))(t)
	return proxy
}

const hello = `{"model":"fake","messages":[{"role":"user","content":"hello there"}]}`

const helloStream = `{"model":"fake","stream":true,"messages":[{"role":"user","content":"hello there"}]}`

// said sends a request and reads all of its answer.
func said(ctx context.Context, t *testing.T, proxy *llm.ChatProxy, body string) (string, error) {
	t.Helper()
	resp, err := proxy.Send(ctx, grant.Scope(uuid.New(), uuid.Nil, "test"), chat.Request{Collection: uuid.Must(uuid.NewV7()), Body: []byte(body), Stream: body == helloStream})
	if err != nil {
		return "", err
	}
	defer resp.Account(chat.Usage{PromptTokens: 3, CompletionTokens: 2})
	defer func() { _ = resp.Body.Close() }()
	raw, err := io.ReadAll(resp.Body)
	return string(raw), err
}

// Request and answer are passed on unchanged, with the configured key; the cost is counted under the
// purpose of chats.
func TestTalkPasses(t *testing.T) {
	t.Parallel()
	srv, m := llmtest.New(t), &meter{}
	srv.RequireKey("sk-secret")
	srv.Always("", llmtest.Text("hi"))
	proxy := newChatProxy(t, srv, llm.Deps{Meter: m}, nil)
	whole, err := said(t.Context(), t, proxy, hello)
	if err != nil || !strings.Contains(whole, `"content":"hi"`) {
		t.Fatalf("%q, %v", whole, err)
	}
	stream, err := said(t.Context(), t, proxy, helloStream)
	if err != nil || !strings.HasPrefix(stream, "data: {") || !strings.HasSuffix(stream, "data: [DONE]\n\n") {
		t.Fatalf("%q, %v", stream, err)
	}
	if got := srv.Requests(); string(got[0].Body) != hello || string(got[1].Body) != helloStream {
		t.Errorf("sent %s and %s", got[0].Body, got[1].Body)
	}
	if uses := m.all(); len(uses) != 2 || uses[0].Purpose != "chat" || uses[0].Calls != 1 || uses[0].PromptTokens != 3 || uses[0].CompletionTokens != 2 {
		t.Errorf("counted %+v", uses)
	}
}

// Temporary failures are retried as long as no part of an answer has arrived.
func TestTalkTriesAgain(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{"whole": hello, "stream": helloStream} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv, m := llmtest.New(t), &meter{}
			srv.Script("", llmtest.Status(http.StatusInternalServerError, 0), llmtest.Reset(), llmtest.Text("hi"))
			if got, err := said(t.Context(), t, newChatProxy(t, srv, llm.Deps{Meter: m}, nil), body); err != nil || !strings.Contains(got, "hi") {
				t.Errorf("%q, %v", got, err)
			}
			if uses := m.all(); len(uses) != 1 || uses[0].Calls != 3 {
				t.Errorf("counted %+v", uses)
			}
		})
	}
}

func TestTalkFails(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		reply llmtest.Reply
		set   func(*llm.Config)
		code  fault.Code
	}{
		"down":            {llmtest.Status(http.StatusInternalServerError, 0), nil, fault.Unavailable},
		"slow down":       {llmtest.Status(http.StatusTooManyRequests, time.Minute), nil, fault.Unavailable},
		"other key":       {llmtest.StatusText(http.StatusUnauthorized, "bad key sk-secret"), nil, fault.Misconfigured},
		"hangs":           {llmtest.Hang(), func(c *llm.Config) { c.Timeout, c.MaxTries = 30*time.Millisecond, 1 }, fault.Timeout},
		"refuses":         {llmtest.StatusText(http.StatusBadRequest, "no such tool"), nil, fault.ModelFailed},
		"keeps breaking":  {llmtest.Reset(), nil, fault.Unavailable},
		"breaker is open": {llmtest.Status(http.StatusInternalServerError, 0), func(c *llm.Config) { c.BreakerFailures = 1 }, fault.Unavailable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := llmtest.New(t)
			srv.Always("", c.reply)
			proxy := newChatProxy(t, srv, llm.Deps{}, c.set)
			for range 2 {
				_, err := said(t.Context(), t, proxy, helloStream)
				if !fault.Is(err, c.code) || strings.Contains(err.Error(), "sk-secret") {
					t.Fatalf("%v, want %s", err, c.code)
				}
				var f *fault.Error
				if name == "slow down" && (!errors.As(err, &f) || f.RetryAfter != time.Minute) {
					t.Errorf("%+v does not say when to come again", f)
				}
				refused, ok := errors.AsType[*chat.Refused](err)
				if ok != (name == "refuses") || ok && (refused.Status != http.StatusBadRequest || !strings.Contains(string(refused.Body), "no such tool")) {
					t.Errorf("refusal %+v", refused)
				}
			}
			if name == "breaker is open" {
				if _, err := said(t.Context(), t, proxy, hello); !errors.Is(err, memory.ErrPaused) {
					t.Errorf("%v", err)
				}
			}
		})
	}
}

// A stream that stalls ends with an error, and so does one that breaks off.
func TestTalkStreamsEnd(t *testing.T) {
	t.Parallel()
	srv := llmtest.New(t)
	srv.Script("", llmtest.Paced(time.Hour, llmtest.Text("never")))
	proxy := newChatProxy(t, srv, llm.Deps{}, func(c *llm.Config) { c.Timeout, c.MaxTries = 50*time.Millisecond, 1 })
	if got, err := said(t.Context(), t, proxy, helloStream); !errors.Is(err, context.DeadlineExceeded) && !fault.Is(err, fault.Timeout) {
		t.Errorf("%q, %v", got, err)
	}
	// A server of its own: the first call may have ended before its reply was taken.
	srv = llmtest.New(t)
	patient := newChatProxy(t, srv, llm.Deps{}, nil)
	srv.Script("", llmtest.Paced(10*time.Millisecond, llmtest.Text(strings.Repeat("word ", 1000))))
	ctx, cancel := context.WithCancel(t.Context())
	resp := must.Get(patient.Send(ctx, grant.Scope(uuid.New(), uuid.Nil, "test"), chat.Request{Body: []byte(helloStream), Stream: true}))(t)
	must.Get(resp.Body.Read(make([]byte, 100)))(t)
	cancel()
	if _, err := io.ReadAll(resp.Body); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	_ = resp.Body.Close()
}

func TestTalkNeedsAModel(t *testing.T) {
	t.Parallel()
	if proxy, err := llm.NewChatProxy(llm.Deps{Clock: time.Now}, llm.Config{}); proxy != nil || err != nil {
		t.Errorf("%v, %v", proxy, err)
	}
}

// Long answers of one caller are not retried, and do not block the endpoint for others.
func TestTalkIsPatient(t *testing.T) {
	t.Parallel()
	inBubble(t, talkPatiently)
}

func talkPatiently(t *testing.T, f *fixture) {
	t.Helper()
	srv := f.srv
	srv.Script("", llmtest.Hang(), llmtest.Hang(), llmtest.Hang(), llmtest.Text("hi"))
	proxy := newChatProxy(t, srv, f.deps, func(c *llm.Config) { c.BreakerFailures = 2 })
	for range 3 {
		if _, err := said(t.Context(), t, proxy, hello); !fault.Is(err, fault.Timeout) {
			t.Fatal(err)
		}
	}
	if got, err := said(t.Context(), t, proxy, hello); err != nil || !strings.Contains(got, "hi") {
		t.Errorf("%q, %v", got, err)
	}
	if n := len(srv.Requests()); n != 4 {
		t.Errorf("%d requests", n)
	}
}

// A tenant that sent a bad request gets the reason, without the operator's key or the endpoint's
// address; and redirects lead no request elsewhere.
func TestTalkKeepsWhatIsTheOperators(t *testing.T) {
	t.Parallel()
	const away = "127.0.0.2"
	answer := func(w http.ResponseWriter, r *http.Request) {}
	elsewhere := 0
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere++ }))
	defer other.Close()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { answer(w, r) }))
	defer srv.Close()
	proxy := newChatProxy(t, llmtest.New(t), llm.Deps{}, func(c *llm.Config) { c.BaseURL, c.MaxTries = srv.URL+"/v1", 1 })
	for name, body := range map[string]string{
		"json": `{"error":{"message":"key sk-secret may not use this at ` + srv.URL + `/v1/chat/completions"}}`,
		"page": "<html>nginx on " + away + " for sk-secret</html>",
	} {
		answer = func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, body)
		}
		_, err := said(t.Context(), t, proxy, hello)
		refused, ok := errors.AsType[*chat.Refused](err)
		if !ok {
			t.Fatalf("%s: %v", name, err)
		}
		shown := string(refused.Body)
		if strings.Contains(shown, "sk-secret") || strings.Contains(shown, "127.0.0") || !json.Valid(refused.Body) || refused.ContentType != "application/json" {
			t.Errorf("%s: %s as %s", name, shown, refused.ContentType)
		}
		if name == "json" && !strings.Contains(shown, "may not use this") {
			t.Errorf("the reason is lost: %s", shown)
		}
	}
	answer = func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL+"/v1/chat/completions", http.StatusTemporaryRedirect)
	}
	if _, err := said(t.Context(), t, proxy, hello); err == nil || elsewhere > 0 || strings.Contains(err.Error(), other.URL) {
		t.Errorf("%v; %d requests went elsewhere", err, elsewhere)
	}
}
