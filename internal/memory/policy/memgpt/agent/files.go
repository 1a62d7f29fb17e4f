package agent

import (
	"context"
	"fmt"
	"math"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/files"
)

// openFiles opens files, which later contexts show, and returns what they show.
func openFiles(ctx context.Context, r *run) (string, error) {
	names, line := r.args.texts("names"), r.args.whole("line", 1, 1, math.MaxInt32)
	if r.args.given["names"] == nil {
		r.args.problems.Addf("names", "is required")
	}
	if err := r.args.check(); err != nil {
		return "", err
	}
	p, err := r.a.paging(&r.view.Collection)
	if err != nil {
		return "", err
	}
	return r.a.files.Open(ctx, r.s, r.view, names, line, p.Window, func(text string) memory.With {
		return r.with(func([]memory.Note) string { return cut(text, r.chars) }).With
	})
}

// grepFiles returns a page of the lines that match a pattern.
func grepFiles(ctx context.Context, r *run) (string, error) {
	pattern, names, page := r.args.text("pattern"), r.args.texts("names"), r.args.whole("page", 1, 1, math.MaxInt32)
	if err := r.args.check(); err != nil {
		return "", err
	}
	found, total, err := r.a.files.Grep(ctx, r.s, r.view, pattern, names, page)
	if err != nil {
		return "", err
	}
	pages := max(1, (total+files.GrepPage-1)/files.GrepPage)
	if page > pages {
		return "", fault.InvalidField("page", "there are only %d pages", pages)
	}
	return files.Render(fmt.Sprintf("Page %d of %d: %d lines match.", page, pages, total), found)
}

// semanticSearchFiles returns the passages of files that are nearest to a query.
func semanticSearchFiles(ctx context.Context, r *run) (string, error) {
	query, names, k := r.args.text("query"), r.args.texts("names"), r.args.whole("top_k", pageSize, 1, maxTopK)
	if err := r.args.check(); err != nil {
		return "", err
	}
	found, err := r.a.files.Search(ctx, r.s, r.view, query, names, k)
	if err != nil {
		return "", err
	}
	return files.Render(fmt.Sprintf("%d passages of files, best first.", len(found)), found)
}
