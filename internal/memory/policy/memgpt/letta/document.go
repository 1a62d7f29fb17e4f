package letta

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
)

// The parts of an agent file that are read and written. Members that are read only are left out when they are empty.
type (
	document struct {
		Agents     []agentPart       `json:"agents"`
		Groups     []json.RawMessage `json:"groups"`
		Blocks     []blockPart       `json:"blocks"`
		Files      []json.RawMessage `json:"files"`
		Sources    []json.RawMessage `json:"sources"`
		Tools      []toolPart        `json:"tools"`
		MCPServers []json.RawMessage `json:"mcp_servers"`
		Metadata   map[string]any    `json:"metadata"`
		CreatedAt  string            `json:"created_at"`
	}

	agentPart struct {
		ID          string         `json:"id"`
		Name        string         `json:"name"`
		Description *string        `json:"description"`
		AgentType   string         `json:"agent_type"`
		System      *string        `json:"system"`
		BlockIDs    []string       `json:"block_ids"`
		Inline      []blockPart    `json:"memory_blocks"`
		ToolIDs     []string       `json:"tool_ids"`
		ToolRules   []rulePart     `json:"tool_rules"`
		Tags        []string       `json:"tags"`
		Messages    []messagePart  `json:"messages"`
		InContext   []string       `json:"in_context_message_ids"`
		Metadata    map[string]any `json:"metadata"`

		slipbox *slipboxPart // of Metadata, when a file is read
		tools   []toolPart
	}

	blockPart struct {
		ID          string         `json:"id"`
		Label       string         `json:"label"`
		Value       string         `json:"value"`
		Limit       *int           `json:"limit"`
		Description *string        `json:"description"`
		ReadOnly    bool           `json:"read_only"`
		Metadata    map[string]any `json:"metadata"`

		path string // in the file, when one is read
	}

	toolPart struct {
		ID          string          `json:"id"`
		ToolType    string          `json:"tool_type"`
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Tags        []string        `json:"tags"`
		SourceType  string          `json:"source_type"`
		SourceCode  *string         `json:"source_code,omitempty"` // never run, never stored
		JSONSchema  json.RawMessage `json:"json_schema,omitempty"`
	}

	rulePart struct {
		Tool     string          `json:"tool_name"`
		Type     string          `json:"type"`
		Children []string        `json:"children,omitempty"`
		Most     *int            `json:"max_count_limit,omitempty"`
		Args     json.RawMessage `json:"args,omitempty"`
	}

	messagePart struct {
		ID         string          `json:"id"`
		Type       string          `json:"type"`
		Role       string          `json:"role"`
		Content    json.RawMessage `json:"content"` // a text, a list of parts, or null
		Name       *string         `json:"name,omitempty"`
		ToolCalls  []callPart      `json:"tool_calls,omitempty"`
		ToolCallID *string         `json:"tool_call_id,omitempty"`
		Returns    []returnPart    `json:"tool_returns"`
		CreatedAt  string          `json:"created_at"`
	}

	contentPart struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}

	callPart struct {
		ID       string       `json:"id"`
		Type     string       `json:"type"`
		Function functionPart `json:"function"`
	}

	functionPart struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	}

	returnPart struct {
		CallID string          `json:"tool_call_id"`
		Status string          `json:"status"`
		Result json.RawMessage `json:"func_response"` // a text, or any JSON
	}
)

// slipboxVersion is the version of what the metadata of an agent has under "slipbox".
const slipboxVersion = 1

// slipboxPart is what Letta has no place for.
type slipboxPart struct {
	Version int             `json:"version"`
	Config  json.RawMessage `json:"policy_config,omitempty"`
	// Messages are the lines of an import for messages of the file, by their ids there, without what the
	// file says of them.
	Messages map[string]map[string]any `json:"messages,omitempty"`
	Notes    []map[string]any          `json:"notes,omitempty"` // lines of an import
	Left     []map[string]string       `json:"not_carried,omitempty"`
}

// slipboxMember is the member of an agent's metadata that holds a slipboxPart.
const slipboxMember = "slipbox"

// known are the members of the file and of an agent that are read, or say nothing that could be carried.
var (
	knownOfFile  = []string{"agents", "blocks", "tools", "metadata", "created_at"}
	knownOfAgent = []string{
		"id", "name", "description", "agent_type", "block_ids", "memory_blocks", "core_memory", "tool_ids", "tools", "tool_rules", "tags", "messages",
		"in_context_message_ids", "in_context_message_indices", "metadata", "metadata_", "created_at", "updated_at", "version", "timezone", "template",
		"include_base_tools", "include_multi_agent_tools", "include_base_tool_rules", "include_default_source",
	}
)

// reasons say why members are not carried; "" is for all others.
var reasons = map[string]string{
	"":                                "there is nothing like it here",
	"system":                          "the instructions are those of the policy, which no file and no tool changes",
	"llm_config":                      "the model and its window are settings of the gateway and of policy_config",
	"embedding_config":                "the embedder is that of the collection",
	"context_window_limit":            "the window is policy_config.window",
	"tool_exec_environment_variables": "secrets are not carried and were not stored",
	"secrets":                         "secrets are not carried and were not stored",
	"identity_ids":                    "identities are not carried",
	"files":                           "upload files to a folder and attach it",
	"sources":                         "upload files to a folder and attach it",
	"files_agents":                    "upload files to a folder and attach it",
	"source_ids":                      "upload files to a folder and attach it",
	"folder_ids":                      "upload files to a folder and attach it",
	"groups":                          "agents work together by blocks that they share",
	"group_ids":                       "agents work together by blocks that they share",
	"multi_agent_group":               "agents work together by blocks that they share",
	"mcp_servers":                     "tools of MCP servers are not called here",
}

// parse reads an agent file of either form, and of its agents the named one: by its id or name, or the only one when
// the name is empty.
func parse(raw []byte, name string, out *left) (*agentPart, error) {
	if !json.Valid(raw) { // a decoder would leave out what follows the first value
		return nil, fault.New(fault.Malformed, "the file is not JSON, or it is cut off")
	}
	members, err := object(raw, "")
	if err != nil {
		return nil, err
	}
	_, many := members["agents"]
	_, single := members["core_memory"]
	switch {
	case many:
		return parseMany(members, name, out)
	case single:
		return parseSingle(members, out)
	}
	return nil, fault.New(fault.Invalid, "this is not an agent file: it has neither agents nor core_memory")
}

// object decodes the members of an object.
func object(raw json.RawMessage, field string) (map[string]json.RawMessage, error) {
	var m map[string]json.RawMessage
	if err := decode(raw, &m, field); err != nil {
		return nil, err
	}
	if m == nil {
		return nil, wrongType(field, "an object")
	}
	return m, nil
}

func wrongType(field, want string) error {
	if field == "" {
		return fault.New(fault.Invalid, "the file must be %s", want)
	}
	return fault.InvalidField(field, "must be %s", want)
}

// decode decodes a part of the file. Malformed for what is not JSON, Invalid with the member for a wrong type.
func decode(raw []byte, v any, field string) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	err := d.Decode(v)
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		at := strings.Trim(field+"."+wrong.Field, ".")
		return wrongType(at, "of another type than a JSON "+wrong.Value)
	}
	if err != nil {
		return fault.Wrap(err, fault.Malformed, "the file is not JSON, or it is cut off")
	}
	return nil
}

func parseMany(members map[string]json.RawMessage, name string, out *left) (*agentPart, error) {
	var list []json.RawMessage
	if err := decode(members["agents"], &list, "agents"); err != nil {
		return nil, err
	}
	at, err := choose(list, name)
	if err != nil {
		return nil, err
	}
	field := memory.ElementField("agents", at)
	for i := range list {
		if i != at {
			out.add(memory.ElementField("agents", i), "one agent is imported into one collection")
		}
	}
	var a agentPart
	parts, err := object(list[at], field)
	if err != nil {
		return nil, err
	}
	delete(parts, "tools") // names of tools to create with the agent, which exports leave empty
	if err := decodeParts(parts, &a, field); err != nil {
		return nil, err
	}
	var blocks []blockPart
	var tools []toolPart
	if err := decodeMember(members, "blocks", &blocks); err != nil {
		return nil, err
	}
	if err := decodeMember(members, "tools", &tools); err != nil {
		return nil, err
	}
	if err := a.resolve(blocks, tools, field); err != nil {
		return nil, err
	}
	if err := a.readSlipbox(field); err != nil {
		return nil, err
	}
	unknown(members, knownOfFile, "", out)
	unknown(parts, knownOfAgent, field+".", out)
	return &a, nil
}

// choose returns the place of an agent.
func choose(list []json.RawMessage, name string) (int, error) {
	if len(list) == 0 {
		return 0, fault.InvalidField("agents", "must not be empty")
	}
	var names []string
	for i, raw := range list {
		var a struct {
			ID   string `json:"id"`
			Name string `json:"name"`
		}
		if err := decode(raw, &a, memory.ElementField("agents", i)); err != nil {
			return 0, err
		}
		if name != "" && (a.ID == name || a.Name == name) {
			return i, nil
		}
		names = append(names, a.ID)
	}
	const most = 20
	if name == "" && len(list) == 1 {
		return 0, nil
	}
	return 0, fault.InvalidField("agent", "choose one of the agents of the file: %s", strings.Join(names[:min(len(names), most)], ", "))
}

// decodeParts decodes an object of which the members are known.
func decodeParts(parts map[string]json.RawMessage, v any, field string) error {
	raw, err := json.Marshal(parts)
	if err != nil {
		return fault.Wrap(err, fault.Malformed, "the file is not JSON")
	}
	return decode(raw, v, field)
}

func decodeMember(members map[string]json.RawMessage, name string, v any) error {
	if raw, ok := members[name]; ok {
		return decode(raw, v, name)
	}
	return nil
}

// resolve finds the blocks and tools that the agent refers to.
func (a *agentPart) resolve(blocks []blockPart, tools []toolPart, field string) error {
	for i, id := range a.BlockIDs {
		at := slices.IndexFunc(blocks, func(b blockPart) bool { return b.ID == id })
		if at < 0 {
			return fault.InvalidField(memory.ElementField(field+".block_ids", i), "the file has no block %q", id)
		}
		b := blocks[at]
		b.path = memory.ElementField("blocks", at)
		a.Inline = append(a.Inline, b)
	}
	for i := range a.Inline {
		if a.Inline[i].path == "" {
			a.Inline[i].path = memory.ElementField(field+".memory_blocks", i)
		}
	}
	for i, id := range a.ToolIDs {
		at := slices.IndexFunc(tools, func(t toolPart) bool { return t.ID == id })
		if at < 0 {
			return fault.InvalidField(memory.ElementField(field+".tool_ids", i), "the file has no tool %q", id)
		}
		a.tools = append(a.tools, tools[at])
	}
	return nil
}

// parseSingle reads the older form: one agent, with its blocks and tools in it, and without ids.
func parseSingle(members map[string]json.RawMessage, out *left) (*agentPart, error) {
	var old struct {
		CoreMemory []struct {
			Label       string         `json:"label"`
			Value       string         `json:"value"`
			Limit       *int           `json:"limit"`
			Description *string        `json:"description"`
			ReadOnly    bool           `json:"read_only"`
			Metadata    map[string]any `json:"metadata_"`
		} `json:"core_memory"`
		Tools     []toolPart             `json:"tools"`
		Tags      []struct{ Tag string } `json:"tags"`
		InContext []int                  `json:"in_context_message_indices"`
		Metadata  map[string]any         `json:"metadata_"`
	}
	var a agentPart
	parts := maps.Clone(members)
	for _, name := range []string{"tools", "tags", "metadata", "in_context_message_ids", "block_ids", "memory_blocks", "tool_ids"} {
		delete(parts, name)
	}
	if err := decodeParts(parts, &a, ""); err != nil {
		return nil, err
	}
	parts = map[string]json.RawMessage{}
	for _, name := range []string{"core_memory", "tools", "tags", "in_context_message_indices", "metadata_"} {
		if raw, ok := members[name]; ok {
			parts[name] = raw
		}
	}
	if err := decodeParts(parts, &old, ""); err != nil {
		return nil, err
	}
	a.tools, a.Metadata = old.Tools, old.Metadata
	for _, t := range old.Tags {
		a.Tags = append(a.Tags, t.Tag)
	}
	for i, b := range old.CoreMemory {
		a.Inline = append(a.Inline, blockPart{
			Label: b.Label, Value: b.Value, Limit: b.Limit, Description: b.Description, ReadOnly: b.ReadOnly, Metadata: b.Metadata, path: memory.ElementField("core_memory", i),
		})
	}
	for i := range a.Messages {
		a.Messages[i].ID = fmt.Sprintf("message-%d", i)
	}
	for i, at := range old.InContext {
		if at < 0 || at >= len(a.Messages) {
			return nil, fault.InvalidField(memory.ElementField("in_context_message_indices", i), "there are %d messages", len(a.Messages))
		}
		a.InContext = append(a.InContext, a.Messages[at].ID)
	}
	unknown(members, knownOfAgent, "", out)
	return &a, a.readSlipbox("")
}

// readSlipbox decodes what an export of ours has put into the metadata.
func (a *agentPart) readSlipbox(field string) error {
	given, ok := a.Metadata[slipboxMember]
	if !ok {
		return nil
	}
	at := strings.Trim(field+".metadata."+slipboxMember, ".")
	raw, err := json.Marshal(given)
	if err != nil {
		return fault.Wrap(err, fault.Malformed, "the file is not JSON")
	}
	var version struct {
		Version json.Number `json:"version"`
	}
	if err := decode(raw, &version, at); err != nil {
		return err
	}
	if version.Version != json.Number(fmt.Sprint(slipboxVersion)) {
		return fault.InvalidField(at+".version", "is %q; this version reads %d", version.Version, slipboxVersion)
	}
	a.slipbox = &slipboxPart{}
	if err := decode(raw, a.slipbox, at); err != nil {
		return err
	}
	if len(a.slipbox.Notes) > maxMessages {
		return fault.New(fault.TooLarge, "the file has more than %d passages", maxMessages)
	}
	return nil
}

// unknown lists the members that are not read and say something.
func unknown(members map[string]json.RawMessage, known []string, prefix string, out *left) {
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if slices.Contains(known, name) || isEmpty(members[name]) {
			continue
		}
		reason, ok := reasons[name]
		if !ok {
			reason = reasons[""]
		}
		if name == "tool_exec_environment_variables" || name == "secrets" {
			reason = secretNames(members[name]) + reason
		}
		out.add(prefix+name, reason)
	}
}

// isEmpty reports whether a value says nothing.
func isEmpty(raw json.RawMessage) bool {
	return slices.Contains([]string{"null", "false", "0", `""`, "[]", "{}"}, string(bytes.TrimSpace(raw)))
}

// secretNames returns the names of secrets as the beginning of a reason, without their values.
func secretNames(raw json.RawMessage) string {
	var names []string
	var byName map[string]json.RawMessage
	var list []struct {
		Key string `json:"key"`
	}
	switch {
	case json.Unmarshal(raw, &byName) == nil:
		names = slices.Sorted(maps.Keys(byName))
	case json.Unmarshal(raw, &list) == nil:
		for _, v := range list {
			names = append(names, v.Key)
		}
	}
	const most = 20
	if len(names) == 0 {
		return ""
	}
	return strings.Join(names[:min(len(names), most)], ", ") + ": "
}

// texts returns the text of a message, and how many parts of other types it has, by type.
func (m *messagePart) texts(field string) (text string, others map[string]int, err error) {
	raw := bytes.TrimSpace(m.Content)
	if len(raw) == 0 || string(raw) == "null" {
		return "", nil, nil
	}
	if raw[0] == '"' {
		err := decode(raw, &text, field+".content")
		return text, nil, err
	}
	var parts []json.RawMessage
	if err := decode(raw, &parts, field+".content"); err != nil {
		return "", nil, err
	}
	var said []string
	others = map[string]int{}
	for i, p := range parts {
		var c contentPart
		if err := decode(p, &c, memory.ElementField(field+".content", i)); err != nil {
			return "", nil, err
		}
		if c.Type != "text" {
			others[c.Type]++
			continue
		}
		said = append(said, c.Text)
	}
	return strings.Join(said, "\n"), others, nil
}

// parseTime reads a time as Letta writes it: ISO 8601, in UTC when it has no zone.
func parseTime(s string) (time.Time, bool) {
	for _, form := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999Z07:00", "2006-01-02 15:04:05.999999999"} {
		if t, err := time.Parse(form, s); err == nil {
			return memory.EventInstant(t), true
		}
	}
	return time.Time{}, false
}
