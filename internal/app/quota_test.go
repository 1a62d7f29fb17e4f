package app

import (
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/slipboxhq/slipbox/test/must"
)

// A burst of adds stores exactly what the tenant's limit allows, also through two gateways, and the
// other requests say which limit they met.
func TestBurstAgainstAQuota(t *testing.T) {
	t.Parallel()
	const burst, room = 250, 10
	// limit sets the limit with an operator key, as the operator of a platform does.
	limit := func(t *testing.T, g *gatewayTest, a *Admin) {
		t.Helper()
		k := must.Get(a.CreateOperatorKey(t.Context(), "limits", time.Hour))(t)
		operator := *g
		operator.key = k.Text
		all := operator.call(http.StatusOK, http.MethodGet, "/v1/tenants", nil)["items"].([]any)
		if len(all) != 1 {
			t.Fatalf("there are %d tenants, want 1", len(all))
		}
		operator.call(http.StatusOK, http.MethodPatch, "/v1/tenants/"+all[0].(object)["id"].(string), object{"limits": object{"notes": room}})
	}
	check := func(t *testing.T, gateways ...*gatewayTest) {
		t.Helper()
		for i := range 3 {
			gateways[0].call(http.StatusCreated, http.MethodPost, "/v1/collections", object{"name": fmt.Sprintf("c%d", i), "policy": "none"})
		}
		var mu sync.Mutex
		stored := 0
		var adds sync.WaitGroup
		for i := range burst {
			adds.Go(func() {
				path := fmt.Sprintf("/v1/collections/c%d/notes", i%3)
				status, out := gateways[i%len(gateways)].try(http.MethodPost, path, object{"content": fmt.Sprintf("The ferry %d leaves at nine.", i)})
				mu.Lock()
				defer mu.Unlock()
				switch {
				case status == http.StatusCreated:
					stored++
				case status != http.StatusTooManyRequests || out["code"] != "quota_exceeded" || out["detail"] != "the tenant has reached its limit on notes, which its operator sets":
					t.Errorf("status %d: %v", status, out)
				}
			})
		}
		adds.Wait()
		if held := gateways[0].call(http.StatusOK, http.MethodGet, "/v1/usage", nil)["notes"]; stored != room || held != float64(room) {
			t.Errorf("%d of %d adds were accepted and %v notes are stored, want %d", stored, burst, held, room)
		}
		// A first write that finds no room creates no collection.
		for path, body := range map[string]object{"notes": {"content": "x"}, "messages": {"messages": []object{{"role": "user", "content": "x"}}}} {
			for _, home := range []string{"late/" + path, "by/" + path + "?user=late"} {
				if status, out := gateways[0].tryWith(http.Header{"Slipbox-Create": {"none"}}, http.MethodPost, "/v1/collections/"+home, body); status != http.StatusTooManyRequests {
					t.Errorf("%s: status %d: %v", home, status, out)
				}
			}
		}
		if all := gateways[0].call(http.StatusOK, http.MethodGet, "/v1/collections", nil)["items"].([]any); len(all) != 3 {
			t.Errorf("%d collections, want 3", len(all))
		}
	}
	t.Run("embedded", func(t *testing.T) {
		t.Parallel()
		cfg := settings(t, nil, nil)
		g, stdout := launch(t, cfg)
		g.key = printedKey(t, stdout.String())
		a := must.Get(OpenAdmin(t.Context(), cfg, slog.New(slog.DiscardHandler)))(t)
		limit(t, g, a)
		if err := a.Close(); err != nil {
			t.Error(err)
		}
		check(t, g)
	})
	t.Run("two gateways on postgres", func(t *testing.T) {
		t.Parallel()
		s := newServers(t, false)
		first := s.gateway(nil)
		s.admin(func(a *Admin) error { limit(t, first, a); return nil })
		check(t, first, s.gateway(nil))
	})
}
