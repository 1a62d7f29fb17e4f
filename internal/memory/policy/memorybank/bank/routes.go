package bank

import (
	"context"
	"encoding/json"

	"github.com/slipboxhq/slipbox/internal/api/route"
)

// Routes returns the operations that import and export a person's memory in MemoryBank's format.
func (b *Service) Routes() route.Set {
	return route.Set{Handlers: map[string]route.Handler{
		"importBank": func(ctx context.Context, r *route.Request) (route.Reply, error) {
			ref, err := r.Collection.Ref()
			if err != nil {
				return route.Reply{}, err
			}
			report, err := b.Import(ctx, r.Scope, ref, r.Body)
			return route.Reply{Body: report, Revision: new(report.Revision)}, err
		},
		"exportBank": func(ctx context.Context, r *route.Request) (route.Reply, error) {
			ref, err := r.Collection.Ref()
			if err != nil {
				return route.Reply{}, err
			}
			document, err := b.Export(ctx, r.Scope, ref)
			return route.Reply{Body: json.RawMessage(document)}, err
		},
	}}
}
