package slipbox_test

import (
	"context"
	"encoding/json"
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

// ask is the code of the README of the repository.
func ask(ctx context.Context, client *slipbox.Client) (slipbox.SearchResult, error) {
	found, err := client.Search(ctx, slipbox.External{User: new("nora@example.com")}, slipbox.SearchRequest{Query: new("Where does Nora live?")})
	return found, err
}

// loop is the second piece of code of README.md.
func loop(ctx context.Context, client *slipbox.Client, otto slipbox.Named, tools map[string]func(json.RawMessage) string) (slipbox.Run, error) {
	run, err := client.PostEvent(ctx, otto, slipbox.EventInput{Content: new("How is the weather in Lisbon?")})
	for err == nil && run.State == slipbox.RunStateRequiresAction {
		var results []slipbox.CallResult
		for _, call := range run.RequiredCalls {
			if call.Answer == slipbox.CallAnswerApproval { // a tool of the gateway waits for a person
				results = append(results, slipbox.CallResult{Call: call.ID, Approve: new(true)})
				continue
			}
			text := tools[call.Tool](call.Arguments) // your own function
			results = append(results, slipbox.CallResult{Call: call.ID, Result: &text})
		}
		run, err = client.PostResults(ctx, otto, run.ID, results)
	}
	return run, err
}

// excerpt returns the lines of this file between two marks, without their indentation, and README.md, which has them too.
func excerpt(t *testing.T, from, to string) (body, page string) {
	t.Helper()
	source, err := os.ReadFile("readme_test.go")
	if err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, body, _ = strings.Cut(string(source), from)
	body, _, _ = strings.Cut(body, to)
	return strings.TrimPrefix(strings.ReplaceAll(body, "\n\t", "\n"), "\t"), string(readme)
}

// The loop of README.md runs: the gateway's agent waits for approvals, and has a tool that its caller runs.
func TestReadmeLoop(t *testing.T) {
	t.Parallel()
	body, page := excerpt(t, "func(json.RawMessage) string) (slipbox.Run, error) {\n", "\n}\n")
	if !strings.Contains(page, "```go\n"+body+"\n```\n") {
		t.Errorf("README.md lacks\n%s", body)
	}

	ctx := t.Context()
	client, err := slipbox.New(slipbox.Config{})
	if err != nil {
		t.Fatal(err)
	}
	agent := slipbox.CollectionInput{Name: "readme-loop", Policy: new("memgpt"), PolicyConfig: map[string]any{"approve": []string{"conversation_search", "send_message"}}}
	if _, err := client.CreateCollection(ctx, agent); err != nil {
		t.Fatal(err)
	}
	run, err := loop(ctx, client, "readme-loop", nil)
	if err != nil || run.State != slipbox.RunStateDone || len(run.Steps) == 0 {
		t.Errorf("%+v, %v", run, err)
	}
}

func TestReadme(t *testing.T) {
	t.Parallel()
	body, page := excerpt(t, "func readme(ctx context.Context) error {\n", "\treturn nil\n}\n")
	_, code, _ := strings.Cut(page, "```go\n")
	code, _, _ = strings.Cut(code, "```\n")
	if body != code {
		t.Errorf("README.md has other code:\n%s", code)
	}
	if err := readme(t.Context()); err != nil {
		t.Error(err)
	}
	client, err := slipbox.New(slipbox.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ask(t.Context(), client); err != nil {
		t.Error(err)
	}
}
