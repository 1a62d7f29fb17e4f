package llm

import (
	"context"
	"log/slog"
	"net/http"
	"unicode/utf8"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// Meter records every use of an endpoint, by tenant (the scope), collection, purpose and day. It is
// called with a context that is not canceled, handles its own failures and returns fast.
type Meter interface {
	Record(ctx context.Context, s tenant.Scope, use memory.ModelUse)
}

// Deps are what the package needs from its surroundings.
type Deps struct {
	Log       *slog.Logger      // nil: nothing is logged
	Meter     Meter             // nil: nothing is counted
	Clock     memory.Clock      // required for endpoints
	Transport http.RoundTripper // nil: an own connection pool
	Observer  *Observer         // of the results of NewModel and NewRegistry; nil: none
	Watch     *Watch            // gets the endpoints that are made; nil: none
	Rules     memory.Model      // what NewModel returns when no endpoint is configured
}

func (d Deps) log() *slog.Logger {
	if d.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return d.Log
}

// purposeEmbed is the recorded purpose of embeddings.
const purposeEmbed = "embed"

// record counts a use, also when the caller's context has ended.
func (d Deps) record(ctx context.Context, s tenant.Scope, use memory.ModelUse) {
	if d.Meter == nil || use.Calls == 0 {
		return
	}
	use.Day = d.Clock().UTC().Format("2006-01-02")
	d.Meter.Record(context.WithoutCancel(ctx), s, use)
}

// runesPerToken is the usual length of an English token. It estimates the use where an endpoint
// does not report it, so that such use is not free.
const runesPerToken = 4

func estimateTokens(s string) int64 {
	return int64(utf8.RuneCountInString(s)+runesPerToken-1) / runesPerToken
}
