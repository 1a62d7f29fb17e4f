package api_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/slipboxhq/slipbox/internal/apptest"
)

// A clock that is set by an hour or a year, forward and back again, loses nothing: what was written before is found, what is
// written after is handled at once, in order, and read by the one who wrote it.
func TestClockIsSet(t *testing.T) {
	t.Parallel()
	for name, by := range map[string]time.Duration{"an hour": time.Hour, "a year": 365 * 24 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := apptest.New(t)
			policies := []string{"none", "amem", "mem0", "memgpt"}
			for _, policy := range policies {
				b.Call(t, "one", "POST", "/v1/collections", fmt.Sprintf(`{"name":%q,"policy":%q}`, policy, policy)).Want(http.StatusCreated)
			}
			ids := map[string][]string{}
			last := map[string]float64{}
			for i, step := range []time.Duration{0, by, -by, -by, by} {
				b.Pass(step + time.Minute)
				for _, policy := range policies {
					path := "/v1/collections/" + policy
					made := b.Call(t, "one", "POST", path+"/notes", fmt.Sprintf(`{"content":"Lighthouse number %d blinks."}`, i), "Idempotency-Key", fmt.Sprint(policy, i))
					ids[policy] = append(ids[policy], made.Text("note.id"))
					b.Call(t, "one", "POST", path+"/messages", fmt.Sprintf(`{"messages":[{"user":"I live on island %d.","assistant":"I see."}]}`, i)).Want(http.StatusAccepted)
				}
				b.RunJobs(t)
				for _, policy := range policies {
					path := "/v1/collections/" + policy
					for _, id := range ids[policy] {
						if state := b.Call(t, "one", "GET", path+"/notes/"+id, "").Want(http.StatusOK).Text("state"); state == "pending" {
							t.Errorf("%s, step %d: a note is %s", policy, i, state)
						}
					}
					found := b.Call(t, "one", "POST", path+"/search", fmt.Sprintf(`{"query":"Lighthouse number %d","k":20}`, i)).Want(http.StatusOK)
					if n := found.Length("hits"); n < len(ids[policy]) {
						t.Errorf("%s, step %d: %d hits of %d notes", policy, i, n, len(ids[policy]))
					}
					head := b.Call(t, "one", "GET", path, "").Want(http.StatusOK).Number("head_revision")
					if head <= last[policy] {
						t.Errorf("%s, step %d: the revision is %v after %v", policy, i, head, last[policy])
					}
					last[policy] = head
					b.Call(t, "one", "POST", path+"/context", `{"query":"Where do I live?"}`).Want(http.StatusOK)
				}
			}
			if problems, err := b.Store.Verify(t.Context()); err != nil || len(problems) > 0 {
				t.Errorf("the store: %+v, %v", problems, err)
			}
		})
	}
}
