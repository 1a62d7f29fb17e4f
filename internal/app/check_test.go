package app

import (
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/test/must"
)

// Check reports cached versions that the store lacks, as after a restore of the database to an
// earlier time. Entries that cannot be reached are no problem.
func TestCheckReportsWrongCacheEntries(t *testing.T) {
	t.Parallel()
	redis, s := ownRedis(t)
	// Redis is bypassed when a call takes longer than its bound, and the version would not be cached.
	g := s.gateway(func(c *Settings) { c.Redis.Timeout = 10 * time.Second })
	c := g.call(http.StatusCreated, http.MethodPost, "/v1/collections", object{"name": "c", "policy": "none"})["id"].(string)
	g.call(http.StatusCreated, http.MethodPost, "/v1/collections/c/notes", object{"content": "The ferry leaves at nine."})
	g.search("c", "ferry", "lexical")
	check := func() CheckResult {
		t.Helper()
		found := must.Get(Check(t.Context(), s.settings(nil), slog.New(slog.DiscardHandler)))(t)
		return found
	}
	if found := check(); len(found.Problems) != 0 || !strings.Contains(strings.Join(found.Notes, "\n"), "caches 1 version\n") {
		t.Fatalf("a sound set-up: %+v", found)
	}
	client := redis.Client()
	keys, err := client.Keys(t.Context(), "mine:v1:*").Result()
	if err != nil || len(keys) != 1 {
		t.Fatalf("keys %v, %v", keys, err)
	}
	note := uuid.NewString()
	parts := strings.Split(keys[0], ":") // prefix, v1, tenant, layer, epoch, note, from
	for _, key := range [][]string{
		{"mine", "v1", parts[2], c, parts[4], note, "1"},
		{"mine", "v1", parts[2], uuid.NewString(), parts[4], uuid.NewString(), "1"}, // a deleted collection
		{"mine", "v1", parts[2], c, "7", uuid.NewString(), "1"},                     // of another erase epoch
	} {
		must.Do(t, client.Set(t.Context(), strings.Join(key, ":"), "{}", 0).Err())
	}
	found := check()
	if len(found.Problems) != 1 || found.Problems[0].Kind != problemCache || !strings.Contains(found.Problems[0].Detail, note) {
		t.Errorf("problems %+v, want the one of note %s", found.Problems, note)
	}
	if fix := found.Remedy(s.settings(nil)); !strings.Contains(fix, "mine:v1:*") || strings.Contains(fix, "dump") {
		t.Errorf("the remedy is %q", fix)
	}
	redis.Kill()
	if _, err := Check(t.Context(), s.settings(nil), slog.New(slog.DiscardHandler)); err == nil {
		t.Error("without redis the check claims to be made")
	}
}
