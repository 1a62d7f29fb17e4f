package api_test

import (
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/slipboxhq/slipbox/internal/apptest"
	"github.com/slipboxhq/slipbox/test/must"
)

// A file of another program is understood before it is imported, is imported once, and is refused if nobody knows what it is.
func TestImportHistoryOverHTTP(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	b.Pass(270 * 24 * time.Hour) // after what the files say
	chat := func(name string) string {
		raw := must.Get(os.ReadFile("../memory/transfer/testdata/" + name))(t)
		return string(raw)
	}
	send := func(credential, target, body string) apptest.Response {
		t.Helper()
		return b.Call(t, credential, "POST", "/v1/collections/"+target, body, "Content-Type", "application/octet-stream")
	}
	b.Call(t, "one", "POST", "/v1/collections", `{"name":"past","policy":"amem"}`).Want(http.StatusCreated)
	b.Call(t, "one", "POST", "/v1/collections", `{"name":"ben","policy":"memorybank"}`).Want(http.StatusCreated)
	said := chat("chatgpt/conversations.json")
	dry := send("one", "past/history?dry_run=true&name=conversations.json", said).Want(http.StatusOK)
	if dry.Text("understood.format") != "chatgpt" || dry.Number("understood.messages") != 5 || dry.Length("understood.first") != 3 {
		t.Errorf("understood: %s", dry.Body)
	}
	if n := b.Call(t, "one", "GET", "/v1/collections/past/messages", "").Want(http.StatusOK).Length("items"); n != 0 {
		t.Errorf("a dry run wrote %d messages", n)
	}
	for range 2 {
		send("one", "past/history?me=Nora", said).Want(http.StatusAccepted).Text("job.id")
		if n := b.Call(t, "one", "GET", "/v1/collections/past/messages", "").Want(http.StatusOK).Length("items"); n != 5 {
			t.Errorf("there are %d messages", n)
		}
	}
	two := chat("whatsapp/WhatsApp Chat with Nora.txt")
	if asked := send("one", "ben/history?dry_run=true", two).Want(http.StatusOK); asked.At("understood.ask_me") != true || asked.Length("understood.people") < 2 {
		t.Errorf("two people: %s", asked.Body)
	}
	if refused := send("one", "ben/history", two).Want(http.StatusUnprocessableEntity); !strings.Contains(refused.Body.String(), `"me"`) {
		t.Errorf("nobody is remembered: %s", refused.Body)
	}
	send("one", "ben/history?me=nora&timezone=Europe/Berlin&infer=false", two).Want(http.StatusAccepted)
	for name, tt := range map[string]struct {
		credential, target, body string
		status                   int
		says                     string
	}{
		"what nobody knows":     {"one", "past/history", `{"rows":[1]}`, 422, "whatsapp"},
		"one byte":              {"one", "past/history", "[", 422, ""},
		"cut in the middle":     {"one", "past/history?name=conversations.json", said[:len(said)/2], 422, "cut off"},
		"nothing":               {"one", "past/history", "", 422, "empty"},
		"a broken zip":          {"one", "past/history", "PK\x03\x04 and no more", 422, "zip"},
		"another format":        {"one", "past/history?format=slack", said, 422, "nothing"},
		"a format that is none": {"one", "past/history?format=icq", said, 422, "slack"},
		"no zone":               {"one", "past/history?timezone=Mars", said, 422, "timezone"},
		"no day":                {"one", "past/history?since=yesterday-", said, 422, "since"},
		"another tenant":        {"two", "past/history", said, 404, ""},
		"who may only read":     {"reader", "past/history", said, 403, ""},
		"who may only write":    {"writer", "past/history", said, 403, ""},
	} {
		if got := send(tt.credential, tt.target, tt.body); got.Code != tt.status || !strings.Contains(got.Body.String(), tt.says) {
			t.Errorf("%s: %d %s", name, got.Code, got.Body)
		}
	}
	titles := `[{"title":"<img src=x onerror=alert(1)>","create_time":1760000000,"id":"c","current_node":"n","mapping":{"n":{"message":{"id":"m","author":{"role":"user"},"content":{"content_type":"text","parts":["<script>alert(1)</script>"]}},"parent":null}}}]`
	if got := send("one", "past/history?dry_run=true", titles).Want(http.StatusOK); got.Text("understood.first.0.content") != "<script>alert(1)</script>" {
		t.Errorf("markup is text: %s", got.Body)
	}
}
