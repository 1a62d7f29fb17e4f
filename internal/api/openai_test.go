package api_test

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"math"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/slipboxhq/slipbox/internal/api"
	"github.com/slipboxhq/slipbox/internal/apptest"
	"github.com/slipboxhq/slipbox/internal/llm/llmtest"
)

// Embeddings are those of the gateway's embedder, as numbers or packed.
func TestEmbeddings(t *testing.T) {
	t.Parallel()
	b := apptest.New(t, func(_ *apptest.System, _ *api.Deps, c *api.Config) {
		c.EmbeddingNames = []string{"text-embedding-3-small"}
	})
	embed := func(body string) apptest.Response { return b.Call(t, "reader", "POST", "/v1/embeddings", body) }
	plain := embed(`{"model":"slipbox","input":["A ferry.","A boat."],"encoding_format":"float","next_version":1}`).Want(http.StatusOK)
	packed := embed(`{"input":"A boat.","encoding_format":"base64","dimensions":null}`).Want(http.StatusOK)
	var got struct {
		Data []struct {
			Index     int       `json:"index"`
			Embedding []float32 `json:"embedding"`
		} `json:"data"`
		Usage struct {
			Total int `json:"total_tokens"`
		} `json:"usage"`
	}
	if err := json.Unmarshal(plain.Body.Bytes(), &got); err != nil || len(got.Data) != 2 || got.Data[1].Index != 1 || got.Usage.Total == 0 || plain.Text("object") != "list" || plain.Text("model") != "slipbox" {
		t.Fatalf("%v: %s", err, plain.Body)
	}
	raw, err := base64.StdEncoding.DecodeString(packed.Text("data.0.embedding"))
	if err != nil || len(raw) != 4*len(got.Data[1].Embedding) {
		t.Fatalf("%v: %s", err, packed.Body)
	}
	for i, x := range got.Data[1].Embedding {
		if math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:])) != x {
			t.Fatalf("number %d differs", i)
		}
	}
	many := `["a"` + strings.Repeat(`,"a"`, 256-1) + `]`
	embed(`{"input":` + many + `}`).Want(http.StatusOK)
	for body, field := range map[string]string{
		`{}`: "input", `{"input":null}`: "input", `{"input":[]}`: "input", `{"input":7}`: "input", `{"input":[[1,2]]}`: "input.0", `{"input":" "}`: "input.0",
		`{"input":["a",""]}`: "input.1", `{"input":"a","dimensions":3}`: "dimensions", `{"input":"a","encoding_format":"hex"}`: "encoding_format",
		`{"input":` + many[:len(many)-1] + `,"a"]}`: "input", `{"input":"` + strings.Repeat("a ", 128<<10/2) + `b"}`: "input", `{"input":"a\u0000"}`: "input",
	} {
		if got := embed(body); got.Code != http.StatusUnprocessableEntity || got.Text("error.param") != field || got.Text("error.type") != "invalid_request_error" {
			t.Errorf("%.60s: %d %s", body, got.Code, got.Body)
		}
	}
	named := embed(`{"model":"text-embedding-3-small","input":["A ferry.","A boat."]}`).Want(http.StatusOK)
	if named.Text("model") != "text-embedding-3-small" || !reflect.DeepEqual(named.At("data"), plain.At("data")) {
		t.Errorf("another name: %s", named.Body)
	}
	if got := embed(`{"model":"text-embedding-3-large","input":"a"}`); got.Code != http.StatusNotFound || got.Text("error.code") != "model_not_found" {
		t.Errorf("a name that is not listed: %d %s", got.Code, got.Body)
	}
	if got := b.Call(t, "writer", "POST", "/v1/embeddings", `{"input":"a"}`); got.Code != http.StatusForbidden || got.Text("error.code") != "forbidden" {
		t.Errorf("%d %s", got.Code, got.Body)
	}
}

// Each model can be read, and what OpenAI has and this gateway has not is refused in OpenAI's form. Our own routes
// answer with problem documents.
func TestModelsAndForeignPaths(t *testing.T) {
	t.Parallel()
	b, _ := apptest.Talking(t)
	for name, id := range map[string]string{"slipbox": "slipbox", "fake-1": "fake-1", "small@home": "small@home", "slipbox%40home": "slipbox@home"} {
		if got := b.Call(t, "reader", "GET", "/v1/models/"+name, "").Want(http.StatusOK); got.Text("id") != id || got.Text("object") != "model" {
			t.Errorf("%s: %s", name, got.Body)
		}
	}
	for _, name := range []string{"gpt-99", "*", "a%2Fb", "%20", "%ff"} {
		if got := b.Call(t, "reader", "GET", "/v1/models/"+name, ""); got.Code != http.StatusNotFound || got.Text("error.code") != "model_not_found" {
			t.Errorf("%s: %d %s", name, got.Code, got.Body)
		}
	}
	for path, openAI := range map[string]bool{
		"/v1/conversations": true, "/v1/responses/resp_1": true, "/v1/chat/completions/x": true, "/v1/embeddings/": true, "/v1/completions": true,
		"/v1/conversationsx": false, "/v1/files/x/y/z": false, "/v1/nothing": false,
	} {
		got := b.Call(t, "reader", "DELETE", path, "")
		if strings.HasPrefix(got.Body.String(), `{"error":{`) != openAI || got.Code != http.StatusNotFound {
			t.Errorf("%s: %d %s", path, got.Code, got.Body)
		}
	}
	if got := b.Call(t, "reader", "GET", "/v1/responses", ""); got.Code != http.StatusMethodNotAllowed || got.Text("error.code") != "method_not_allowed" {
		t.Errorf("%d %s", got.Code, got.Body)
	}
}

// A chat in OpenAI's forms finds its collection by the ids of an application, in a header or the model's name, and
// creates it where the caller may.
func TestChatByIDsOfAnApplication(t *testing.T) {
	t.Parallel()
	b, model := apptest.Talking(t)
	model.Always("", llmtest.Text("Well."))
	for path, body := range map[string]string{
		"/v1/chat/completions": `{"model":"MODEL","messages":[{"role":"user","content":"Hello."}]}`,
		"/v1/responses":        `{"model":"MODEL","input":"Hello."}`,
	} {
		ask := func(who, model string, header ...string) apptest.Response {
			return b.Call(t, who, "POST", path, strings.Replace(body, "MODEL", model, 1), header...)
		}
		user := "user=" + strings.Trim(strings.ReplaceAll(path, "/", "-"), "-") + "%40example.com"
		if got := ask("one", "slipbox", "Slipbox-External", user); got.Code != http.StatusNotFound || got.Text("error.code") != "not_found" {
			t.Errorf("%d %s", got.Code, got.Body)
		}
		if got := ask("reader", "slipbox", "Slipbox-External", user, "Slipbox-Create", "none"); got.Code != http.StatusForbidden {
			t.Errorf("%d %s", got.Code, got.Body)
		}
		if got := ask("one", "slipbox@"+user); got.Code != http.StatusNotFound || !strings.Contains(got.Text("error.message"), "Slipbox-Create: amem creates it") {
			t.Errorf("a new user: %d %s", got.Code, got.Body)
		}
		ask("one", "slipbox", "Slipbox-External", user, "Slipbox-Create", "none").Want(http.StatusOK)
		ask("one", "slipbox@"+user).Want(http.StatusOK)
		ask("one", "slipbox@new", "Slipbox-Create", "none").Want(http.StatusOK)
		ask("one", "slipbox@new").Want(http.StatusOK)
		ask("one", "fake-1@nowhere", "Slipbox-External", user).Want(http.StatusOK) // the header wins
		if log := b.Call(t, "one", "GET", "/v1/collections/by/messages?"+user, "").Want(http.StatusOK); log.Length("items") != 6 {
			t.Errorf("%s", log.Body)
		}
		filled := strings.ReplaceAll(strings.Replace(user, "-", "+", 1), "%40", "@") // as a program's template has it
		ask("one", "slipbox", "Slipbox-External", filled, "Slipbox-Create", "none").Want(http.StatusOK)
		ask("one", "slipbox@"+filled).Want(http.StatusOK)
		if log := b.Call(t, "one", "GET", "/v1/collections/by/messages?"+strings.ReplaceAll(filled, "+", "%2B"), ""); log.Length("items") != 4 {
			t.Errorf("%s: %d %s", filled, log.Code, log.Body)
		}
		if got := ask("two", "slipbox", "Slipbox-External", user); got.Code != http.StatusNotFound {
			t.Errorf("another tenant: %d %s", got.Code, got.Body)
		}
		for _, x := range []struct {
			model, field string
			header       []string
		}{
			{"slipbox", "Slipbox-External", []string{"Slipbox-External", user, "Slipbox-Collection", "home"}},
			{"slipbox", "Slipbox-External", []string{"Slipbox-External", user + "&color=red"}},
			{"slipbox", "Slipbox-External", []string{"Slipbox-External", "user=%zz"}},
			{"slipbox", "user", []string{"Slipbox-External", "user=" + strings.Repeat("a", 257)}},
			{"slipbox", "user", []string{"Slipbox-External", "user=a&user=b"}},
			{"slipbox", "user", []string{"Slipbox-External", "nora"}},
			{"slipbox@color=red", "user", nil},
			{"slipbox@user=100%@example.com", "model", nil},
			{"slipbox@user=a&color=red", "model", nil},
			{"slipbox", "Slipbox-Create", []string{"Slipbox-External", user + "x", "Slipbox-Create", "no-policy"}},
		} {
			if got := ask("one", x.model, x.header...); got.Code != http.StatusUnprocessableEntity || got.Text("error.param") != x.field {
				t.Errorf("%s %v: %d %s", x.model, x.header, got.Code, got.Body)
			}
		}
	}
}

// An answer in OpenAI's forms names the notes that it was written from. Without a model, tools are refused in a form
// that clients do not try again.
func TestCitationsInOpenAIsForms(t *testing.T) {
	t.Parallel()
	b, model := apptest.Talking(t)
	model.Always("", llmtest.Text("In Lisbon."))
	c := b.Collection(t, "one", "home")
	note := b.Call(t, "one", "POST", c+"/notes", `{"content":"I live in Lisbon.","infer":false}`).Want(http.StatusCreated).Text("note.id")
	for path, body := range map[string]string{"/v1/chat/completions": question, "/v1/responses": `{"input":"Where do I live?"}`} {
		for _, body := range []string{body, `{"stream":true,` + body[1:]} {
			got := b.Call(t, "reader", "POST", path, body, "Slipbox-Collection", "home").Want(http.StatusOK)
			if got.Header().Get("Slipbox-Citations") != note || got.Header().Get("Slipbox-Revision") == "" {
				t.Errorf("%s %s: %v", path, body, got.Header())
			}
		}
	}
	without := apptest.New(t)
	without.Collection(t, "one", "home")
	got := without.Call(t, "one", "POST", "/v1/responses", `{"input":"Hello.","tool_choice":"required","tools":[{"type":"function","name":"f","parameters":{}}]}`, "Slipbox-Collection", "home")
	if got.Code != http.StatusServiceUnavailable || got.Text("error.code") != "model_not_configured" || got.Header().Get("X-Should-Retry") != "false" {
		t.Errorf("%d %v %s", got.Code, got.Header(), got.Body)
	}
	model.Script("", llmtest.CutBody())
	if got := b.Call(t, "one", "POST", "/v1/responses", `{"input":"Where?","stream":true}`, "Slipbox-Collection", "home"); !strings.Contains(got.Body.String(), "event: error\ndata: {") || strings.Contains(got.Body.String(), "response.completed") {
		t.Errorf("%s", got.Body)
	}
	if log := b.Call(t, "one", "GET", c+"/messages", "").Want(http.StatusOK); log.Length("items") != 1 || log.Text("items.0.content") != "Where?" {
		t.Errorf("%s", log.Body)
	}
}
