package recall

import (
	"log/slog"

	"github.com/slipboxhq/slipbox/internal/outage"
)

// outages logs what searches and background work do without, once for all that meet it.
type outages struct{ usage, background, embed, phrases, judge, rerank *outage.Log }

func newOutages(log *slog.Logger) *outages {
	return &outages{
		usage:      outage.New(log, nil, "usage counts cannot be written; they are kept for the next try", "usage counts are written again"),
		background: outage.New(log, nil, "background work on an index failed; the next reader does it", "background work on indexes succeeds again"),
		embed:      outage.New(log, nil, "queries cannot be embedded; words alone answer", "queries are embedded again"),
		phrases:    outage.New(log, nil, "the phrases of queries cannot be embedded; entities raise no notes", "the phrases of queries are embedded again"),
		rerank:     outage.New(log, nil, "the endpoint does not rerank hits; they keep their order", "the endpoint reranks hits again"),
		judge:      outage.New(log, nil, "the model does not judge the hits; the coarse order is kept", "the model judges hits again"),
	}
}
