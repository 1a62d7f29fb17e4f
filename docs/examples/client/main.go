// Command client shows how a program calls slipbox and distinguishes the outcomes: hits, no hits, a
// refusal, and a failure that may pass.
//
//	SLIPBOX_URL=http://127.0.0.1:8080 SLIPBOX_KEY=sb_... go run ./docs/examples/client "who repairs bicycles?"
//
// The client tries again what was refused for now or broke off, and a write carries an idempotency key, so that it is carried
// out once.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	slipbox "github.com/slipboxhq/slipbox/sdk/go"
)

func main() {
	client, err := slipbox.New(slipbox.Config{}) // SLIPBOX_URL and SLIPBOX_KEY
	if err == nil {
		err = ask(context.Background(), os.Stdout, client, "demo", strings.Join(os.Args[1:], " "))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// ask searches and prints the result.
func ask(ctx context.Context, out io.Writer, client *slipbox.Client, collection, query string) error {
	found, err := client.Search(ctx, slipbox.Named(collection), slipbox.SearchRequest{Query: &query, K: 5})
	problem, refused := errors.AsType[*slipbox.ProblemError](err)
	_, lost := errors.AsType[*slipbox.ConnectionError](err)
	switch {
	case refused && problem.Code == "not_found": // the code is stable: decide by it, never by the words
		return fmt.Errorf("there is no collection %q, or this key may not see it", collection)
	case refused && problem.Code == "unauthenticated":
		return errors.New("the key is not accepted: create one with \"gateway key create\"")
	case lost:
		return fmt.Errorf("cannot reach the gateway, also when asked again: %w", err)
	case err != nil:
		return err
	case len(found.Hits) == 0: // a normal answer, not an error
		_, err = fmt.Fprintln(out, "nothing found")
		return err
	}

	for _, hit := range found.Hits {
		if _, err := fmt.Fprintf(out, "%.3f  %s\n", hit.Score, hit.Note.Content); err != nil {
			return err
		}
	}
	return nil
}
