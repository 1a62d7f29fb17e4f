package slipbox_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	slipbox "github.com/slipboxhq/slipbox/sdk/go"
)

// readme is the code of README.md, which TestReadme compares and runs.
func readme(ctx context.Context) error {
	client, err := slipbox.New(slipbox.Config{}) // SLIPBOX_URL and SLIPBOX_KEY
	if err != nil {
		return err
	}
	nora := slipbox.External{User: new("nora@example.com")} // your own id of a user names the collection

	// The policy mem0 learns from messages. The collection is made on first use.
	said := slipbox.MessagesInput{Messages: []slipbox.MessageInput{{Name: new("Nora"), Content: "I live in Oslo."}}}
	if _, err := client.AddMessages(ctx, nora, said, slipbox.Create("mem0"), slipbox.Wait()); err != nil {
		return err
	}
	found, err := client.Search(ctx, nora, slipbox.SearchRequest{Query: new("Where does Nora live?")})
	if err != nil {
		return err
	}
	for _, hit := range found.Hits {
		fmt.Println(hit.Note.Content)
	}

	// Lists are read over all pages.
	for note, err := range client.ListNotes(ctx, nora, slipbox.Query("kind", "fact")) {
		if err != nil {
			return err
		}
		fmt.Println(note.Content)
	}

	// What the gateway refuses is a problem document.
	_, err = client.GetCollection(ctx, slipbox.Named("no-such-collection"))
	if problem, ok := errors.AsType[*slipbox.ProblemError](err); ok {
		fmt.Println(problem.Status, problem.Code)
	}
	return nil
}

func TestReadme(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("readme_test.go")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, body, _ := strings.Cut(string(source), "func readme(ctx context.Context) error {\n")
	body, _, _ = strings.Cut(body, "\treturn nil\n}\n")
	_, code, _ := strings.Cut(string(page), "```go\n")
	code, _, _ = strings.Cut(code, "```\n")
	if body = strings.TrimPrefix(strings.ReplaceAll(body, "\n\t", "\n"), "\t"); body != code {
		t.Errorf("README.md has other code:\n%s", code)
	}
	if err := readme(t.Context()); err != nil {
		t.Error(err)
	}
}
