package app

import (
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"

	"github.com/slipboxhq/slipbox/internal/api/contracttest"
	"github.com/slipboxhq/slipbox/internal/llm/llmtest"
	"github.com/slipboxhq/slipbox/test/must"
)

// zoo is a gateway whose collections, one for each policy, are told words that are deleted later.
type zoo struct {
	*gatewayTest

	model  *llmtest.Server // nil: none is configured
	data   string          // folder of an embedded gateway
	owner  string          // URL of the database of servers
	redis  string          // URL of their Redis
	prefix string          // of its keys

	paths []string          // of the contract, that are read and have no parameter but the collection
	saved map[string]string // ids of messages, by collection and word
	keys  map[string]string // idempotency keys, likewise
}

// cageSettings are settings by which policies derive at once.
var cageSettings = map[string]object{
	"mem0": {"summary_every": 1}, "memorybank": {"summary_delay": 0}, "memoryos": {"short_capacity": 1, "heat_threshold": 1}, "layered": {"importance_threshold": 0, "consolidate_every": 2, "consolidate_from": 1},
}

// inEachZoo runs a test on each engine, with and without a model: at night in all combinations.
func inEachZoo(t *testing.T, do func(t *testing.T, z *zoo)) {
	t.Helper()
	for _, servers := range []bool{false, true} {
		for _, modeled := range []bool{false, true} {
			if servers != modeled && !everySetUp() {
				continue
			}
			t.Run(fmt.Sprintf("servers=%t,model=%t", servers, modeled), func(t *testing.T) {
				t.Parallel()
				do(t, newZoo(t, servers, modeled))
			})
		}
	}
}

func newZoo(t *testing.T, servers, modeled bool) *zoo {
	t.Helper()
	z := &zoo{saved: map[string]string{}, keys: map[string]string{}}
	if modeled {
		z.model = llmtest.New(t)
	}
	set := func(c *Settings) {
		z.data, z.redis, z.prefix = c.Data, c.RedisURL, c.Redis.Prefix
		if modeled {
			c.LLM.Provider, c.LLM.BaseURL, c.LLM.Model = "openai", z.model.URL(), "fake-1"
			c.LLM.MaxTries, c.LLM.RetryWait, c.LLM.BreakerPause = 1, time.Millisecond, time.Millisecond
		}
	}
	if servers {
		s := newServers(t, true)
		z.owner = s.database.OwnerURL
		s.worker(set)
		z.gatewayTest = s.gateway(set)
	} else {
		z.gatewayTest = startGateway(t, set)
	}
	doc := contracttest.Documents(t)[""]
	for path, item := range doc.Paths.Map() {
		rest, ok := strings.CutPrefix(path, "/v1/collections/{collection}")
		if ok && item.Get != nil && !strings.Contains(rest, "{") && rest != "/changes" {
			z.paths = append(z.paths, rest)
		}
	}
	slices.Sort(z.paths)
	for _, policy := range z.policyNames() {
		made := object{"name": policy, "policy": policy, "external": object{"user": "of-" + policy}}
		if set := cageSettings[policy]; set != nil {
			made["policy_config"] = set
		}
		z.call(http.StatusCreated, http.MethodPost, "/v1/collections", made)
	}
	return z
}

// said is a message with a word that nothing else has.
func said(word string) object {
	return object{"messages": []object{
		{"role": "user", "name": "Nora", "content": "I keep the spare key of the boathouse under the " + word + " statue. I have a boat called Bo."},
		{"role": "assistant", "content": "I see."},
	}}
}

// tell has a collection learn messages, each under an idempotency key of its own.
func (z *zoo) tell(policy, key string, body object) object {
	z.t.Helper()
	status, answer := z.tryWith(http.Header{"Idempotency-Key": {key}}, http.MethodPost, "/v1/collections/"+policy+"/messages?wait=evolved", body)
	if status != http.StatusAccepted {
		z.t.Fatalf("%s: status %d: %v", policy, status, answer)
	}
	return answer
}

// fill tells every collection these words, among others.
func (z *zoo) fill(words ...string) {
	z.t.Helper()
	for _, policy := range z.policyNames() {
		z.tell(policy, policy+"first", object{"messages": []object{{"role": "user", "name": "Nora", "content": "I live in Lisbon with my sister Anna."}, {"role": "assistant", "content": "I see."}}})
		for _, word := range words {
			z.keys[policy+word] = fmt.Sprint("key", len(z.keys))
			answer := z.tell(policy, z.keys[policy+word], said(word))
			z.saved[policy+word] = answer["messages"].([]any)[0].(object)["id"].(string)
		}
		for i, text := range []string{"My brother Tom works at Siemens in Porto.", "We sail to Cascais every summer."} {
			z.tell(policy, fmt.Sprint(policy, "later", i), object{"messages": []object{{"role": "user", "name": "Nora", "content": text}, {"role": "assistant", "content": "Good to know."}}})
		}
	}
	z.call(http.StatusAccepted, http.MethodPost, "/v1/collections/memgpt/flush", object{"force": true})
	z.settle()
}

// settle waits until nothing is left to do.
func (z *zoo) settle() {
	z.t.Helper()
	z.until("all jobs have ended", func() bool {
		for _, state := range []string{"queued", "running"} {
			if len(z.call(http.StatusOK, http.MethodGet, "/v1/jobs?limit=1&state="+state, nil)["items"].([]any)) > 0 {
				return false
			}
		}
		return true
	})
}

// seen returns the doors of a collection behind which a word is seen.
func (z *zoo) seen(policy, word string) (out []string) {
	z.t.Helper()
	at := "/v1/collections/" + policy
	user := "of-" + policy
	look := func(method, path string, body any) {
		header, text := "", ""
		if body != nil {
			header, text = "application/json", textOf(z.t, body)
		}
		if status, _, answer := z.raw(method, path, header, text); strings.Contains(strings.ToLower(answer), word) {
			out = append(out, fmt.Sprintf("%s %s %.200s: %d %.800s", method, path, text, status, answer))
		}
	}
	for _, rest := range z.paths {
		look(http.MethodGet, at+rest, nil)
	}
	for _, path := range []string{
		"/v1/jobs?limit=100", "/v1/reviews", "/v1/blocks", "/v1/audit", "/mem0/v1/events/", "/mem0/v1/entities/", "/mem0/v1/memories/?user_id=" + user, "/mem0/memories?user_id=" + user,
		"/mem0/v2/entities/user/" + user + "/profile/",
	} {
		look(http.MethodGet, path, nil)
	}
	z.askFor(look, policy, "Under which statue is the spare key of the boathouse?")
	return out
}

// askFor asks each door for something.
func (z *zoo) askFor(look func(method, path string, body any), policy, query string) {
	at, user := "/v1/collections/"+policy, "of-"+policy
	look(http.MethodPost, at+"/search", object{"query": query, "k": 20})
	look(http.MethodPost, at+"/context", object{"query": query})
	look(http.MethodPost, "/v1/collections/by/context?user="+user, object{"query": query, "token_budget": 800}) // as hooks do
	look(http.MethodPost, at+"/recall", object{"query": query})
	look(http.MethodPost, "/v1/search", object{"query": query, "collections": []string{policy}})
	look(http.MethodPost, at+"/chat", object{"message": query, "remember": false})
	if policy == "memgpt" {
		look(http.MethodPost, at+"/step", object{"tool": "conversation_search", "arguments": object{"query": query}})
		look(http.MethodPost, at+"/step", object{"tool": "archival_search", "arguments": object{"query": query}})
	}
	for _, path := range []string{"/mem0/v1/memories/search/", "/mem0/search"} {
		look(http.MethodPost, path, object{"query": query, "user_id": user})
	}
	for _, path := range []string{"/mem0/v2/memories/search/", "/mem0/v3/memories/search/"} {
		look(http.MethodPost, path, object{"query": query, "filters": object{"user_id": user}})
	}
	look(http.MethodPost, "/mem0/v2/memories/", object{"filters": object{"user_id": user}})
	look(http.MethodPost, "/mem0/v3/memories/", object{"filters": object{"user_id": user}})
	rpc := func(method string, params object) {
		look(http.MethodPost, "/mcp", object{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	}
	for _, tool := range []string{"search_notes", "build_context", "forget", "correct"} {
		rpc("tools/call", object{"name": tool, "arguments": object{"collection": policy, "query": query}})
	}
	rpc("tools/call", object{"name": "list_collections", "arguments": object{}})
	rpc("prompts/get", object{"name": "recall", "arguments": object{"collection": policy, "question": query}})
	rpc("resources/list", object{})
	rpc("resources/read", object{"uri": "slipbox://collections/" + policy})
}

// keepPast keeps what a collection holds now: as a snapshot and as a fork.
func (z *zoo) keepPast() {
	z.t.Helper()
	for _, policy := range z.policyNames() {
		z.call(http.StatusCreated, http.MethodPost, "/v1/collections/"+policy+"/snapshots", object{"name": "then"})
		z.call(http.StatusCreated, http.MethodPost, "/v1/collections/"+policy+"/clone", object{"name": policy + "-fork"})
	}
	z.settle()
}

// seenInPast returns the doors of the lineage of a collection behind which a word is seen: its feed, differences, the snapshot, the
// fork, merges of the two, and the history of a note.
func (z *zoo) seenInPast(policy, word string) (out []string) {
	z.t.Helper()
	at, fork := "/v1/collections/"+policy, "/v1/collections/"+policy+"-fork"
	look := func(method, path string, body any) {
		header, text := "", ""
		if body != nil {
			header, text = "application/json", textOf(z.t, body)
		}
		if status, _, answer := z.raw(method, path, header, text); strings.Contains(strings.ToLower(answer), word) {
			out = append(out, fmt.Sprintf("%s %s %.200s: %d %.800s", method, path, text, status, answer))
		}
	}
	note := "/notes/" + z.saved[policy+word]
	for _, of := range []string{at, fork} {
		for _, path := range []string{
			"/changes?limit=200", "/snapshots", "/diff?against_at=1", "/diff?against_at=1&at=then", "/diff?against_at=then", "/notes?limit=200", "/messages?limit=200", note, note + "/history", note + "/blame",
		} {
			look(http.MethodGet, of+path, nil)
		}
		look(http.MethodPost, of+"/search", object{"query": word + " statue", "k": 20})
		look(http.MethodPost, of+"/context", object{"query": word + " statue"})
	}
	look(http.MethodGet, fork+"/diff", nil)
	look(http.MethodGet, at+"/diff?against="+policy+"-fork", nil)
	for _, way := range [][2]string{{at, policy + "-fork"}, {fork, policy}} {
		look(http.MethodPost, way[0]+"/merge", object{"from": way[1], "dry_run": true})
		look(http.MethodPost, way[0]+"/merge", object{"from": way[1], "strategy": "ours", "review": true})
	}
	look(http.MethodGet, "/v1/reviews", nil)
	return out
}

// hidden checks that a word is seen nowhere, nor sent to the model.
func (z *zoo) hidden(word, why string) {
	z.t.Helper()
	asked := 0
	if z.model != nil {
		asked = len(z.model.Requests())
	}
	for _, policy := range z.policyNames() {
		for _, door := range z.seen(policy, word) {
			z.t.Errorf("%s, %s: %s", policy, why, door)
		}
		id := z.saved[policy+word]
		for method, params := range map[string]object{
			"tools/call":     {"name": "get_note", "arguments": object{"collection": policy, "note": id}},
			"resources/read": {"uri": "slipbox://collections/" + policy + "/notes/" + id},
		} {
			_, _, answer := z.raw(http.MethodPost, "/mcp", "application/json", textOf(z.t, object{"jsonrpc": "2.0", "id": 1, "method": method, "params": params}))
			if strings.Contains(answer, word) {
				z.t.Errorf("%s, %s: MCP %s: %s", policy, why, method, answer)
			}
		}
		_, reply := z.tryWith(http.Header{"Idempotency-Key": {z.keys[policy+word]}}, http.MethodPost, "/v1/collections/"+policy+"/messages?wait=evolved", said(word))
		if answer := textOf(z.t, reply); strings.Contains(answer, word) {
			z.t.Errorf("%s, %s: the reply to its idempotency key: %s", policy, why, answer)
		}
	}
	if z.model == nil {
		return
	}
	for _, r := range z.model.Requests()[asked:] {
		if strings.Contains(strings.ToLower(string(r.Body)), word) {
			z.t.Errorf("%s: the model was sent %s: %.1500s", why, r.Call, r.Body)
		}
	}
}

// bytesOf returns where a word is stored: files of the folder, rows of the database, keys of Redis.
func (z *zoo) bytesOf(word string) (out []string) {
	z.t.Helper()
	if z.owner == "" {
		must.Do(z.t, filepath.WalkDir(z.data, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			raw, err := os.ReadFile(path)
			if i := strings.Index(strings.ToLower(string(raw)), word); i >= 0 {
				out = append(out, fmt.Sprintf("%s: %q", path, raw[max(0, i-100):min(len(raw), i+100)]))
			}
			return err
		}))
		return out
	}
	return append(z.rowsWith(word), z.keysWith(word)...)
}

func (z *zoo) rowsWith(word string) (out []string) {
	z.t.Helper()
	db := must.Get(pgx.Connect(z.t.Context(), z.owner))(z.t)
	defer func() { _ = db.Close(z.t.Context()) }()
	rows := must.Get(db.Query(z.t.Context(), "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public' AND table_type = 'BASE TABLE'"))(z.t)
	tables := must.Get(pgx.CollectRows(rows, pgx.RowTo[string]))(z.t)
	for _, table := range tables {
		rows := must.Get(db.Query(z.t.Context(), "SELECT left(t::text, 600) FROM "+pgx.Identifier{table}.Sanitize()+" t WHERE t::text ILIKE '%' || $1 || '%' OR t::text ILIKE '%' || $2 || '%'", word, hex.EncodeToString([]byte(word))))(z.t)
		found := must.Get(pgx.CollectRows(rows, pgx.RowTo[string]))(z.t)
		for _, row := range found {
			out = append(out, table+": "+row)
		}
	}
	return out
}

func (z *zoo) keysWith(word string) (out []string) {
	z.t.Helper()
	options := must.Get(redis.ParseURL(z.redis))(z.t)
	client := redis.NewClient(options)
	defer func() { _ = client.Close() }()
	keys := client.Scan(z.t.Context(), 0, "*"+z.prefix+"*", 1000).Iterator()
	for keys.Next(z.t.Context()) {
		raw, err := client.Dump(z.t.Context(), keys.Val()).Result()
		if err == nil && strings.Contains(keys.Val()+raw, word) {
			out = append(out, "Redis: "+keys.Val())
		}
	}
	return out
}

// What is deleted is seen behind no door of any policy, on both engines, with and without a model, and what is erased is in
// no file, row or cache.
func TestDeletedBehindEveryDoor(t *testing.T) {
	t.Parallel()
	inEachZoo(t, func(t *testing.T, z *zoo) {
		t.Helper()
		z.fill("quokka", "axolotl")
		z.keepPast()
		for _, policy := range z.policyNames() {
			if doors := z.seen(policy, "quokka"); len(doors) < 10 {
				t.Errorf("%s: it is seen behind %d doors: %s", policy, len(doors), doors)
			}
			if doors := z.seenInPast(policy, "quokka"); len(doors) < 8 {
				t.Errorf("%s: it is seen behind %d doors of the past: %s", policy, len(doors), doors)
			}
		}
		for _, policy := range z.policyNames() {
			z.call(http.StatusNoContent, http.MethodDelete, "/v1/collections/"+policy+"/notes/"+z.saved[policy+"quokka"], nil)
		}
		z.settle()
		z.hidden("quokka", "deleted")
		for _, word := range []string{"axolotl", "quokka"} {
			for _, policy := range z.policyNames() {
				report := z.call(http.StatusOK, http.MethodDelete, "/v1/collections/"+policy+"/notes/"+z.saved[policy+word]+"?erase=true", nil)
				if want := map[bool]string{true: "pending", false: "autovacuum"}[z.owner == ""]; report["traces"] != want {
					t.Errorf("%s: traces are %v, want %s", policy, report["traces"], want)
				}
			}
		}
		z.settle()
		z.hidden("axolotl", "erased")
		for _, word := range []string{"axolotl", "quokka"} {
			for _, policy := range z.policyNames() {
				for _, door := range z.seenInPast(policy, word) {
					t.Errorf("%s, erased: %s", policy, door)
				}
			}
		}
		if z.owner == "" {
			z.stop() // vacuums the file, in whose gaps a row that SQLite has moved may have left a copy (decision 0133)
		}
		for _, word := range []string{"axolotl", "quokka"} {
			for _, place := range z.bytesOf(word) {
				t.Errorf("%s is stored: %s", word, place)
			}
		}
	})
}

// What a policy derived and a caller deletes is seen behind no door, of which some read what it was derived from; where the answer
// names sources that say it still, it is seen behind none once they are deleted by the offered call. Summaries that are made
// again do not bring it back.
func TestDeletedDerivedBehindEveryDoor(t *testing.T) {
	t.Parallel()
	inEachZoo(t, func(t *testing.T, z *zoo) {
		t.Helper()
		z.fill("quokka")
		for _, policy := range z.policyNames() {
			at := "/v1/collections/" + policy + "/notes"
			z.deleteDerived(at, "quokka")
			z.settle()
			z.deleteDerived(at, "quokka") // what was made again of sources that were kept
		}
		z.settle()
		z.hidden("quokka", "what was derived is deleted")
		for _, policy := range z.policyNames() { // more talk makes summaries again
			z.tell(policy, policy+"after", object{"messages": []object{{"role": "user", "name": "Nora", "content": "The boathouse needs a new door this spring."}, {"role": "assistant", "content": "I see."}}})
		}
		z.settle()
		z.hidden("quokka", "and more was said since")
	})
}

// deleteDerived deletes the notes that a policy derived and that have a word, with the sources that only name it, and the message
// where nothing was derived.
func (z *zoo) deleteDerived(at, word string) {
	z.t.Helper()
	var derived, messages []string
	for _, n := range z.call(http.StatusOK, http.MethodGet, at+"?limit=200", nil)["items"].([]any) {
		switch n := n.(object); {
		case !strings.Contains(strings.ToLower(textOf(z.t, n)), word):
		case n["kind"] == "message" || n["kind"] == "note":
			messages = append(messages, n["id"].(string))
		default:
			derived = append(derived, n["id"].(string))
		}
	}
	if len(derived) == 0 {
		derived = messages
	}
	for _, id := range derived {
		status, header, answer := z.raw(http.MethodDelete, at+"/"+id, "", "")
		if status != http.StatusNoContent && status != http.StatusNotFound {
			z.t.Errorf("delete %s: %d %s", id, status, answer)
		}
		if named := header.Get("Slipbox-Sources"); named != "" {
			for source := range strings.SplitSeq(named, ",") {
				z.raw(http.MethodDelete, at+"/"+source, "", "")
			}
		}
	}
}
