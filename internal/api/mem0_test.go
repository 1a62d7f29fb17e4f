package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/api"
	"github.com/slipboxhq/slipbox/internal/api/contracttest"
	"github.com/slipboxhq/slipbox/internal/apptest"
	"github.com/slipboxhq/slipbox/internal/auth"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/test/must"
)

// callMem0 sends a request to the routes for mem0's clients, as they do. Every answer must match their contract.
func callMem0(t *testing.T, b *apptest.System, credential, method, target, body string) apptest.Response {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, "/mem0"+target, strings.NewReader(body))
	r.Header.Set("Authorization", "Token "+credential)
	r.Header.Set("Mem0-User-Id", "0123")
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	w := httptest.NewRecorder()
	b.ServeHTTP(w, r)
	conformsToMem0(t, method, r.URL.EscapedPath(), w)
	return apptest.Response{ResponseRecorder: w, T: t}
}

func conformsToMem0(t *testing.T, method, path string, w *httptest.ResponseRecorder) {
	t.Helper()
	if w.Code == http.StatusInternalServerError {
		t.Errorf("%s %s: %d %s", method, path, w.Code, w.Body)
	}
	if ct := w.Header().Get("Content-Type"); ct != "application/json" {
		t.Errorf("%s %s: content type %q", method, path, ct)
	}
	var value any
	if err := json.Unmarshal(w.Body.Bytes(), &value); err != nil {
		t.Fatalf("%s %s: %v: %s", method, path, err, w.Body)
	}
	if w.Code >= http.StatusBadRequest {
		m, _ := value.(map[string]any)
		detail, _ := m["detail"].(string)
		code, _ := m["code"].(string)
		if len(m) != 2 || detail == "" || code == "" {
			t.Errorf("%s %s: %d %s", method, path, w.Code, w.Body)
		}
		return
	}
	op := contracttest.OperationOf(t, method, path)
	if op == nil {
		return
	}
	documented := op.Responses.Status(w.Code)
	if documented == nil {
		t.Fatalf("%s answers %d, which is not documented: %s", op.ID, w.Code, w.Body)
	}
	if err := contracttest.Validate(documented.Value.Content["application/json"].Schema.Value, value); err != nil {
		t.Errorf("%s: the answer breaks its schema: %v\n%s", op.ID, err, w.Body)
	}
}

// addMem0 adds what a user says, and waits until it is learned.
func addMem0(t *testing.T, b *apptest.System, credential, ids, text string) apptest.Response {
	t.Helper()
	return callMem0(t, b, credential, "POST", "/memories", `{"messages":[{"role":"user","content":`+strconv.Quote(text)+`}],`+ids+`}`).Want(http.StatusOK)
}

// TestMem0 runs what a program with the platform's client does.
func TestMem0(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	ping := callMem0(t, b, "one", "GET", "/v1/ping/", "").Want(http.StatusOK)
	if ping.Text("status") != "ok" || ping.Text("org_id") != b.Scopes["one"].Scope.Tenant().String() || ping.Text("project_id") == "" {
		t.Errorf("ping: %s", ping.Body)
	}
	none := callMem0(t, b, "one", "POST", "/v3/memories/search/", `{"query":"Where does she live?","filters":{"user_id":"nora"}}`).Want(http.StatusOK)
	if none.Length("results") != 0 {
		t.Errorf("before the first add: %s", none.Body)
	}
	// As recorded: options put entities into filters, and pass on what nobody knows.
	added := callMem0(t, b, "one", "POST", "/v3/memories/add/", `{"messages":[{"role":"user","content":"I live in Oslo."}],"filters":{"user_id":"nora"},
		"agent_id":"guide","run_id":"r1","metadata":{"city":"Oslo","n":7},"timestamp":1767225600,"expiration_date":"2030-01-31","immutable":true,"version":"v2","async_mode":true,"new_option":{"x":1}}`).Want(http.StatusOK)
	event := added.Text("event_id")
	if added.Text("status") != "PENDING" || callMem0(t, b, "one", "GET", "/v1/event/"+event+"/", "").Want(200).Text("status") != "PENDING" {
		t.Errorf("add: %s", added.Body)
	}
	must.Get(b.Work(t.Context()))(t)
	done := callMem0(t, b, "one", "GET", "/v1/event/"+event+"/", "").Want(200)
	id := done.Text("results.0.id")
	if done.Text("status") != "SUCCEEDED" || done.Text("results.0.event") != "ADD" || id == "" {
		t.Fatalf("event: %s", done.Body)
	}
	if list := callMem0(t, b, "one", "GET", "/v1/events/", "").Want(200); list.Length("results") != 1 || list.Text("results.0.id") != event {
		t.Errorf("events: %s", list.Body)
	}
	got := callMem0(t, b, "one", "GET", "/v1/memories/"+id+"/", "").Want(200)
	for path, want := range map[string]string{
		"id": id, "user_id": "nora", "agent_id": "guide", "run_id": "r1", "metadata.city": "Oslo", "expiration_date": "2030-01-31",
	} {
		if got.Text(path) != want {
			t.Errorf("%s is %q: %s", path, got.Text(path), got.Body)
		}
	}
	if !strings.Contains(got.Body.String(), `"app_id":null`) {
		t.Errorf("what is absent is null: %s", got.Body)
	}
	callMem0(t, b, "one", "POST", "/v3/memories/add/", `{"messages":[{"role":"user","content":"I moved to Rome."}],"user_id":"nora"}`).Want(http.StatusOK)
	must.Get(b.Work(t.Context()))(t)
	search := callMem0(t, b, "one", "POST", "/v3/memories/search/", `{"query":"Where does she live?","filters":{"user_id":"nora"},"threshold":0,"output_format":"v1.1"}`).Want(200)
	if texts := strings.Join(search.Texts("results.*.memory"), " "); !strings.Contains(texts, "“I moved to Rome.”") || !strings.Contains(texts, "“I live in Oslo.”") {
		t.Errorf("without a model what was said before stays: %s", search.Body)
	}
	// An add of several exchanges is one event.
	event = callMem0(t, b, "one", "POST", "/v3/memories/add/", `{"user_id":"bea","messages":[{"role":"user","content":"I play chess."},{"role":"assistant","content":"Nice."},
		{"role":"user","content":"My dog is called Rex."},{"role":"assistant","content":"Hello Rex."},{"role":"user","content":"I work as a nurse."}]}`).Want(200).Text("event_id")
	must.Get(b.Work(t.Context()))(t)
	done = callMem0(t, b, "one", "GET", "/v1/event/"+event+"/", "").Want(200)
	texts := strings.Join(done.Texts("results.*.memory"), " ")
	if chess, dog, nurse := strings.Index(texts, "chess"), strings.Index(texts, "Rex"), strings.Index(texts, "nurse"); chess < 0 || dog < chess || nurse < dog {
		t.Errorf("the event of an add with three exchanges: %s", done.Body)
	}
	list := callMem0(t, b, "one", "GET", "/v1/events/", "").Want(200)
	if list.Length("results") != 3 || list.Text("results.0.id") != event || list.Length("results.0.results") != done.Length("results") {
		t.Errorf("events: %s", list.Body)
	}
}

// TestMem0Filters: a filter is understood as a whole, or refused.
func TestMem0Filters(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	for _, one := range []struct{ ids, text string }{
		{`"user_id":"ann","agent_id":"x","metadata":{"n":1,"tag":"Work"}`, "I like jazz."}, {`"user_id":"ann","agent_id":"y","metadata":{"n":2}`, "I play chess."},
		{`"user_id":"ann"`, "My dog is called Rex."}, {`"user_id":"bea","agent_id":"x"`, "I work as a nurse."}, {`"agent_id":"x"`, "I like tea."}, {`"run_id":"r","app_id":"web"`, "I like rain."},
	} {
		callMem0(t, b, "one", "POST", "/v3/memories/add/", `{"infer":false,"messages":`+strconv.Quote(one.text)+`,`+one.ids+`}`).Want(200)
		b.Pass(time.Hour)
	}
	jazz, chess, dog, nurse, tea, rain := "I like jazz.", "I play chess.", "My dog is called Rex.", "I work as a nurse.", "I like tea.", "I like rain."
	for filters, want := range map[string][]string{
		`{"user_id":"ann"}`:                                                                {dog, chess, jazz},
		`{"userId":"ann"}`:                                                                 {dog, chess, jazz},
		`{"user_id":"ann","agent_id":"x"}`:                                                 {jazz},
		`{"user_id":"ann","agentId":{"ne":"x"}}`:                                           {dog, chess},
		`{"user_id":"ann","agent_id":"*"}`:                                                 {chess, jazz},
		`{"user_id":"ann","agent_id":null}`:                                                {dog},
		`{"user_id":"ann","agent_id":{"contains":"y"}}`:                                    {chess},
		`{"user_id":"ann","NOT":[{"agent_id":"x"},{"agent_id":"y"}]}`:                      {dog},
		`{"AND":[{"user_id":"ann"},{"OR":[{"agent_id":"x"},{"agent_id":"y"}]}]}`:           {chess, jazz},
		`{"OR":[{"user_id":"ann"},{"user_id":"bea"}]}`:                                     {nurse, dog, chess, jazz},
		`{"user_id":{"in":["ann","bea","zoe"]}}`:                                           {nurse, dog, chess, jazz},
		`{"user_id":["ann","bea"],"agent_id":"x"}`:                                         {nurse, jazz},
		`{"AND":[{"OR":[{"user_id":"ann"},{"agent_id":"x"}]},{"agent_id":"x"}]}`:           {tea, jazz},
		`{"OR":[{"AND":[{"user_id":"ann"},{"agent_id":"y"}]},{"user_id":"bea"}]}`:          {nurse, chess},
		`{"AND":[{"user_id":"ann"},{"user_id":"bea"}]}`:                                    nil,
		`{"agent_id":"x"}`:                                                                 {tea},
		`{"agent_id":"x","user_id":"*"}`:                                                   nil,
		`{"app_id":"web"}`:                                                                 {rain},
		`{"run_id":"r"}`:                                                                   nil, // the app comes before the run
		`{"user_id":"nobody"}`:                                                             nil,
		`{"user_id":"ann","metadata":{"n":1}}`:                                             {jazz},
		`{"user_id":"ann","metadata":{"n":{"gte":1,"lt":2}}}`:                              {jazz},
		`{"user_id":"ann","metadata":{"n":{"in":[2,3]}}}`:                                  {chess},
		`{"user_id":"ann","metadata":{"tag":{"contains":"or"}}}`:                           {jazz},
		`{"user_id":"ann","metadata":{"tag":{"contains":"OR"}}}`:                           nil,
		`{"user_id":"ann","metadata":{"tag":{"icontains":"wOR"}}}`:                         {jazz},
		`{"user_id":"ann","agent_id":{"icontains":"X"}}`:                                   {jazz},
		`{"user_id":"ann","AND":[{"user_id":{"icontains":"AN"}}]}`:                         {dog, chess, jazz},
		`{"user_id":"ann","AND":[{"user_id":{"icontains":"BE"}}]}`:                         nil,
		`{"user_id":"ann","created_at":{"gte":"2026-03-01T09:30:00Z","lte":"2026-03-02"}}`: {dog, chess},
		`{"user_id":"ann","created_at":{"lt":1772355600}}`:                                 nil,
		`{"user_id":"ann","categories":{"contains":"x"}}`:                                  nil,
		`{"user_id":"ann","metadata":{}}`:                                                  {dog, chess, jazz},
		`{"user_id":"ann","tag":{"nin":["Work"]}}`:                                         {dog, chess},
		`{"user_id":"ann","metadata":{"n":{"nin":[1,3],"gt":0}}}`:                          {chess},
		`{"user_id":"ann","agent_id":{"nin":["x"]}}`:                                       {dog, chess},
		`{"and":[{"user_id":"ann"},{"or":[{"agent_id":"x"},{"agent_id":"y"}]}]}`:           {chess, jazz},
		`{"user_id":"ann","not":[{"agent_id":"x"}],"AND":[{"not":{"tag":"x"}}]}`:           nil, // an object is metadata
		`{"user_id":"ann","and":["x"]}`:                                                    nil,
	} {
		list := callMem0(t, b, "one", "POST", "/v3/memories/", `{"filters":`+filters+`}`).Want(200)
		if got := list.Texts("results.*.memory"); !slices.Equal(got, want) || list.Number("count") != float64(len(want)) {
			t.Errorf("%s: %q, want %q: %s", filters, got, want, list.Body)
		}
		search := callMem0(t, b, "one", "POST", "/v2/memories/search/", `{"query":"I like","threshold":0,"top_k":50,"filters":`+filters+`,"output_format":"v1.1"}`).Want(200)
		for _, text := range search.Texts("results.*.memory") {
			if !slices.Contains(want, text) {
				t.Errorf("%s: %q was found", filters, text)
			}
		}
	}
	many := `"` + strings.Repeat(`u","`, 51)
	for i := range 51 {
		many = strings.Replace(many, `"u"`, `"u`+strconv.Itoa(i)+`"`, 1)
	}
	for _, filters := range []string{
		// mem0's four leaks: what names nobody is nobody's.
		`{}`, `{"user_id":"*"}`, `{"AND":[{"user_id":"*"}]}`, `{"OR":[{"user_id":"ann"},{"agent_id":"*"}]}`, `{"NOT":[{"user_id":"ann"}]}`,
		`{"user_id":{"ne":"ann"}}`, `{"user_id":{"contains":"a"}}`, `{"user_id":{"icontains":"a"}}`, `{"user_id":["*"]}`, `{"user_id":null}`, `{"metadata":{"n":1}}`, `{"created_at":{"gte":"2020-01-01"}}`,
		// What is not known.
		`{"user_id":"ann","AND":{}}`, `{"user_id":"ann","AND":[]}`, `{"user_id":"ann","OR":[{}]}`, `{"user_id":"ann","agent_id":{"like":"x"}}`,
		`{"user_id":"ann","agent_id":{"gt":"x"}}`, `{"user_id":"ann","agent_id":{}}`, `{"user_id":7}`, `{"user_id":""}`, `{"user_id":"a\u0007"}`, `{"user_id":"ann","metadata":{"n":{}}}`,
		`{"user_id":"ann","metadata":{"n":{"gt":true}}}`, `{"user_id":"ann","metadata":{"n":{"eq":[1]}}}`, `{"user_id":"ann","created_at":"soon"}`, `{"user_id":"ann","created_at":{"icontains":"2026"}}`,
		`{"user_id":{"in":[]}}`, `{"user_id":{"in":[` + strings.TrimSuffix(many, `,"`) + `]}}`, `{"user_id":"ann","NOT":"x"}`, `{"and":"ann"}`, `{"user_id":"` + strings.Repeat("x", 257) + `"}`,
		strings.Repeat(`{"AND":[`, 20) + `{"user_id":"ann"}` + strings.Repeat(`]}`, 20),
	} {
		for _, call := range []string{"/v3/memories/", "/v3/memories/search/", "/v2/memories/", "/search", "/v1/memories/search/"} {
			if got := callMem0(t, b, "one", "POST", call, `{"query":"I like","filters":`+filters+`}`); got.Code != http.StatusBadRequest {
				t.Errorf("%s %s: %d %s", call, filters, got.Code, got.Body)
			}
		}
	}
}

// When a memory was changed last is what is shown: the time of what it tells, and when a caller changed it afterwards.
func TestMem0UpdatedAt(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	callMem0(t, b, "one", "POST", "/v3/memories/add/", `{"infer":false,"user_id":"ann","messages":"I live in Rome.","timestamp":1714560000}`).Want(200)
	found := func(filter string) int {
		return len(callMem0(t, b, "one", "POST", "/v3/memories/", `{"filters":{"user_id":"ann","updated_at":`+filter+`}}`).Want(200).Texts("results.*.memory"))
	}
	for filter, want := range map[string]int{`{"lte":"2024-12-31"}`: 1, `{"lte":"2024-05-01"}`: 1, `{"lt":"2024-05-01"}`: 0, `{"gte":"2026-01-01"}`: 0} {
		if got := found(filter); got != want {
			t.Errorf("%s: %d memories, want %d", filter, got, want)
		}
	}
	callMem0(t, b, "one", "POST", "/v1/memories/", `{"user_id":"ben","async_mode":false,"messages":[{"role":"user","content":"I live in Bergen with two cats."}],"timestamp":1714560000}`).Want(200)
	learned := callMem0(t, b, "one", "POST", "/v3/memories/", `{"filters":{"user_id":"ben"}}`).Want(200)
	id, was := learned.Text("results.0.id"), learned.Text("results.0.updated_at")
	b.Pass(time.Hour)
	callMem0(t, b, "one", "PUT", "/v1/memories/"+id+"/", `{"text":"Ben lives in Oslo with two cats."}`).Want(200)
	now := callMem0(t, b, "one", "GET", "/v1/memories/"+id+"/", "").Want(200).Text("updated_at")
	if !strings.HasPrefix(was, "2024-05-01") || !strings.HasPrefix(now, "2026-") {
		t.Errorf("changed at %s, before at %s", now, was)
	}
}

// A metadata key at the top level, nested metadata, updated_at, keywords and memory_ids select what they say.
func TestMem0MoreFilters(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	ids := map[string]string{}
	for _, one := range []struct{ extra, text string }{
		{`,"metadata":{"food":"x","n":5,"who":{"team":"a","lead":{"name":"Zoe"}}}`, "I eat Pizza on Fridays."}, {`,"metadata":{"food":"y","who":{"team":"b"}}`, "Bob likes rain."}, {"", "C: 42 €."},
	} {
		got := callMem0(t, b, "one", "POST", "/v3/memories/add/", `{"infer":false,"user_id":"ann","messages":`+strconv.Quote(one.text)+one.extra+`}`).Want(200)
		ids[one.text] = got.Text("results.0.id")
		b.Pass(time.Hour)
	}
	hindi := "मैं पुणे में रहता हूँ।"
	callMem0(t, b, "one", "POST", "/v3/memories/add/", `{"infer":false,"user_id":"ravi","messages":`+strconv.Quote(hindi)+`}`).Want(200)
	pizza, bob, c := "I eat Pizza on Fridays.", "Bob likes rain.", "C: 42 €."
	callMem0(t, b, "one", "PUT", "/v1/memories/"+ids[bob]+"/", `{"metadata":{"food":"y","who":{"team":"b"},"seen":true}}`).Want(200)
	b.Pass(time.Hour)
	for filters, want := range map[string][]string{
		`"food":"x"`:                      {pizza},
		`"food":{"ne":"x"}`:               {c, bob},
		`"food":["x","y"]`:                {bob, pizza},
		`"food":"*"`:                      {bob, pizza},
		`"food":null`:                     {c},
		`"n":{"gte":5}`:                   {pizza},
		`"seen":true`:                     {bob},
		`"colour":"red"`:                  nil,
		`"metadata":{"who":{"team":"a"}}`: {pizza},
		`"metadata":{"who":{"team":"a","lead":{"name":{"icontains":"zo"}}}}`: {pizza},
		`"who":{"lead":{"name":"Zoe"}}`:                                      {pizza},
		`"metadata.food":"y"`:                                                {bob},
		`"keywords":{"contains":"Pizza"}`:                                    {pizza},
		`"keywords":{"icontains":"PIZZA"}`:                                   {pizza},
		`"keywords":"rain"`:                                                  {bob},
		`"keywords":{"in":["rain","Pizza"]}`:                                 {bob, pizza},
		`"keywords":{"contains":"tea"}`:                                      nil,
		`"NOT":[{"keywords":{"icontains":"pizza"}}]`:                         {c, bob},
		`"OR":[{"keywords":"rain"},{"food":"x"}]`:                            {bob, pizza},
		`"updated_at":{"gte":"2026-03-01T11:30:00Z"}`:                        {bob},
		`"updated_at":{"lt":"2026-03-01T09:30:00Z"}`:                         {pizza},
		`"updated_at":{"lt":1772357400000}`:                                  {pizza},
		`"memory_ids":["` + ids[bob] + `"]`:                                  {bob},
		`"memory_ids":{"in":["` + ids[bob] + `","` + ids[c] + `"]}`:          {c, bob},
		`"memory_ids":"` + ids[c] + `"`:                                      {c},
		`"NOT":[{"memory_ids":["` + ids[c] + `"]}]`:                          {bob, pizza},
		`"memory_ids":["01a1fdda-ccd6-713d-97db-eda78326c93a"]`:              nil,
	} {
		body := `{"user_id":"ann",` + filters + `}`
		list := callMem0(t, b, "one", "POST", "/v3/memories/", `{"filters":`+body+`}`).Want(200)
		if got := list.Texts("results.*.memory"); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", filters, got, want)
		}
		search := callMem0(t, b, "one", "POST", "/v3/memories/search/", `{"query":"pizza rain 42","threshold":0,"top_k":50,"filters":`+body+`}`).Want(200)
		got := search.Texts("results.*.memory")
		slices.Sort(got)
		if sorted := slices.Sorted(slices.Values(want)); !slices.Equal(got, sorted) {
			t.Errorf("a search with %s: %q, want %q", filters, got, want)
		}
	}
	list := callMem0(t, b, "one", "POST", "/v3/memories/", `{"filters":{"user_id":"ravi","keywords":"पुणे"}}`).Want(200)
	if got := list.Texts("results.*.memory"); !slices.Equal(got, []string{hindi}) {
		t.Errorf("a word with vowels as marks: %q", got)
	}
	for _, filters := range []string{`"updated_at":"soon"`, `"keywords":{"gt":"a"}`, `"keywords":7`, `"memory_ids":[7]`, `"memory_ids":[]`, `"food":{"eq":{"a":1}}`} {
		if got := callMem0(t, b, "one", "POST", "/v3/memories/", `{"filters":{"user_id":"ann",`+filters+`}}`); got.Code != http.StatusBadRequest {
			t.Errorf("%s: %d %s", filters, got.Code, got.Body)
		}
	}
	callMem0(t, b, "one", "DELETE", "/v1/memories/?user_id=ann&filters="+url.QueryEscape(`{"keywords":"rain"}`), "").Want(200)
	if got := callMem0(t, b, "one", "POST", "/v3/memories/", `{"filters":{"user_id":"ann"}}`).Texts("results.*.memory"); !slices.Equal(got, []string{c, pizza}) {
		t.Errorf("after a deletion: %q", got)
	}
}

// Texts are read in all forms that programs send, and what cannot be read is counted.
func TestMem0ReadsAllForms(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	add := func(user, messages, more string) apptest.Response {
		return callMem0(t, b, "one", "POST", "/v3/memories/add/", `{"infer":false,"user_id":"`+user+`","messages":`+messages+more+`}`)
	}
	stored := func(got apptest.Response) []string {
		return got.Texts("results.*.memory")
	}
	image := `{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}`
	for messages, want := range map[string]struct {
		texts  []string
		unread any
	}{
		`[{"role":"user","content":[{"type":"text","text":"A."},` + image + `]}]`: {[]string{"A."}, 1.0},
		`[{"role":"user","content":"A."},{"role":"assistant","content":[{"type":"text","text":"B."},{"type":"tool_use","id":"t","name":"f","input":{}}]},
		  {"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"C."}]}]}]`: {[]string{"A.", "B.", "C."}, 1.0},
		`[{"role":"user","content":[{"type":"input_text","text":"A."}]},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"B."}]}]`:      {[]string{"A.", "B."}, nil},
		`[{"role":"assistant","content":null,"tool_calls":[]},{"role":"human","content":"A."},{"role":"ai","content":"B."},{"type":"HumanMessage","content":"C."}]`: {[]string{"A.", "B.", "C."}, nil},
		`["A.",{"content":"B."},7,null,{"role":"narrator","content":"x"}]`:                                                                                          {[]string{"A.", "B."}, 3.0},
		`[{"role":"model","parts":[{"text":"A."}]}]`: {[]string{"A."}, nil},
		`[{"role":"assistant","content":"<think>hm</think>B."},{"role":"user","content":"Look: data:image/png;base64,AAAA"}]`: {
			[]string{"[left out: thinking]B.", "Look: [left out: image/png, 4 bytes]"}, nil},
	} {
		got := add("u", messages, "").Want(200)
		if texts := stored(got); !slices.Equal(texts, want.texts) || got.At("unread") != want.unread {
			t.Errorf("%s: %q, want %q; unread %v, want %v", messages, texts, want.texts, got.At("unread"), want.unread)
		}
	}
	for _, messages := range []string{`[]`, `[{"role":"user","content":[` + image + `]}]`, `[7]`, `[{"role":"narrator","content":"x"}]`, `[{"role":"user","content":" "}]`} {
		if got := add("u", messages, ""); got.Code != http.StatusBadRequest {
			t.Errorf("%s: %d", messages, got.Code)
		}
	}
	learned := callMem0(t, b, "one", "POST", "/v3/memories/add/", `{"user_id":"v","messages":[{"role":"user","content":[{"type":"text","text":"I live in Oslo."},`+image+`]}]}`).Want(200)
	if learned.At("unread") != 1.0 {
		t.Errorf("%s", learned.Body)
	}
	for i, at := range []string{"1710000000", "1710000000000", "1710000000000000", `"1710000000"`, `"1710000000000"`, `"2024-03-09T16:00:00Z"`} {
		user := fmt.Sprintf("t%d", i)
		add(user, `"At a time."`, `,"timestamp":`+at).Want(200)
		filters := `{"filters":{"user_id":"` + user + `","timestamp":{"gte":"2024-03-09","lt":"2024-03-10"}}}`
		if got := callMem0(t, b, "one", "POST", "/v3/memories/", filters).Texts("results.*.memory"); len(got) != 1 {
			t.Errorf("%s is another time", at)
		}
	}
}

// Lists are by the time that they show, the newest first, whenever a memory was written.
func TestMem0ListsByTime(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	for text, at := range map[string]string{"Third.": "2023-11-01", "First.": "2025-10-01", "Second.": "2024-10-01"} {
		callMem0(t, b, "one", "POST", "/v3/memories/add/", `{"infer":false,"user_id":"ann","messages":"`+text+`","timestamp":"`+at+`T10:00:00Z"}`).Want(200)
	}
	for _, size := range []string{"?page_size=3", "?page=1&page_size=2"} {
		got := callMem0(t, b, "one", "POST", "/v3/memories/"+size, `{"filters":{"user_id":"ann"}}`).Want(200).Texts("results.*.memory")
		if want := []string{"First.", "Second.", "Third."}[:len(got)]; len(got) < 2 || !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", size, got, want)
		}
	}
}

// TestMem0NeverDeletesAll: a delete says of whom, in a form that is understood.
func TestMem0NeverDeletesAll(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	for ids, text := range map[string]string{
		`"user_id":"ann","agent_id":"x"`: "I like jazz.", `"user_id":"ann","run_id":"1"`: "My dog is called Rex.", `"user_id":"bea"`: "I live in Oslo.", `"agent_id":"x"`: "I play chess.",
	} {
		addMem0(t, b, "one", ids, text)
	}
	count := func(filters string) int {
		return callMem0(t, b, "one", "POST", "/v3/memories/", `{"filters":`+filters+`}`).Want(200).Length("results")
	}
	for _, query := range []string{
		"", "?user_id=", "?user_id=*", "?user_id=ann&agent_id=*", "?filters=", "?filters=%7B%7D", "?filters=all", "?filters=%7B%27user_id%27%3A", "?filters=%7B%27user_id%27%3A+%27*%27%7D", "?filters=%7B%27NOT%27%3A+%5B%7B%27user_id%27%3A+%27ann%27%7D%5D%7D",
		"?filters=%7Buser_id%3A+%27ann%27%7D", "?filters=" + url.QueryEscape(`{'user_id': 'ann'} or 1`), "?filters=" + url.QueryEscape(`{'user_id': 'ann', 'user_id': 'bea'}`), "?filters=" + url.QueryEscape(`{'user_id': 'ann', 'color': 1}`),
		"?filters=" + url.QueryEscape(`{'user_id': 'ann', 'NOT': [{'OR': [{'color': 1}]}]}`),
		"?filters=" + url.QueryEscape(`{"user_id":"ann","metadata":{}}`), "?filters=" + url.QueryEscape(`{"user_id":"ann","or":[{"color":1}]}`),
		"?filters=" + url.QueryEscape(`None`), "?filters=" + url.QueryEscape(`['user_id']`), "?user_id=ann&filters=x",
	} {
		if got := callMem0(t, b, "one", "DELETE", "/v1/memories/"+query, ""); got.Code != 400 && got.Code != 422 {
			t.Errorf("%q: %d %s", query, got.Code, got.Body)
		}
		if got := callMem0(t, b, "one", "DELETE", "/memories"+query, ""); got.Code != 400 && got.Code != 422 {
			t.Errorf("%q: %d %s", query, got.Code, got.Body)
		}
	}
	callMem0(t, b, "one", "DELETE", "/v1/memories/?user_id=ann&older_than=1", "").Want(422)
	if count(`{"user_id":["ann","bea"]}`) != 3 || count(`{"agent_id":"x"}`) != 1 {
		t.Fatal("something was deleted")
	}
	callMem0(t, b, "one", "DELETE", "/v1/memories/?user_id=ann&agent_id=x", "").Want(200)
	if count(`{"user_id":"ann","agent_id":"x"}`) != 0 || count(`{"user_id":"ann","run_id":"1"}`) == 0 || count(`{"agent_id":"x"}`) == 0 {
		t.Error("a delete by user and agent deletes what has both")
	}
	messages := b.Call(t, "one", "GET", "/v1/collections/by/messages?user=ann", "").Want(200)
	if n := strings.Count(messages.Body.String(), `"agent_id"`); n != 0 {
		t.Errorf("messages of the agent are left: %s", messages.Body)
	}
	// As the Python client sends typed options.
	callMem0(t, b, "one", "DELETE", "/v1/memories/?filters=%7B%27user_id%27%3A+%27ann%27%7D", "").Want(200)
	if count(`{"user_id":"ann"}`) != 0 || count(`{"user_id":"bea"}`) == 0 {
		t.Error("a delete by user deletes the user's")
	}
	callMem0(t, b, "one", "DELETE", "/v1/memories/?user_id=ann", "").Want(200)
	b.Call(t, "one", "GET", "/v1/collections/by?user=ann", "").Want(404)
	if again := addMem0(t, b, "one", `"user_id":"ann"`, "I like tea."); again.Length("results") == 0 {
		t.Errorf("an add after the delete: %s", again.Body)
	}
	callMem0(t, b, "one", "POST", "/reset", "").Want(403)
	callMem0(t, b, "one", "POST", "/configure", `{"version":"v1.1"}`).Want(403)
}

// TestMem0Isolation: a key reaches through these routes what it reaches through all others, and no more (C8).
func TestMem0Isolation(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	id := addMem0(t, b, "ada", `"user_id":"nora"`, "I live in Oslo.").Text("results.0.id")
	event := callMem0(t, b, "ada", "POST", "/v3/memories/add/", `{"messages":"I like jazz.","user_id":"nora"}`).Want(200).Text("event_id")
	absent := uuid.NewString()
	for _, other := range []string{"bob", "two"} {
		for _, filters := range []string{`{"user_id":"nora"}`, `{"user_id":["nora","bea"]}`} {
			for _, call := range []string{"/v3/memories/", "/v3/memories/search/"} {
				if got := callMem0(t, b, other, "POST", call, `{"query":"Oslo","threshold":0,"filters":`+filters+`}`).Want(200); got.Length("results") != 0 {
					t.Errorf("%s reads %s", other, got.Body)
				}
			}
		}
		for _, call := range [][3]string{
			{"GET", "/v1/memories/ID/", ""}, {"PUT", "/v1/memories/ID/", `{"text":"x"}`}, {"DELETE", "/v1/memories/ID/", ""}, {"GET", "/v1/memories/ID/history/", ""},
			{"GET", "/memories/ID", ""}, {"PUT", "/memories/ID", `{"text":"x"}`}, {"DELETE", "/memories/ID", ""}, {"GET", "/memories/ID/history", ""},
			{"PUT", "/v1/batch/", `{"memories":[{"memory_id":"ID","text":"x"}]}`}, {"DELETE", "/v1/batch/", `{"memories":[{"memory_id":"ID"}]}`}, {"GET", "/v1/event/EV/", ""},
			{"DELETE", "/v2/entities/user/nora/", ""}, {"DELETE", "/v1/entities/user/nora/", ""}, {"GET", "/v2/entities/user/nora/profile/", ""},
		} {
			got := callMem0(t, b, other, call[0], strings.NewReplacer("ID", id, "EV", event).Replace(call[1]), strings.ReplaceAll(call[2], "ID", id)).Want(404)
			missing := callMem0(t, b, other, call[0], strings.NewReplacer("ID", absent, "EV", absent, "nora", "nobody").Replace(call[1]), strings.ReplaceAll(call[2], "ID", absent)).Want(404)
			if got.Body.String() != missing.Body.String() {
				t.Errorf("%s %v: %s, and for what does not exist %s", other, call, got.Body, missing.Body)
			}
		}
		for _, query := range []string{"?user_id=nora"} {
			callMem0(t, b, other, "DELETE", "/v1/memories/"+query, "").Want(200)
		}
		if got := callMem0(t, b, other, "GET", "/v1/entities/", "").Want(200); got.Length("results") != 0 {
			t.Errorf("%s sees %s", other, got.Body)
		}
		if got := callMem0(t, b, other, "GET", "/v1/events/", "").Want(200); got.Length("results") != 0 {
			t.Errorf("%s sees %s", other, got.Body)
		}
	}
	// The ids are the tenant's: another agent cannot take them, and another tenant has its own.
	callMem0(t, b, "bob", "POST", "/v3/memories/add/", `{"messages":"I live in Rome.","user_id":"nora"}`).Want(409)
	addMem0(t, b, "two", `"user_id":"nora"`, "I live in Lima.")
	if got := callMem0(t, b, "ada", "GET", "/v1/memories/"+id+"/", "").Want(200); got.Text("memory") == "" {
		t.Errorf("ada's own: %s", got.Body)
	}
	if got := callMem0(t, b, "one", "GET", "/v1/entities/", "").Want(200); got.Length("results") != 1 || got.Text("results.0.name") != "nora" || got.Text("results.0.type") != "user" {
		t.Errorf("entities: %s", got.Body)
	}
	for _, call := range [][3]string{
		{"POST", "/v3/memories/add/", `{"messages":"x","user_id":"u"}`}, {"PUT", "/v1/memories/" + id + "/", `{"text":"x"}`}, {"DELETE", "/v1/memories/" + id + "/", ""}, {"DELETE", "/v1/memories/?user_id=nora", ""},
		{"DELETE", "/v2/entities/user/nora/", ""}, {"DELETE", "/v1/entities/user/nora/", ""}, {"DELETE", "/v1/batch/", `{"memories":[{"memory_id":"` + id + `"}]}`}, {"POST", "/memories", `{"messages":"x","user_id":"u","infer":false}`},
	} {
		callMem0(t, b, "reader", call[0], call[1], call[2]).Want(403)
	}
	callMem0(t, b, "writer", "POST", "/v3/memories/search/", `{"query":"x","filters":{"user_id":"nora"}}`).Want(403)
	callMem0(t, b, "writer", "POST", "/v3/memories/add/", `{"messages":"x","user_id":"new"}`).Want(403) // it may not create collections
}

// TestMem0Credentials: a key in any of three headers, as under /v1, and refusals in mem0's form on every path.
func TestMem0Credentials(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	for header, want := range map[string]int{
		"Authorization: Token one": 200, "Authorization: Bearer one": 200, "Authorization: token one": 200, "X-API-Key: one": 200, "Authorization: Basic one": 401, "Authorization: Token": 401,
		"Authorization: Token nobody": 401, "X: y": 401,
	} {
		name, value, _ := strings.Cut(header, ": ")
		for _, path := range []string{"/v1/ping/", "/v1/entities/", "/memories?user_id=x"} {
			r := httptest.NewRequestWithContext(t.Context(), "GET", "/mem0"+path, http.NoBody)
			r.Header.Set(name, value)
			w := httptest.NewRecorder()
			b.ServeHTTP(w, r)
			conformsToMem0(t, "GET", r.URL.EscapedPath(), w)
			if w.Code != want {
				t.Errorf("%s %s: %d %s", header, path, w.Code, w.Body)
			}
		}
	}
	b.Call(t, "one", "GET", "/v1/collections", "", "Authorization", "Token one").Want(200)
	for path, want := range map[string]int{"/v1/nothing/": 404, "/v1/ping": 404, "/v3/memories": 404, "": 404, "/v1/memories/x": 404} {
		callMem0(t, b, "one", "GET", path, "").Want(want)
	}
	callMem0(t, b, "one", "PATCH", "/v1/memories/", "{}").Want(405)
	callMem0(t, b, "one", "POST", "/v3/memories/search/", `{"query":`).Want(400)
	callMem0(t, b, "one", "POST", "/v3/memories/search/", `{}`).Want(422)
	for _, call := range [][2]string{
		{"POST", "/v1/exports/"}, {"POST", "/v1/exports/get/"}, {"POST", "/v1/summary/"}, {"POST", "/v1/feedback/"}, {"POST", "/v2/profiles/jobs/"}, {"GET", "/v2/profiles/jobs/x/"}, {"POST", "/v2/profiles/settings/"},
		{"GET", "/api/v1/webhooks/projects/p/"}, {"POST", "/api/v1/webhooks/projects/p/"}, {"PUT", "/api/v1/webhooks/1/"}, {"DELETE", "/api/v1/webhooks/1/"}, {"PATCH", "/api/v1/orgs/organizations/o/projects/p/"},
		{"DELETE", "/api/v1/orgs/organizations/o/projects/p/"}, {"GET", "/api/v1/orgs/organizations/o/projects/"}, {"POST", "/api/v1/orgs/organizations/o/projects/"},
		{"GET", "/api/v1/orgs/organizations/o/projects/p/members/"}, {"POST", "/api/v1/orgs/organizations/o/projects/p/members/"}, {"PUT", "/api/v1/orgs/organizations/o/projects/p/members/"},
		{"DELETE", "/api/v1/orgs/organizations/o/projects/p/members/?email=a%40example.com"},
	} {
		callMem0(t, b, "one", call[0], call[1], `{"x":1}`).Want(501)
	}
	id := b.Scopes["one"].Scope.Tenant().String()
	callMem0(t, b, "one", "GET", "/api/v1/orgs/organizations/"+id+"/projects/"+id+"/?fields=custom_instructions", "").Want(200)
	callMem0(t, b, "one", "GET", "/api/v1/orgs/organizations/"+id+"/projects/other/", "").Want(404)
	callMem0(t, b, "one", "GET", "/v2/profiles/settings/", "").Want(200)
}

// TestMem0HostileIDs: ids are taken as they are (C313).
func TestMem0HostileIDs(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	for _, id := range []string{"auth0|x", "a/b", "../x", "..", "日本", "a+b c", "a%2Fb", "a?b#c", strings.Repeat("x", 256), strings.Repeat("日", 85)} {
		callMem0(t, b, "one", "POST", "/v3/memories/add/", `{"infer":false,"messages":"I like tea.","user_id":`+strconv.Quote(id)+`}`).Want(200)
		list := callMem0(t, b, "one", "GET", "/memories?user_id="+url.QueryEscape(id), "").Want(200)
		if list.Length("results") != 1 || list.Text("results.0.user_id") != id {
			t.Errorf("%q: %s", id, list.Body)
		}
		escaped := strings.ReplaceAll(url.QueryEscape(id), "+", "%20")
		if p := callMem0(t, b, "one", "GET", "/v2/entities/user/"+escaped+"/profile/", "").Want(200); p.Text("entity_id") != id {
			t.Errorf("%q: %s", id, p.Body)
		}
		callMem0(t, b, "one", "DELETE", "/v2/entities/user/"+escaped+"/", "").Want(200)
		callMem0(t, b, "one", "DELETE", "/v2/entities/user/"+escaped+"/", "").Want(404)
	}
	for _, id := range []string{strings.Repeat("x", 257), "a\n", "", "\u0085"} {
		if got := callMem0(t, b, "one", "POST", "/v3/memories/add/", `{"messages":"I like tea.","user_id":`+strconv.Quote(id)+`}`); got.Code != 422 {
			t.Errorf("%q: %d %s", id, got.Code, got.Body)
		}
	}
	for _, call := range []string{"/v3/memories/add/", "/v3/memories/search/", "/v3/memories/"} { // filters could not name it
		callMem0(t, b, "one", "POST", call, `{"infer":false,"messages":"I like tea.","query":"tea","user_id":"*"}`).Want(400)
	}
	callMem0(t, b, "one", "DELETE", "/v2/entities/robot/x/", "").Want(404)
	callMem0(t, b, "one", "GET", "/v1/memories/"+strings.Repeat("x", 300)+"/", "").Want(404)
	callMem0(t, b, "one", "GET", "/v1/memories/..%2Fx/", "").Want(404)
}

// Messages that are stored as they are come together or not at all: what one of them is refused for leaves neither the others nor a
// collection.
func TestMem0AddsAllOrNone(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	add := func(path string, texts ...string) apptest.Response {
		var list []map[string]any
		for _, text := range texts {
			list = append(list, map[string]any{"role": "user", "content": text})
		}
		return callMem0(t, b, "one", "POST", path, string(must.Get(json.Marshal(map[string]any{"infer": false, "user_id": "ayşe", "messages": list}))(t)))
	}
	for _, path := range []string{"/memories", "/v1/memories/", "/v3/memories/add/"} {
		refused := add(path, "Kedimin adı Boncuk.", strings.Repeat("é", memory.MaxContentBytes), "Ankara'da oturuyorum.").Want(422)
		if detail := refused.Text("detail"); !strings.HasPrefix(detail, "messages.1.content: ") {
			t.Errorf("%s: %s", path, detail)
		}
		if left := b.Call(t, "one", "GET", "/v1/collections", "").Want(200); left.Length("items") != 0 {
			t.Errorf("%s left %s", path, left.Body)
		}
		add(path, slices.Repeat([]string{"Evet."}, memory.MaxMessages+1)...).Want(422)
	}
	got := add("/memories", "Kedimin adı Boncuk.", "Ankara'da oturuyorum.", "Kedimin adı Boncuk.").Want(200)
	if events := got.Texts("results.*.event"); !slices.Equal(events, []string{"ADD", "ADD", "NONE"}) || got.Text("results.0.id") != got.Text("results.2.id") {
		t.Errorf("added: %s", got.Body)
	}
	add("/memories", "Yeni bir iş buldum.", strings.Repeat("é", memory.MaxContentBytes)).Want(422)
	if got := callMem0(t, b, "one", "GET", "/v1/memories/?user_id=ayşe", "").Want(200); strings.Contains(got.Body.String(), "Yeni") {
		t.Errorf("a refused list is stored: %s", got.Body)
	}
}

// TestMem0Memories: single memories, batches and pages.
func TestMem0Memories(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	var ids []string
	for i, text := range []string{"I like jazz.", "I play chess.", "My dog is called Rex."} {
		got := callMem0(t, b, "one", "POST", "/v3/memories/add/", `{"infer":false,"messages":`+strconv.Quote(text)+`,"user_id":"ann","metadata":{"i":`+strconv.Itoa(i)+`}}`).Want(200)
		if got.Text("results.0.event") != "ADD" || got.Text("results.0.memory") != text {
			t.Errorf("added: %s", got.Body)
		}
		ids = append(ids, got.Text("results.0.id"))
	}
	if again := callMem0(t, b, "one", "POST", "/memories", `{"infer":false,"messages":[{"role":"user","content":"I like jazz."},{"role":"system","content":"Be kind."},{"role":"assistant","content":null,"tool_calls":[]}],"user_id":"ann"}`).Want(200); again.Length("results") != 1 || again.Text("results.0.id") != ids[0] || again.Text("results.0.event") != "NONE" {
		t.Errorf("again: %s", again.Body)
	}
	page := callMem0(t, b, "one", "POST", "/v3/memories/?page=2&page_size=2", `{"filters":{"user_id":"ann"}}`).Want(200)
	if page.Length("results") != 1 || page.Number("count") != 3 || page.At("next") != nil || page.Text("previous") != "/mem0/v3/memories/?page=1&page_size=2" || page.Text("results.0.id") != ids[0] {
		t.Errorf("page: %s", page.Body)
	}
	if array := callMem0(t, b, "one", "GET", "/v1/memories/?user_id=ann", "").Want(200); !strings.HasPrefix(array.Body.String(), "[") {
		t.Errorf("the older form: %s", array.Body)
	}
	if v2 := callMem0(t, b, "one", "POST", "/v2/memories/", `{"filters":{"user_id":"ann"},"fields":["memory"]}`).Want(200); !strings.HasPrefix(v2.Body.String(), `[{"id":`) || strings.Contains(v2.Body.String(), "metadata") {
		t.Errorf("the older form: %s", v2.Body)
	}
	b.Pass(time.Minute)
	put := callMem0(t, b, "one", "PUT", "/v1/memories/"+ids[0]+"/", `{"text":"I love jazz.","metadata":{"j":1},"expiration_date":"2031-02-03","unknown":[]}`).Want(200)
	if put.Text("memory") != "I love jazz." || put.Text("expiration_date") != "2031-02-03" || put.Text("message") == "" {
		t.Errorf("put: %s", put.Body)
	}
	if put = callMem0(t, b, "one", "PUT", "/v1/memories/"+ids[0]+"/", `{"expiration_date":null}`).Want(200); put.At("expiration_date") != nil {
		t.Errorf("put: %s", put.Body)
	}
	callMem0(t, b, "one", "PUT", "/v1/memories/"+ids[0]+"/", `{"colour":"red"}`).Want(400)
	callMem0(t, b, "one", "PUT", "/v1/memories/"+ids[0]+"/", `{"expiration_date":"soon"}`).Want(400)
	callMem0(t, b, "one", "PUT", "/v1/batch/", `{"memories":[{"memory_id":"`+ids[1]+`","text":"I play go."},{"memory_id":"`+ids[2]+`","metadata":{"k":2}}]}`).Want(200)
	if got := callMem0(t, b, "one", "GET", "/memories/"+ids[1], "").Want(200); got.Text("memory") != "I play go." {
		t.Errorf("batch: %s", got.Body)
	}
	absent := uuid.NewString()
	if got := callMem0(t, b, "one", "DELETE", "/v1/batch/", `{"memories":[{"memory_id":"`+ids[1]+`"},{"memory_id":"`+absent+`"}]}`).Want(404); !strings.HasPrefix(got.Text("detail"), "memories.1:") {
		t.Errorf("batch: %s", got.Body)
	}
	callMem0(t, b, "one", "GET", "/memories/"+ids[1], "").Want(200) // nothing was deleted
	callMem0(t, b, "one", "DELETE", "/v1/batch/", `{"memories":[{"memory_id":"`+ids[1]+`"},{"memory_id":"`+ids[2]+`"}]}`).Want(200)
	callMem0(t, b, "one", "DELETE", "/v1/memories/"+ids[0]+"/?delete_linked=true", "").Want(200)
	callMem0(t, b, "one", "GET", "/v1/memories/"+ids[0]+"/", "").Want(404)
	history := callMem0(t, b, "one", "GET", "/v1/memories/"+ids[0]+"/history/", "").Want(200)
	var got []string
	for i := range 3 {
		got = append(got, fmt.Sprint(history.At(strconv.Itoa(i)+".event"), " ", history.At(strconv.Itoa(i)+".new_memory")))
	}
	if want := []string{"ADD I like jazz.", "UPDATE I love jazz.", "DELETE <nil>"}; !slices.Equal(got, want) || history.Text("1.old_memory") != "I like jazz." || history.Text("2.old_memory") != "I love jazz." {
		t.Errorf("history %q: %s", got, history.Body)
	}
	for body, status := range map[string]int{
		`{"user_id":"ann"}`: 422, `{"messages":[],"user_id":"ann"}`: 400, `{"messages":"  ","user_id":"ann"}`: 400, `{"messages":7,"user_id":"ann"}`: 400, `{"messages":[7],"user_id":"ann"}`: 400, `{"messages":"x"}`: 400,
		`{"messages":"x","user_id":"a","filters":{"user_id":"b"}}`: 400, `{"messages":"x","filters":{"OR":[{"user_id":"a"}]}}`: 400, `{"messages":"x","user_id":7}`: 422, `{"messages":"x","user_id":"a","timestamp":"soon"}`: 400,
		`{"messages":"x","user_id":"a","expiration_date":"2026"}`: 400, `{"messages":[{"role":"wizard","content":"x"}],"user_id":"a"}`: 400,
		`{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"x"}}]}],"user_id":"a"}`: 400, `{"messages":"x","user_id":"a","metadata":[]}`: 422,
	} {
		if got := callMem0(t, b, "one", "POST", "/v3/memories/add/", body); got.Code != status {
			t.Errorf("%s: %d %s", body, got.Code, got.Body)
		}
	}
	// A secret is redacted here as everywhere.
	secret := callMem0(t, b, "one", "POST", "/v3/memories/add/", `{"infer":false,"messages":"My key is sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD.","user_id":"sam"}`).Want(200)
	if strings.Contains(secret.Body.String(), "abcdefghijklm") || secret.Header().Get("Slipbox-Redacted") == "" {
		t.Errorf("secret: %s", secret.Body)
	}
}

// TestMem0FirstAddsAtOnce: of many first adds for a user, one creates the collection and all are stored (C313).
func TestMem0FirstAddsAtOnce(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	var wait sync.WaitGroup
	codes := make([]int, 20)
	for i := range codes {
		wait.Go(func() {
			w := httptest.NewRecorder()
			r := httptest.NewRequestWithContext(t.Context(), "POST", "/mem0"+"/memories", strings.NewReader(`{"infer":false,"messages":"I have `+strconv.Itoa(i)+` apples.","user_id":"nora@example.com"}`))
			r.Header.Set("X-Api-Key", "one")
			b.ServeHTTP(w, r)
			codes[i] = w.Code
		})
	}
	wait.Wait()
	list := callMem0(t, b, "one", "GET", "/memories?user_id=nora%40example.com", "").Want(200)
	collections := b.Call(t, "one", "GET", "/v1/collections?user=nora%40example.com", "").Want(200)
	if list.Length("results") != len(codes) || collections.Length("items") != 1 {
		t.Errorf("%v: %s, %s", codes, list.Body, collections.Body)
	}
}

// TestMem0RateLimit: a refusal for now says for how long, in the headers that the clients read.
func TestMem0RateLimit(t *testing.T) {
	t.Parallel()
	var limiter *tenant.Limiter
	b := apptest.New(t, func(b *apptest.System, d *api.Deps, _ *api.Config) {
		var err error
		if limiter, err = tenant.NewLimiter(b.Now, tenant.RateConfig{}); err != nil {
			t.Fatal(err)
		}
		d.Limiter = limiter
	})
	p := b.Scopes["one"]
	b.Scopes["slow"] = auth.Principal{Scope: p.Scope, Tenant: tenant.Tenant{Limits: tenant.Limits{RequestsPerMinute: 1}}}
	if first := callMem0(t, b, "slow", "GET", "/v1/ping/", "").Want(200); first.Header().Get("X-Ratelimit-Limit") != "1" {
		t.Errorf("headers: %v", first.Header())
	}
	second := callMem0(t, b, "slow", "GET", "/v1/ping/", "").Want(429)
	for _, name := range []string{"Retry-After", "X-Ratelimit-Limit", "X-Ratelimit-Remaining", "X-Ratelimit-Reset"} {
		if second.Header().Get(name) == "" {
			t.Errorf("no %s: %v", name, second.Header())
		}
	}
}

// Every deletion of mem0 can erase: of one memory, of a batch, of all that a filter selects.
func TestMem0Erases(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	for name, remove := range map[string]func(t *testing.T, ids []string){
		"one by one": func(t *testing.T, ids []string) {
			t.Helper()
			if got := callMem0(t, b, "one", "DELETE", "/v1/memories/"+ids[0]+"/?erase=true", "").Want(200); got.Text("traces") == "" {
				t.Errorf("one: %s", got.Body)
			}
			callMem0(t, b, "one", "DELETE", "/memories/"+ids[1]+"?erase=true", "").Want(200)
		},
		"a batch": func(t *testing.T, ids []string) {
			t.Helper()
			callMem0(t, b, "one", "DELETE", "/v1/batch/?erase=true", `{"memories":[{"memory_id":"`+ids[0]+`"},{"memory_id":"`+ids[1]+`"},{"memory_id":"`+ids[0]+`"}]}`).Want(200)
		},
		"each of a batch": func(t *testing.T, ids []string) {
			t.Helper()
			callMem0(t, b, "one", "DELETE", "/v1/batch/", `{"memories":[{"memory_id":"`+ids[0]+`","erase":true},{"memory_id":"`+ids[1]+`","erase":true}]}`).Want(200)
		},
		"a filter": func(t *testing.T, _ []string) {
			t.Helper()
			got := callMem0(t, b, "one", "DELETE", `/v1/memories/?user_id=a-filter&filters={"metadata":{"k.v":9007199254740993}}&erase=true`, "").Want(200)
			if got.Text("traces") == "" {
				t.Errorf("a filter: %s", got.Body)
			}
		},
	} {
		user := strings.ReplaceAll(name, " ", "-")
		var ids []string
		for _, said := range []string{"The code of the safe is 4711.", "The code of the shed is 4712."} {
			got := callMem0(t, b, "one", "POST", "/memories", `{"messages":[{"role":"user","content":"`+said+`"}],"user_id":"`+user+`","metadata":{"k.v":9007199254740993}}`).Want(200)
			ids = append(ids, got.Text("results.0.id"))
		}
		remove(t, ids)
		c := b.Call(t, "one", "GET", "/v1/collections/by?user="+user, "").Want(200)
		path := "/v1/collections/" + c.Text("id")
		for at := range int(c.Number("head_revision")) + 1 {
			if list := b.Call(t, "one", "GET", fmt.Sprintf("%s/notes?limit=100&as_of=%d", path, at), "").Want(200); strings.Contains(list.Body.String(), "safe is 471") || strings.Contains(list.Body.String(), "shed is 471") {
				t.Errorf("%s: revision %d has %.600s", name, at, list.Body)
			}
		}
		for _, id := range ids {
			callMem0(t, b, "one", "GET", "/v1/memories/"+id+"/history/", "").Want(404)
		}
	}
}

// An entity of which a memory is kept, since another agent's fork reads it, was not deleted.
func TestMem0KeepsWhatOthersRead(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	callMem0(t, b, "ada", "POST", "/memories", `{"messages":[{"role":"user","content":"The code of the safe is 4711."}],"user_id":"nora"}`).Want(200)
	id := b.Call(t, "ada", "GET", "/v1/collections/by?user=nora", "").Want(200).Text("id")
	b.Call(t, "one", "POST", "/v1/collections/"+id+"/clone", `{"name":"theirs","agent":"bob"}`).Want(201)
	for _, path := range []string{"/v1/entities/user/nora/", "/v2/entities/user/nora/", "/v1/memories/?user_id=nora"} {
		callMem0(t, b, "ada", "DELETE", path, "").Want(409)
	}
	b.Call(t, "ada", "GET", "/v1/collections/by?user=nora", "").Want(200)
}
