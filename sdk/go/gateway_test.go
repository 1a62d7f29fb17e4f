package slipbox_test

import (
	"crypto/rand"
	"errors"
	"net/http"
	"strings"
	"testing"

	slipbox "github.com/slipboxhq/slipbox/sdk/go"
)

// user returns a client of the gateway at SLIPBOX_URL, and the ids of a user that nobody else has.
func user(t *testing.T) (*slipbox.Client, slipbox.External) {
	t.Helper()
	client, err := slipbox.New(slipbox.Config{})
	if err != nil {
		t.Fatal(err, "(make test/go starts a gateway)")
	}
	return client, slipbox.External{User: new(rand.Text() + "@example.com"), App: new("日本/../a|b c")}
}

func TestGatewayRemembers(t *testing.T) {
	t.Parallel()
	client, nora := user(t)
	ctx := t.Context()
	said := slipbox.MessagesInput{Messages: []slipbox.MessageInput{{Name: new("Nora"), Content: "I live in Oslo."}}}
	learned, err := client.AddMessages(ctx, nora, said, slipbox.Create("mem0"), slipbox.Wait())
	if err != nil || len(learned.Learned) != 1 || !strings.Contains(learned.Learned[0].Memory, "I live in Oslo.") {
		t.Fatal(learned, err)
	}
	found, err := client.Search(ctx, nora, slipbox.SearchRequest{Query: new("Where does Nora live?")})
	if err != nil || len(found.Hits) == 0 || !strings.Contains(found.Hits[0].Note.Content, "I live in Oslo.") {
		t.Fatal(found, err)
	}
	var reply strings.Builder
	for event, err := range client.StreamChat(ctx, nora, slipbox.ChatRequest{Message: new("Where do I live?"), Remember: new(false)}) {
		switch {
		case err != nil:
			t.Fatal(err)
		case event.Delta != nil:
			reply.WriteString(event.Delta.Text)
		case event.Answer.Reply != reply.String() || !strings.Contains(event.Answer.Reply, "Oslo"):
			t.Error(event.Answer.Reply)
		}
	}
	book, err := client.AddFile(ctx, nora, "Mühle \"1\".txt", strings.NewReader("The mill was built in 1720."), slipbox.Wait())
	if err != nil || book.File.State != slipbox.FileStateReady || book.File.Name != "Mühle \"1\".txt" {
		t.Fatal(book, err)
	}
	if again, err := client.AddFile(ctx, nora, "again.txt", strings.NewReader("The mill was built in 1720."), slipbox.Wait()); err != nil || again.File.ID != book.File.ID {
		t.Error(again, err)
	}
	if found, err := client.Search(ctx, nora, slipbox.SearchRequest{Query: new("When was the mill built?")}); err != nil || !strings.Contains(found.Hits[0].Note.Content, "1720") {
		t.Error(found, err)
	}
	fork, err := client.CloneCollection(ctx, nora, slipbox.CloneRequest{})
	if err != nil {
		t.Fatal(err)
	}
	note, err := client.CreateNote(ctx, slipbox.Named(fork.ID), slipbox.NoteInput{Content: "Nora moved to Rome."})
	if err != nil || note.Job == nil {
		t.Fatal(note, err)
	}
	if job, err := client.WaitForJob(ctx, note.Job.ID); err != nil || job.State != slipbox.JobStateDone {
		t.Error(job, err)
	}
	for other, err := range client.ListNotes(ctx, nora, slipbox.Query("limit", "1")) {
		if err != nil || other.ID == note.Note.ID {
			t.Error(other, err)
		}
	}
	if report, err := client.ForgetExternal(ctx, nora, slipbox.Query("forks", "delete")); err != nil || len(report.Deleted) != 2 {
		t.Error(report, err)
	}
	_, err = client.GetCollection(ctx, nora)
	if problem, ok := errors.AsType[*slipbox.ProblemError](err); !ok || problem.Status != http.StatusNotFound || problem.RequestID == "" {
		t.Error(err)
	}
}
