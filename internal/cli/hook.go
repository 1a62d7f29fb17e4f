package cli

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/oapi-codegen/nullable"
	"github.com/spf13/cobra"

	"github.com/slipboxhq/slipbox/internal/app/command"
	"github.com/slipboxhq/slipbox/internal/clip"
	"github.com/slipboxhq/slipbox/internal/text/recalled"
	"github.com/slipboxhq/slipbox/internal/text/unsaid"
	slipbox "github.com/slipboxhq/slipbox/sdk/go"
)

const (
	// recallTime is how long a recall may take from the start of its work. With the start of the process it stays below
	// 300 ms.
	recallTime = 280 * time.Millisecond
	// recallTokens is the budget of what a recall adds to a prompt.
	recallTokens = 800
	// recallQuery is how many characters of a prompt are asked with. A longer one is mostly pasted text.
	recallQuery = 2_000
	// maxSession is how many characters of a session's name are kept.
	maxSession = 199
	// captureTime is how long the background process of a capture may try.
	captureTime = time.Minute
	// maxHookInput bounds what a hook reads, in bytes.
	maxHookInput = 4 << 20
	// maxMessage is the size of a message that is stored, in bytes; the gateway takes 64 KiB.
	maxMessage = 64 << 10
	// turnsKept is how long the prompt of a turn is kept for its end.
	turnsKept = 24 * time.Hour
)

// An assistant is a coding agent that runs commands at certain moments. Claude Code and Codex give them the same input,
// take the same output, and configure them in the same form, in different files.
type assistant struct {
	name, title string
	home, dir   string // the variable with the folder of its settings, and that folder in the home without it
	file        string // in that folder
	after       string // what a person has to do after an installation; "": nothing
}

var assistants = []assistant{
	{name: "claude-code", title: "Claude Code", home: "CLAUDE_CONFIG_DIR", dir: ".claude", file: "settings.json"},
	{name: "codex", title: "Codex", home: "CODEX_HOME", dir: ".codex", file: "hooks.json", after: "Codex runs new hooks once you have trusted them: it asks when it starts, and /hooks shows them."},
}

// hooking is what the commands of one assistant share.
type hooking struct {
	*cli

	of       assistant
	policy   string
	settings string
	verbose  bool
}

func (c *cli) hook() *cobra.Command {
	groups := make([]*cobra.Command, len(assistants))
	for i, a := range assistants {
		h := &hooking{cli: c, of: a}
		groups[i] = command.Group(a.name, "Give "+a.title+" a memory", h.install(), h.uninstall(), h.recall(), h.capture())
		f := groups[i].PersistentFlags()
		f.StringVar(&h.policy, "policy", "mem0", "`policy` of the memory, which the first turn creates")
		f.StringVar(&h.settings, "settings", "", "`file` with the hooks of "+a.title+" (default: "+filepath.Join("~", a.dir, a.file)+")")
		_ = groups[i].MarkPersistentFlagFilename("settings") // it fails for a flag that does not exist
	}
	group := command.Group("hook", "Give a coding agent a memory: recall before a prompt, capture after a turn", groups...)
	group.PersistentPreRunE = func(cmd *cobra.Command, args []string) error {
		if c.collection != "" {
			return command.UsageError(cmd, errors.New("a hook has the memory of a user: use --user, and not --collection"))
		}
		return c.check(cmd, args)
	}
	return group
}

func (h *hooking) install() *cobra.Command {
	var dry bool
	cmd := &cobra.Command{
		Use: "install", Short: "Add the hooks to the settings of " + h.of.title, Args: command.NoArgs,
		Long: "Add two hooks to the settings of " + h.of.title + ": one recalls what is known about a prompt, within 800 tokens\n" +
			"and 300 ms, the other stores the turn when it has ended, in the background. Everything else in the file\n" +
			"stays. Installing again changes what is there.\n\n" +
			"The memory is that of --user (default: your name on this machine), and of --app, --agent and --run if\n" +
			"they are given. The hooks use the gateway and key of the profile (`slipbox login` keeps them), or without\n" +
			"one those of their environment.",
		Example: "  slipbox hook " + h.of.name + " install --dry-run\n  slipbox hook " + h.of.name + " install --user nora@example.com",
		RunE: h.run(func(cmd *cobra.Command, _ []string, to *client) error {
			if err := h.tryKey(cmd, to, ""); err != nil {
				return err
			}
			commands, err := h.commands()
			if err != nil {
				return err
			}
			return h.change(commands, dry)
		}),
	}
	cmd.Flags().BoolVar(&dry, "dry-run", false, "show what would change, and change nothing")
	return cmd
}

func (h *hooking) uninstall() *cobra.Command {
	var dry bool
	cmd := &cobra.Command{
		Use: "uninstall", Short: "Remove the hooks from the settings of " + h.of.title, Args: command.NoArgs,
		RunE: func(*cobra.Command, []string) error { return h.change(nil, dry) },
	}
	cmd.Flags().BoolVar(&dry, "dry-run", false, "show what would change, and change nothing")
	return cmd
}

// change replaces the hooks of slipbox in the settings by these, by event; none removes them.
func (h *hooking) change(commands map[string]string, dry bool) error {
	file, err := h.settingsFile()
	if err != nil {
		return err
	}
	old, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	changed, err := editHooks(old, h.of.name, commands)
	if err != nil {
		return fmt.Errorf("%s: %w; correct the file, nothing was changed", file, err)
	}
	if bytes.Equal(changed, old) {
		return h.errs.line("%s has nothing to change", file)
	}
	if dry {
		h.errs.line("%s would change:", file)
		for _, l := range changes(string(old), string(changed)) {
			h.out.line("%s", clean(l))
		}
		return h.out.err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	mode := os.FileMode(0o600)
	if at, err := filepath.EvalSymlinks(file); err == nil {
		file = at // a link stays one
		if info, err := os.Stat(file); err == nil {
			mode = info.Mode().Perm()
		}
	}
	if err := replaceFile(file, changed, mode); err != nil {
		return err
	}
	if commands == nil {
		return h.errs.line("the hooks are removed from %s", file)
	}
	h.errs.line("the hooks are installed in %s", file)
	if h.of.after == "" {
		return h.errs.err
	}
	return h.errs.line("%s", h.of.after)
}

func (h *hooking) settingsFile() (string, error) {
	if h.settings != "" {
		return h.settings, nil
	}
	if dir := h.getenv(h.of.home); dir != "" {
		return filepath.Join(dir, h.of.file), nil
	}
	home := h.getenv("HOME")
	if home == "" {
		return "", errors.New("HOME is not set; name the file with --settings")
	}
	return filepath.Join(home, h.of.dir, h.of.file), nil
}

// The events that hooks run at.
const (
	eventPrompt = "UserPromptSubmit"
	eventStop   = "Stop"
)

// commands returns the command line of each event.
func (h *hooking) commands() (map[string]string, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	flags := []string{"--user", h.userID()}
	for _, name := range idNames[1:] {
		if id := *h.ids[name]; id != "" {
			flags = append(flags, "--"+name, id)
		}
	}
	kept := h.profile
	if kept == "" && h.url == "" && h.envKey() == "" {
		// The profile of today, also when the agent's environment names another gateway later.
		list, err := h.readProfiles()
		if err != nil {
			return nil, err
		}
		kept = list.Default
	}
	if kept != "" {
		flags = append(flags, "--profile", kept)
	}
	if h.url != "" {
		flags = append(flags, "--url", h.url)
	}
	out := map[string]string{}
	for event, action := range map[string]string{eventPrompt: "recall", eventStop: "capture"} {
		words := append([]string{self, "hook", h.of.name, action}, flags...)
		if event == eventStop {
			words = append(words, "--policy", h.policy)
		}
		for i := range words {
			words[i] = shellWord(words[i])
		}
		out[event] = strings.Join(words, " ")
	}
	return out, nil
}

// userID returns the id of the user whose memory it is.
func (h *hooking) userID() string {
	name := h.getenv("USER")
	if u, err := user.Current(); name == "" && err == nil {
		name = u.Username
	}
	return cmp.Or(*h.ids["user"], name, "me")
}

// shellWord quotes a word of a command line where that is needed.
func shellWord(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:@%+=,", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// hookInput is what an assistant says to a hook.
type hookInput struct {
	Session string `json:"session_id"`
	Turn    string `json:"turn_id"`   // of Codex
	Asked   string `json:"prompt_id"` // the same of Claude Code
	Agent   string `json:"agent_id"`  // a part of the work that the assistant gave to another agent, in the same session
	Prompt  string `json:"prompt"`
	Source  string `json:"source"` // of Claude Code: "system" for a prompt that nobody wrote, such as the end of a task
	Reply   string `json:"last_assistant_message"`
	Of      *turn  `json:"slipbox_turn,omitempty"` // that has ended; nil: the one that is kept
}

// turn returns the id of the turn; "": the assistant names none.
func (in hookInput) turn() string { return cmp.Or(in.Turn, in.Asked) }

// turn is what is kept of a turn until it ends.
type turn struct {
	ID       string `json:"id"`
	Prompt   string `json:"prompt"`
	Recalled bool   `json:"recalled"` // memories were added to the prompt
}

func (h *hooking) recall() *cobra.Command {
	cmd := &cobra.Command{
		Use: "recall", Short: "Print what is known about a prompt (the hook runs it)", Args: command.NoArgs,
		Long: "Read the input of the hook " + eventPrompt + " and print what the memory knows about the prompt, between marks by\n" +
			"which it is recognized and not stored again. When the gateway is away or slow, or the input is broken, it\n" +
			"prints nothing, and exits with 0.",
		Example: "  echo '{\"prompt\": \"Where is the kiln?\"}' | slipbox hook " + h.of.name + " recall --verbose",
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, cancel := context.WithTimeout(cmd.Context(), recallTime)
			defer cancel()
			return h.quiet(h.remind(ctx))
		},
	}
	cmd.Flags().BoolVar(&h.verbose, "verbose", false, "say on stderr why nothing is printed")
	return cmd
}

// quiet keeps an error from the assistant, which must go on without a memory.
func (h *hooking) quiet(err error) error {
	h.out.err = nil // nor what cannot be printed
	if err != nil && h.verbose {
		return h.errs.line("nothing: %s", command.Message(err))
	}
	return nil
}

// remind prints what is known about the prompt of the input.
func (h *hooking) remind(ctx context.Context) error {
	in, err := h.input(ctx)
	if err != nil {
		return err
	}
	in.Prompt = recalled.Strip(in.Prompt)
	if in.Agent != "" || in.Source == "system" || strings.HasPrefix(in.Prompt, "<task-notification>") {
		in.Prompt = ""
	}
	t := turn{ID: cmp.Or(in.turn(), newKey()), Prompt: in.Prompt}
	if err := h.keep(in, t); err != nil {
		return err
	}
	if in.Prompt == "" {
		return errors.New("the input has no prompt that a person wrote")
	}
	to, path, query, err := h.memory()
	if err != nil {
		return err
	}
	to.noRetry = true
	asked, budget := clip.Runes(in.Prompt, recallQuery), recallTokens
	var got slipbox.ContextAnswer
	r := request{Method: http.MethodPost, Path: path + "/context", Query: query, Body: slipbox.ContextRequest{Query: &asked, TokenBudget: &budget}, Repeatable: true}
	if _, _, err := to.get(ctx, r, &got); err != nil {
		if missing, ok := errors.AsType[*refusal](err); ok && missing.missesCollection() {
			missing.whose, missing.fix = h.whose(), "the first turn that ends creates it"
		}
		return err
	}
	if got.Text == "" {
		return errors.New("nothing is known about this prompt")
	}
	t.Recalled = true
	if err := h.keep(in, t); err != nil {
		return err
	}
	type specific struct {
		Event   string `json:"hookEventName"`
		Context string `json:"additionalContext"`
	}
	return h.out.value(map[string]specific{"hookSpecificOutput": {eventPrompt, recalled.Mark(got.Text)}})
}

// memory returns a client, and the path and query of the memory of the hook.
func (h *hooking) memory() (*client, string, url.Values, error) {
	to, err := h.connect()
	if err != nil {
		return nil, "", nil, err
	}
	user := h.userID()
	h.ids["user"] = &user
	path, query, err := h.target(to)
	return to, path, query, err
}

// input reads what the assistant says.
func (h *hooking) input(ctx context.Context) (hookInput, error) {
	var in hookInput
	raw, err := reading(ctx, func() ([]byte, error) { return io.ReadAll(io.LimitReader(h.in, maxHookInput+1)) })
	switch {
	case ctx.Err() != nil:
		return in, errors.New("the input did not end in time")
	case err != nil:
		return in, err
	case len(raw) > maxHookInput:
		return in, fmt.Errorf("the input has more than %d MiB", maxHookInput>>20)
	}
	if err := json.Unmarshal(raw, &in); err != nil {
		return in, errors.New("the input is not the JSON of a hook") // without the text, which may hold secrets
	}
	return in, nil
}

// keep keeps a turn until it ends. Only its owner may read it.
func (h *hooking) keep(in hookInput, t turn) error {
	file, err := h.turnFile(in)
	if err != nil {
		return err
	}
	raw, err := json.Marshal(t)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	return os.WriteFile(file, raw, 0o600) // what a crash loses is one turn
}

// turnFile returns where a turn is kept: in slipbox/turns below XDG_STATE_HOME, or else ~/.local/state. Each turn has a file
// of its own, since another prompt of the session may come before it has ended. Where the assistant names no turns, the
// session has one file.
func (h *hooking) turnFile(in hookInput) (string, error) {
	dir := h.baseDir("XDG_STATE_HOME", filepath.Join(".local", "state"))
	if dir == "" {
		return "", errors.New("HOME is not set")
	}
	return filepath.Join(dir, "slipbox", "turns", digest(h.of.name, in.Session, in.turn())+".json"), nil
}

// digest returns a short name for a list of texts.
func digest(parts ...string) string {
	sum := sha256.New()
	for _, p := range parts {
		_, _ = fmt.Fprintf(sum, "%d %s", len(p), p) // a hash does not fail
	}
	return hex.EncodeToString(sum.Sum(nil)[:16])
}

func (h *hooking) capture() *cobra.Command {
	var wait bool
	cmd := &cobra.Command{
		Use: "capture", Short: "Store the turn that has ended (the hook runs it)", Args: command.NoArgs,
		Long: "Read the input of the hook " + eventStop + " and store the turn, the prompt that `recall` saw and the reply, in the\n" +
			"background. A turn is stored once, however often the hook runs. What was recalled is not stored again, and\n" +
			"nothing is learned from a reply that memories were recalled for. It prints nothing, and exits with 0.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, cancel := context.WithTimeout(cmd.Context(), captureTime)
			defer cancel()
			in, err := h.input(ctx)
			if err == nil && in.Of == nil {
				in.Of, err = h.kept(in) // before the assistant continues: the next prompt may replace it
			}
			switch {
			case err != nil:
			case wait:
				err = h.store(ctx, in)
			default:
				err = background(in)
			}
			return h.quiet(err)
		},
	}
	cmd.Flags().BoolVar(&wait, "wait", false, "store it before the command ends")
	cmd.Flags().BoolVar(&h.verbose, "verbose", false, "say on stderr why nothing is stored")
	return cmd
}

// background starts the same command again, with --wait, in a session of its own, so that the assistant does not wait for
// it and does not end it.
func background(in hookInput) error {
	raw, err := json.Marshal(in)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	input, err := os.CreateTemp("", "slipbox-turn-") // with mode 0600
	if err != nil {
		return err
	}
	defer func() { _ = input.Close() }()
	if err := os.Remove(input.Name()); err != nil { // the open file is enough
		return err
	}
	if _, err := input.Write(raw); err != nil {
		return err
	}
	if _, err := input.Seek(0, io.SeekStart); err != nil {
		return err
	}
	//nolint:gosec,noctx // this binary, with its own arguments; it outlives this process
	again := exec.Command(self, append(slices.Clone(os.Args[1:]), "--wait")...)
	again.Stdin = input // and nothing for stdout and stderr: a program that waits for their end would wait for it
	again.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := again.Start(); err != nil {
		return err
	}
	return again.Process.Release()
}

// kept returns the turn that has ended.
func (h *hooking) kept(in hookInput) (*turn, error) {
	file, err := h.turnFile(in)
	if err != nil {
		return nil, err
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, errors.New("no prompt of this turn is known; `recall` keeps it")
	}
	var t turn
	if err := json.Unmarshal(raw, &t); err != nil {
		return nil, err
	}
	if t.Prompt == "" {
		return nil, errors.New("nobody wrote the prompt of this turn")
	}
	forgetTurns(filepath.Dir(file))
	return &t, nil
}

// store stores the turn that has ended.
func (h *hooking) store(ctx context.Context, in hookInput) error {
	to, path, query, err := h.memory()
	if err != nil {
		return err
	}
	said := h.messages(in)
	if len(said) == 0 {
		return errors.New("the turn has no text of its own")
	}
	r := request{Method: http.MethodPost, Path: path + "/messages", Query: query, Body: slipbox.MessagesInput{Messages: said}}
	once(&r, digest(h.of.name, in.Session, in.Of.ID, in.Of.Prompt, in.Reply))
	r.Header.Set(headerCreate, h.policy)
	_, _, err = to.get(ctx, r, nil)
	return err
}

// messages returns the messages of a turn. Their ids are the same whenever the turn is stored.
func (h *hooking) messages(in hookInput) []slipbox.MessageInput {
	t := in.Of
	var list []slipbox.MessageInput
	for _, m := range []struct {
		role slipbox.MessageRole
		text string
	}{{slipbox.MessageRoleUser, t.Prompt}, {slipbox.MessageRoleAssistant, in.Reply}} {
		said := unsaid.Mark(recalled.Strip(m.text), m.role == slipbox.MessageRoleAssistant) // before it is cut
		text := clip.Bytes(strings.ToValidUTF8(said, "\uFFFD"), maxMessage)
		if text == "" {
			continue
		}
		content, session := nullable.NewNullableWithValue[any](text), any(cmp.Or(clip.Runes(in.Session, maxSession), "unknown"))
		id := h.of.name + "/" + digest(in.Session, t.ID, string(m.role), text)
		role, again := m.role, t.Recalled
		message := slipbox.MessageInput{ID: &id, Role: &role, Content: content, Session: &session}
		if role == slipbox.MessageRoleAssistant && again {
			message.Recalled = &again
		}
		list = append(list, message)
	}
	return list
}

// forgetTurns removes turns that never ended.
func forgetTurns(dir string) {
	list, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range list {
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > turnsKept {
			_ = os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}
