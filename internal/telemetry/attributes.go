package telemetry

import "go.opentelemetry.io/otel/attribute"

// The attributes of spans and metrics. Attributes of OpenTelemetry's semantic
// conventions use their names; others begin with "slipbox.". Metrics use only
// attributes with few values: ids of tenants, collections and notes belong in
// spans.
const (
	HTTPMethod     = attribute.Key("http.request.method")
	HTTPRoute      = attribute.Key("http.route") // the template, never the path
	HTTPStatus     = attribute.Key("http.response.status_code")
	ErrorType      = attribute.Key("error.type") // a fault code
	ExceptionType  = attribute.Key("exception.type")
	ServiceName    = attribute.Key("service.name")
	ServiceVersion = attribute.Key("service.version")
	ServiceID      = attribute.Key("service.instance.id") // new at each start of a process

	Tenant     = attribute.Key("slipbox.tenant")
	Agent      = attribute.Key("slipbox.agent")
	Collection = attribute.Key("slipbox.collection")
	RequestID  = attribute.Key("slipbox.request_id")

	ModelOperation = attribute.Key("gen_ai.operation.name") // chat or embeddings; of requests, one of the operations below
	ModelProvider  = attribute.Key("gen_ai.provider.name")
	ModelName      = attribute.Key("gen_ai.request.model")
	ModelTokenType = attribute.Key("gen_ai.token.type") // input or output
	ModelInput     = attribute.Key("gen_ai.usage.input_tokens")
	ModelOutput    = attribute.Key("gen_ai.usage.output_tokens")
	ModelPurpose   = attribute.Key("slipbox.model.purpose") // analyze, evolve, relevance, embed and so on
	ModelAnswer    = attribute.Key("slipbox.model.answer")  // good, repaired, unusable or failed

	MemoryStore  = attribute.Key("gen_ai.memory.store.id")     // of a collection
	MemoryRecord = attribute.Key("gen_ai.memory.record.id")    // of a note
	MemoryCount  = attribute.Key("gen_ai.memory.record.count") // of the notes that were written, found or deleted

	SearchMode = attribute.Key("slipbox.search.mode") // hybrid, vector or lexical

	InferenceKind = attribute.Key("openinference.span.kind") // what Phoenix and Langfuse know a retrieval by

	RoundTrips = attribute.Key("slipbox.round_trips") // of a call of the store that made several

	Operation      = attribute.Key("slipbox.operation")       // of the store or of Redis
	Reason         = attribute.Key("slipbox.reason")          // why Redis was not used
	ReplicaOutcome = attribute.Key("slipbox.replica.outcome") // of a read of the past: served, behind or failed
	VacuumOutcome  = attribute.Key("slipbox.vacuum.outcome")  // done or failed

	CacheLevel = attribute.Key("slipbox.cache.level") // process or redis
	CacheHit   = attribute.Key("slipbox.cache.hit")

	Job        = attribute.Key("slipbox.job")
	JobAttempt = attribute.Key("slipbox.job.attempt") // failed attempts before this one
	JobKind    = attribute.Key("slipbox.job.kind")
	JobStage   = attribute.Key("slipbox.job.stage")
	JobOutcome = attribute.Key("slipbox.job.outcome")
	WakeFate   = attribute.Key("slipbox.wakeup.fate") // sent, merged or dropped
)

// Operations on memory, as the conventions for generative AI name them; values of ModelOperation.
// They describe requests: such a span never has what is written or asked.
const (
	CreateMemory      = "create_memory"
	UpdateMemory      = "update_memory"
	SearchMemory      = "search_memory"
	DeleteMemory      = "delete_memory"
	CreateMemoryStore = "create_memory_store"
	DeleteMemoryStore = "delete_memory_store"
)

// Retriever is the value of InferenceKind of a search.
const Retriever = "RETRIEVER"
