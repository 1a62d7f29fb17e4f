package app

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/slipboxhq/slipbox/internal/eval"
	"github.com/slipboxhq/slipbox/internal/llm"
	"github.com/slipboxhq/slipbox/test/must"
)

// C122, C131, C132, C133: an agent pages through its memory to every answer: nested keys up to four hops in one turn of the
// person, and what one of many documents says. Its model knows only what tools show it.
func TestOraclePages(t *testing.T) {
	t.Parallel()
	model := httptest.NewServer(eval.Oracle{})
	t.Cleanup(model.Close)
	g := startGateway(t, func(c *Settings) {
		c.LLM.Provider, c.LLM.BaseURL, c.LLM.Model = llm.ProviderOpenAI, model.URL+"/v1", "oracle"
		c.LLM.EmbedProvider = llm.EmbedHash
	})
	bench := eval.Paging{Client: &eval.Client{BaseURL: g.url, Key: g.key}, Prefix: "paging-", Pairs: 40, Questions: 1, Documents: []int{40}, Logf: t.Logf}
	rows := must.Get(bench.Run(t.Context()))(t)
	var table strings.Builder
	err := eval.PrintPaging(&table, rows)
	t.Log("\n" + table.String())
	if err != nil {
		t.Error(err)
	}
	// A hop costs a page at least, and only pages show the answer.
	for depth, r := range rows[:5] {
		if r.Pages < float64(depth+2) || r.Steps != r.Pages+1 {
			t.Errorf("depth %d: %v", depth, r)
		}
	}
	if last := rows[len(rows)-1]; last.Pages < 2 || last.Pages > 8 {
		t.Errorf("documents: %v", last)
	}
}
