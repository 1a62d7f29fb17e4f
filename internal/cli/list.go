package cli

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"

	"github.com/spf13/cobra"
)

func limitFlag(cmd *cobra.Command, limit *int, what string) {
	cmd.Flags().IntVarP(limit, "limit", "n", 50, "at most so `many` "+what)
}

// asOfFlag is the flag that reads the past, as the API names it.
func asOfFlag(cmd *cobra.Command, asOf *string, what string) {
	cmd.Flags().StringVar(asOf, "as-of", "", what+": at a `revision`, a time (2026-03-01T09:30:00Z) or the name of a snapshot (default: now)")
}

// choose sets what a flag chose of a query; "": nothing.
func choose(query url.Values, name, value string) {
	if value != "" {
		query.Set(name, value)
	}
}

// after returns an optional value after a word; "" without one.
func after(word string, value *string) string {
	if value == nil {
		return ""
	}
	return word + *value
}

// delete deletes what has an id or a name below a path.
func (c *cli) delete(cmd *cobra.Command, to *client, path, name string, query url.Values) error {
	if _, _, err := to.get(cmd.Context(), request{Method: http.MethodDelete, Path: path + url.PathEscape(name), Query: query}, nil); err != nil {
		return err
	}
	return c.errs.line("deleted %s", clean(name))
}

// answered sends a request and prints its answer: for people by show, or as JSON.
func answered[T any](cmd *cobra.Command, c *cli, to *client, r request, show func(got *T) error) error {
	var got T
	raw, _, err := to.get(cmd.Context(), r, &got)
	switch {
	case err != nil:
		return err
	case c.asJSON():
		return c.out.json(raw)
	}
	return show(&got)
}

// listed prints a listing: for people by show, or each item as a line of JSON. It says when there are more, or none.
func listed[T any](cmd *cobra.Command, c *cli, to *client, path string, query url.Values, limit int, none string, show func(T) error) error {
	if limit < 1 {
		return errors.New("--limit: must be at least 1")
	}
	n := 0
	more, err := pages(cmd.Context(), to, path, query, limit, func(raw json.RawMessage) error {
		n++
		if c.asJSON() {
			return c.out.json(raw)
		}
		var item T
		if err := json.Unmarshal(raw, &item); err != nil {
			return err
		}
		return show(item)
	})
	switch {
	case err != nil:
		return err
	case n == 0 && !c.asJSON():
		return c.errs.line("%s", none)
	case more:
		return c.errs.line("there are more: --limit %d shows them", 4*limit)
	}
	return nil
}
