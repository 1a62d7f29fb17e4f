package archtest

// Module is the import path of the module that the map describes.
const Module = "github.com/slipboxhq/slipbox"

// Client is the import path of the Go client, a module of its own.
const Client = Module + "/sdk/go"

// A Layer is a set of packages with the same duties. Imports go down the list, never up:
// commands, app, edges, core, leaves. Adapters are beside the core: they import it,
// and only app imports them.
type Layer string

// The layers, from the top.
const (
	LayerCommand Layer = "command"
	LayerApp     Layer = "app"
	LayerConfig  Layer = "config"
	LayerEdge    Layer = "edge"
	LayerAdapter Layer = "adapter"
	LayerCore    Layer = "core"
	LayerLeaf    Layer = "leaf"
	// LayerTool holds what developers run. The gateway and the worker contain none of it.
	LayerTool Layer = "tool"
)

// A Package is one entry of the map. It also covers the packages below its path that have
// no entry of their own (internal/llm covers internal/llm/llmtest), and these may import
// one another.
type Package struct {
	// Path is relative to the module.
	Path  string
	Layer Layer
	// Owns is a short description of what belongs here.
	Owns string
	// May lists what else of the module its code may import: paths of the map, or layers
	// in the form "layer:core". Every entry may import leaves without naming them, unless
	// it is strict. Test files may also import the core, adapters and tools.
	May []string
	// Strict means that May is complete: leaves are imported only if it names them.
	Strict bool
}

func layer(l Layer) string { return "layer:" + string(l) }

// Map returns the package map. [Verify] refuses a package that the map does not cover: add
// an entry for a new package, with what it owns and what it may import.
func Map() []Package {
	const (
		memory = "internal/memory"
		notes  = "internal/memory/notes"
		graph  = "internal/memory/graph"
		block  = "internal/memory/block"
		recall = "internal/memory/recall"
		policy = "internal/memory/policy"
		tenant = "internal/tenant"
		grant  = "internal/tenant/grant"
		auth   = "internal/auth"
		store  = "internal/store"
		app    = "internal/app"
		eval   = "internal/eval"
		arch   = "internal/archtest"
	)
	var (
		core = layer(LayerCore)
		edge = layer(LayerEdge)
	)
	return []Package{
		{"cmd", LayerCommand, "the binaries", []string{app, "internal/cli"}, false},
		{"cmd/eval", LayerCommand, "evaluation", []string{eval, app}, false},
		{"internal/cli", LayerCommand, "slipbox, a client", nil, false},

		{app, LayerApp, "builds, starts and stops everything",
			[]string{layer(LayerConfig), edge, layer(LayerAdapter), core, grant}, false},
		{"internal/apptest", LayerTool, "the API for tests",
			[]string{"internal/api", "internal/console", layer(LayerAdapter), core, grant, layer(LayerLeaf)}, false},
		{"internal/config", LayerConfig, "gathers the packages' settings",
			[]string{edge, layer(LayerAdapter), core}, false},

		{"internal/api", LayerEdge, "HTTP: routes, middleware, errors", []string{core, "internal/api/mem0", "internal/api/table", "internal/mcp", "internal/oauth"}, false},
		{"internal/api/mem0", LayerEdge, "mem0's routes", []string{core}, false},
		{"internal/api/table", LayerEdge, "contract tables", []string{"api"}, false},
		{"internal/api/docs", LayerTool, "writes the page at /docs", []string{"api", "internal/packed"}, false},
		{"internal/mcp", LayerEdge, "MCP: tools over the HTTP API", []string{memory}, false},
		{"internal/oauth", LayerEdge, "OAuth: consent, tokens", []string{memory, tenant, auth}, false},
		{"internal/console", LayerEdge, "the web console", nil, false},
		{"internal/worker", LayerEdge, "job handlers and schedules", []string{core, grant}, false},

		{"internal/api/route", LayerCore, "routes of other packages", []string{memory, tenant}, false},
		{memory, LayerCore, "types, views, changesets; contracts of store and model", []string{tenant}, false},
		{notes, LayerCore, "notes, messages, collections, imports, costs", []string{memory, graph, block, tenant}, false},
		{block, LayerCore, "what a block is: its limit, its edits, undo and redo", []string{memory}, false},
		{"internal/memory/engine", LayerCore, "claims, conditional apply, review", []string{memory, tenant}, false},
		{recall, LayerCore, "searches: views over indexes, fusion", []string{memory, graph, recall + "/contexts", tenant}, false},
		{recall + "/contexts", LayerCore, "the text of a context: budget, parts, citations", []string{memory}, false},
		{graph, LayerCore, "a graph of facts", []string{memory}, false},
		{memory + "/files", LayerCore, "files, and folders of them", []string{memory, notes, recall, tenant}, false},
		{policy, LayerCore, "shared by the memory systems", []string{memory, "internal/fault", "internal/filter", "internal/said", "internal/text", "internal/when", "internal/wording"}, true},
		{policy + "/amem", LayerCore, "A-MEM: describes, links", policyMay(), true},
		{policy + "/mem0", LayerCore, "Mem0, Mem0g: facts, a graph", policyMay(graph), true},
		{policy + "/memgpt", LayerCore, "MemGPT: instructions, tools", policyMay(block, "internal/search"), true},
		{policy + "/memgpt/agent", LayerCore, "an agent's context, tools, runs", []string{memory, notes, block, recall, memory + "/files", policy + "/memgpt/agent/tools", tenant}, false},
		{policy + "/memgpt/agent/tools", LayerCore, "tenants' tools", []string{memory, tenant}, false},
		{policy + "/memgpt/letta", LayerCore, "Letta's agent files, in and out", []string{memory, notes, block, policy + "/memgpt/agent", "internal/api/route", tenant}, false},
		{policy + "/memoryos", LayerCore, "MemoryOS: three tiers", policyMay("internal/said"), true},
		{policy + "/memoryos/tiers", LayerCore, "sessions, pages, moves", []string{memory, policy + "/memoryos", "internal/api/route", tenant}, false},
		{policy + "/layered", LayerCore, "working, episodic and semantic layers", policyMay(graph), true},
		{policy + "/layered/layers", LayerCore, "stores an item before the answer", []string{memory, graph, policy + "/layered", "internal/api/route", "internal/memory/engine", tenant}, false},
		{policy + "/memorybank", LayerCore, "MemoryBank: days, a portrait, forgetting", policyMay(), true},
		{policy + "/memorybank/bank", LayerCore, "MemoryBank's JSON form, in and out", []string{memory, notes, "internal/api/route", tenant}, false},
		{policy + "/policies", LayerCore, "the list of them", []string{memory, policy, policy + "/amem", policy + "/layered", policy + "/mem0", policy + "/memgpt", policy + "/memorybank", policy + "/memoryos"}, true},
		{policy + "/policytest/toy", LayerCore, "a ninth, for a test", policyMay("internal/api/route"), true},
		{policy + "/policytest", LayerCore, "for their tests", []string{memory}, true},
		{"internal/memory/jobs", LayerCore, "waits for jobs, starts upkeep", []string{memory, tenant}, false},
		{"internal/memory/chat", LayerCore, "answers with memory", []string{memory, notes, recall, tenant}, false},
		{"internal/memory/hooks", LayerCore, "webhooks", []string{memory, tenant}, false},
		{"internal/queue", LayerCore, "runs the jobs of the outbox in this process", []string{memory}, false},
		{"internal/clone", LayerCore, "forks", []string{memory, block, "internal/merge", tenant}, false},
		{"internal/merge", LayerCore, "merges notes", []string{memory, block}, false},
		{tenant, LayerCore, "tenants, limits, the scope", nil, false},
		{grant, LayerCore, "the only maker of scopes", []string{tenant}, false},
		{auth, LayerCore, "API keys and tokens into a principal and a scope", []string{memory, tenant, grant}, false},

		{store, LayerAdapter, "the contract, what both engines share, migrations, decorators", []string{core}, false},
		{"internal/store/sqlite", LayerAdapter, "the embedded engine", []string{core, store}, false},
		{"internal/store/postgres", LayerAdapter, "the servers' engine", []string{core, store}, false},
		{"internal/store/enginetest", LayerAdapter, "empty stores, for tests", []string{core, store, "internal/store/sqlite", "internal/store/postgres"}, false},
		{"internal/store/storetest", LayerAdapter, "the conformance suite", []string{core, store, grant}, false},
		{"internal/llm", LayerAdapter, "the model client: completion, embedding, retry, budget", []string{core}, false},
		{"internal/analyst", LayerAdapter, "answers calls of policies without a model", []string{core, "internal/said", policy + "/amem", policy + "/mem0", policy + "/memgpt", policy + "/memorybank", policy + "/memoryos", policy + "/layered"}, false},
		{"internal/redis", LayerAdapter, "shared through Redis: limits, news, wake-ups", []string{core}, false},
		{"internal/cache", LayerAdapter, "the cache of note versions", []string{core, "internal/redis"}, false},

		{"internal/encoder", LayerLeaf, "the local sentence encoder", nil, false},
		{"internal/said", LayerLeaf, "sentences of talk, and which of them are worth keeping", nil, false},
		{"internal/index", LayerLeaf, "the in-memory index of one collection layer", nil, false},
		{"internal/snapshot", LayerLeaf, "rebuildable cache files", nil, false},
		{"internal/search", LayerLeaf, "fusion and ranking, pure functions", nil, false},
		{"internal/filter", LayerLeaf, "the filter language", nil, false},
		{"internal/text", LayerLeaf, "segmentation, stems, stop words, escaping for prompts", nil, false},
		{"internal/when", LayerLeaf, "times in a question", nil, false},
		{"internal/document", LayerLeaf, "the text of files", nil, false},
		{"internal/cpus", LayerLeaf, "CPUs", nil, false},
		{"internal/fair", LayerLeaf, "turns by tenant", nil, false},
		{"internal/app/command", LayerLeaf, "what all command lines share", nil, false},
		{"internal/api/wire", LayerLeaf, "types of the contract", nil, false},
		{"internal/build", LayerLeaf, "a binary's version", nil, false},
		{"internal/fault", LayerLeaf, "error codes", nil, false},
		{"internal/outbound", LayerLeaf, "requests to tenants' webhooks", nil, false},
		{"internal/schema", LayerLeaf, "JSON schemas", nil, false},
		{"internal/secret", LayerLeaf, "secrets in texts", nil, false},
		{"internal/seal", LayerLeaf, "encryption of secrets", nil, false},
		{"internal/outage", LayerLeaf, "one log line for an outage", nil, false},
		{"internal/packed", LayerLeaf, "reads embedded files", nil, false},
		{"internal/memory/transfer", LayerLeaf, "histories", nil, false},
		{"internal/clip", LayerLeaf, "shortened texts", nil, false},
		{"internal/covered", LayerLeaf, "sources of notes", nil, false},
		{"internal/wording", LayerLeaf, "message text helpers", nil, false},
		{"internal/telemetry", LayerLeaf, "traces, metrics, names of attributes", nil, false},
		{"migrations", LayerLeaf, "numbered SQL", nil, false},
		{"api", LayerLeaf, "the OpenAPI file", nil, false},

		{eval, LayerTool, "evaluation", []string{"internal/clip", "internal/covered", "internal/search", "internal/text"}, false},
		{arch, LayerTool, "this map, its tests", []string{"migrations"}, false},
		{"tools", LayerTool, "development", []string{arch, "internal/api/table", "internal/said", "internal/encoder", eval, "internal/llm", memory, "internal/search", "internal/text"}, false},
		{"docs", LayerTool, "documentation and examples", nil, false},
		{"deploy", LayerTool, "images, compositions", nil, false},
		{"test", LayerTool, "tests of processes on real servers", []string{app, "internal/app/command", "internal/llm"}, false},
		{"test/bench", LayerTool, "benchmarks of whole gateways",
			[]string{app, "internal/app/command", layer(LayerConfig), layer(LayerAdapter), core, grant, eval, "test/corpus"}, false},
		{"test/load", LayerTool, "one tenant's flood", nil, false},
		{"test/corpus", LayerTool, "generated text for benchmarks and tests", nil, false},
	}
}

// policyMay returns what the package of one policy may import: the contracts, what
// all policies share, and a few leaves; never another policy.
func policyMay(more ...string) []string {
	return append([]string{
		"internal/memory", "internal/memory/policy", "internal/fault", "internal/filter", "internal/text", "internal/when", "internal/wording",
	}, more...)
}

// A Dependency is another module, or a package of the standard library, with the packages
// that may import it.
type Dependency struct {
	// Prefix of the import path.
	Prefix string
	// Only lists the paths of the map (with what is below them) that may import it.
	Only []string
	// Tests allows every test file to import it.
	Tests bool
}

// Dependencies returns what only some packages may import, so that each can be
// replaced in one place and the core does not depend on technology.
func Dependencies() []Dependency {
	telemetry := []string{"internal/telemetry", "internal/app"}
	redis := []string{"internal/redis", "internal/cache"}
	http := []string{"cmd", "internal/cli", "internal/app", "internal/api", "internal/apptest", "internal/mcp", "internal/oauth", "internal/console", "internal/llm", "internal/outbound", "internal/telemetry",
		"internal/eval", "docs", "test"}
	// It calls methods by name, for which the linker keeps every exported method of a program.
	template := []string{"internal/api/docs"}
	return []Dependency{
		{Client, []string{"internal/cli", "internal/eval", "docs", "test"}, false},
		{"net/http", http, true}, // the core knows no statuses and no headers; the tests of its routes do
		{"text/template", template, true},
		{"html/template", template, true},
		{"github.com/gin-gonic/", []string{"internal/api"}, false},
		{"github.com/go-json-experiment/json", []string{"internal/api"}, false},
		{"github.com/getkin/kin-openapi", []string{"internal/api", "internal/apptest"}, true},
		{"github.com/modelcontextprotocol/", []string{"internal/mcp"}, true},
		{"modernc.org/", []string{"internal/store/sqlite"}, true},
		{"github.com/jackc/", []string{"internal/store/postgres"}, true},
		{"github.com/pgvector/", []string{"internal/store/postgres"}, true},
		{"github.com/pressly/goose", []string{"internal/store"}, false},
		{"github.com/sashabaranov/go-openai", []string{"internal/llm"}, true}, // tests are clients of ours by it
		{"github.com/redis/", redis, true},
		{"github.com/go-redis/", []string{"internal/redis"}, false},
		{"github.com/maypok86/otter", []string{"internal/cache", "internal/auth"}, false},
		{"github.com/tiktoken-go/", []string{"tools"}, true}, // compiled, its ranks take megabytes
		{"github.com/golang-jwt/", []string{"internal/auth"}, true},
		{"github.com/spf13/", []string{"cmd", "internal/cli", "internal/app"}, false},
		{"golang.org/x/term", []string{"internal/cli"}, false},
		{"github.com/caarlos0/env", []string{"internal/config"}, false},
		{"go.opentelemetry.io/otel/sdk", telemetry, true},
		{"go.opentelemetry.io/otel/exporters", telemetry, true},
	}
}
