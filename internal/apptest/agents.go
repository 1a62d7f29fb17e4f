package apptest

import (
	"bytes"
	"fmt"
	"mime/multipart"
	"net/http"
	"testing"

	"github.com/slipboxhq/slipbox/internal/memory"
)

// Agent creates an agent with settings and returns its path.
func (b *System) Agent(t *testing.T, name, config string) string {
	t.Helper()
	made := b.Call(t, "one", "POST", "/v1/collections", fmt.Sprintf(`{"name":%q,"policy":"memgpt","policy_config":%s}`, name, config)).Want(http.StatusCreated)
	return "/v1/collections/" + made.Text("id")
}

// Script makes the model answer with turns, one after another; the last one is repeated. It returns the dialogues.
func (b *System) Script(turns ...memory.Turn) *[]memory.Dialogue {
	var seen []memory.Dialogue
	b.Model.AnswerTurns(func(d memory.Dialogue) (memory.TurnResult, error) {
		seen = append(seen, d)
		turn := turns[min(len(seen), len(turns))-1]
		return memory.TurnResult{Turn: turn, Analyst: memory.AnalystModel, Model: "scripted", Requests: 1, PromptTokens: 100, CompletionTokens: 10}, nil
	})
	return &seen
}

// Converse makes the model answer by a function.
func (b *System) Converse(answer func(d memory.Dialogue) memory.Turn) {
	b.Model.AnswerTurns(func(d memory.Dialogue) (memory.TurnResult, error) {
		return memory.TurnResult{Turn: answer(d), Analyst: memory.AnalystModel, Model: "scripted", Requests: 1, PromptTokens: 1, CompletionTokens: 1}, nil
	})
}

// Calls returns a turn that calls tools: names and arguments in turn.
func Calls(t *testing.T, pairs ...any) memory.Turn {
	t.Helper()
	turn := memory.Turn{Role: memory.RoleAssistant}
	for i := 0; i < len(pairs); i += 2 {
		name, _ := pairs[i].(string)
		arguments, ok := pairs[i+1].(string)
		if !ok {
			arguments = JSON(t, pairs[i+1])
		}
		turn.Calls = append(turn.Calls, memory.ToolCall{ID: "x", Name: name, Arguments: arguments})
	}
	return turn
}

// Says posts a message to an agent and returns the run when it is over.
func (b *System) Says(t *testing.T, c, content string) Response {
	t.Helper()
	return b.Call(t, "one", "POST", c+"/events", JSON(t, map[string]any{"content": content, "wait": "done"})).Want(http.StatusOK)
}

// Use runs a tool of an agent.
func (b *System) Use(t *testing.T, c, tool string, arguments any) Response {
	t.Helper()
	return b.Call(t, "one", "POST", c+"/step", JSON(t, map[string]any{"tool": tool, "arguments": arguments})).Want(http.StatusOK)
}

// Did runs a tool of an agent that must succeed, and returns its result.
func (b *System) Did(t *testing.T, c, tool string, arguments map[string]any) string {
	t.Helper()
	got := b.Use(t, c, tool, arguments)
	if got.At("ok") != true || got.At("error") != nil || got.Number("tokens") == 0 {
		t.Fatalf("%s failed: %s", tool, got.Body)
	}
	return got.Text("result")
}

// Upload uploads a file to a folder.
func (b *System) Upload(t *testing.T, credential, folder, name, content string) Response {
	t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	part, err := form.CreateFormFile("file", name)
	if err == nil {
		_, err = part.Write([]byte(content))
	}
	if err == nil {
		err = form.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Call(t, credential, "POST", folder+"/files", body.String(), "Content-Type", form.FormDataContentType())
}

// ReadFile uploads a file and runs its job; it returns the file as it is then.
func (b *System) ReadFile(t *testing.T, folder, name, content string) Response {
	t.Helper()
	made := b.Upload(t, "one", folder, name, content).Want(http.StatusAccepted)
	if made.Text("file.state") != "queued" {
		t.Errorf("accepted is %s", made.Body)
	}
	b.RunJobs(t)
	return b.Call(t, "one", "GET", folder+"/files/"+made.Text("file.id"), "").Want(http.StatusOK)
}
