package cli

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	slipbox "github.com/slipboxhq/slipbox/sdk/go"
)

// dialogueLength is how many messages of a dialogue are sent with the next one. The memory has the others.
const dialogueLength = 20

// chatting is a dialogue with a memory.
type chatting struct {
	*cli

	to       *client
	path     string
	query    url.Values
	create   string
	model    string
	forget   bool
	dialogue []slipbox.Message
}

func (c *cli) chat() *cobra.Command {
	var s chatting
	cmd := &cobra.Command{
		Use: "chat [MESSAGE…]", Short: "Ask a memory, and be remembered",
		Long: "Ask a memory: the answer is written from what it holds, and both are remembered. Without a message,\n" +
			"a terminal opens a dialogue, which Ctrl-D ends; a pipe is read as one message.",
		Example: "  slipbox chat where do I live now\n" +
			"  slipbox chat --user nora@example.com --create mem0",
		RunE: c.run(func(cmd *cobra.Command, args []string, to *client) error {
			s.cli, s.to = c, to
			var err error
			if s.path, s.query, err = c.target(to); err != nil {
				return err
			}
			if _, typed := terminal(c.in); typed && len(args) == 0 {
				return s.talk(cmd.Context())
			}
			message, err := c.content(cmd.Context(), args, "a message")
			if err != nil {
				return err
			}
			return s.say(cmd.Context(), message)
		}),
	}
	f := cmd.Flags()
	f.StringVar(&s.create, "create", "", "create the collection if there is none, with this `policy` (mem0, amem …)")
	f.StringVar(&s.model, "model", "", "`model` of the gateway that answers (default: the collection's)")
	f.BoolVar(&s.forget, "forget", false, "do not remember the question and the answer")
	return cmd
}

func said(role slipbox.MessageRole, content string) slipbox.Message {
	return slipbox.Message{Role: &role, Content: &content}
}

// talk answers one line after the other until the input ends. An answer that fails does not end the dialogue.
func (s *chatting) talk(ctx context.Context) error {
	lines := make(chan string)
	ended := make(chan error, 1)
	go func() { // the read of a terminal cannot be interrupted, so it is not waited for
		in := bufio.NewScanner(s.in)
		in.Buffer(nil, maxText)
		for in.Scan() {
			select {
			case lines <- in.Text():
			case <-ctx.Done():
				return
			}
		}
		ended <- in.Err()
	}()
	for {
		s.errs.write(s.errs.bold("> "))
		select {
		case line := <-lines:
			if line = strings.TrimSpace(line); line == "" {
				continue
			}
			if err := s.say(ctx, line); err != nil {
				err = explain(ctx, s.to, err)
				if ctx.Err() != nil {
					return err
				}
				s.errs.line("%s", err)
			}
		case err := <-ended:
			return errors.Join(err, s.errs.line(""))
		case <-ctx.Done():
			return s.errs.line("")
		}
	}
}

// say sends a message with the dialogue before it, and prints the answer.
func (s *chatting) say(ctx context.Context, message string) error {
	ask := slipbox.ChatRequest{}
	own := slices.Concat(s.dialogue, []slipbox.Message{said(slipbox.MessageRoleUser, message)})
	ask.Messages = own[max(0, len(own)-dialogueLength):]
	if s.model != "" {
		ask.Model = &s.model
	}
	if s.forget {
		remember := false
		ask.Remember = &remember
	}
	stream := !s.asJSON()
	ask.Stream = &stream
	r := request{Method: http.MethodPost, Path: s.path + "/chat", Query: s.query, Body: ask}
	if !stream {
		return s.cli.create(ctx, s.to, s.create, func() error {
			raw, _, err := s.to.get(ctx, r, nil)
			if err != nil {
				return err
			}
			return s.out.json(raw)
		})
	}
	answer, err := s.stream(ctx, r)
	if err != nil {
		return err
	}
	s.dialogue = slices.Concat(own, []slipbox.Message{said(slipbox.MessageRoleAssistant, answer.Reply)})
	return s.errs.details(0, *cmp.Or(answer.Model, new("no model")), count(len(answer.Citations), "memory used", "memories used"))
}

// stream sends a request for a chat and prints the reply while it is written.
func (s *chatting) stream(ctx context.Context, r request) (*slipbox.ChatAnswer, error) {
	s.errs.statusf("…")
	defer s.errs.done()
	var answer *slipbox.ChatAnswer
	written := flow{screen: s.out}
	printed := false
	each := func(e slipbox.ServerEvent) error {
		s.errs.done()
		switch e.Name {
		case "delta":
			var d slipbox.ChatDelta
			if err := json.Unmarshal(e.Data, &d); err != nil {
				return err
			}
			printed = true
			return written.add(d.Text, false)
		case "done":
			return json.Unmarshal(e.Data, &answer)
		case "error":
			refused := &refusal{}
			if err := json.Unmarshal(e.Data, &refused.Problem); err != nil {
				return err
			}
			return refused
		}
		return nil
	}
	err := s.cli.create(ctx, s.to, s.create, func() error {
		_, err := s.to.stream(ctx, r, each)
		return err
	})
	if printed {
		err = errors.Join(err, written.add("", true), s.out.line(""))
	}
	if err == nil && answer == nil {
		err = failure{"the answer broke off; try again", ExitAway}
	}
	if err != nil {
		return nil, err
	}
	if !printed {
		err = s.out.text("", answer.Reply)
	}
	return answer, err
}
