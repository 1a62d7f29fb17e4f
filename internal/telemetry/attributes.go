package telemetry

import "go.opentelemetry.io/otel/attribute"

// The attributes of spans and metrics. Those of OpenTelemetry's conventions
// carry its names; ours begin with "slipbox.". Metrics take only those whose
// values are few: an id of a tenant, a collection or a note belongs in spans.
const (
	HTTPMethod     = attribute.Key("http.request.method")
	HTTPRoute      = attribute.Key("http.route") // the template, never the path
	HTTPStatus     = attribute.Key("http.response.status_code")
	ErrorType      = attribute.Key("error.type") // a fault code
	ExceptionType  = attribute.Key("exception.type")
	ServiceName    = attribute.Key("service.name")
	ServiceVersion = attribute.Key("service.version")
	ServiceID      = attribute.Key("service.instance.id") // of the process; another one at each start

	Tenant     = attribute.Key("slipbox.tenant")
	Agent      = attribute.Key("slipbox.agent")
	Collection = attribute.Key("slipbox.collection")
	RequestID  = attribute.Key("slipbox.request_id")

	ModelOperation = attribute.Key("gen_ai.operation.name") // chat or embeddings
	ModelProvider  = attribute.Key("gen_ai.provider.name")
	ModelName      = attribute.Key("gen_ai.request.model")
	ModelTokenType = attribute.Key("gen_ai.token.type") // input or output
	ModelInput     = attribute.Key("gen_ai.usage.input_tokens")
	ModelOutput    = attribute.Key("gen_ai.usage.output_tokens")
	ModelPurpose   = attribute.Key("slipbox.model.purpose") // analyze, evolve, relevance, embed and so on
	ModelAnswer    = attribute.Key("slipbox.model.answer")  // good, repaired, unusable or failed

	Operation  = attribute.Key("slipbox.operation")   // what the store or Redis was asked for
	Reason     = attribute.Key("slipbox.reason")      // why Redis was passed by
	CacheLevel = attribute.Key("slipbox.cache.level") // process or redis
	CacheHit   = attribute.Key("slipbox.cache.hit")

	Job        = attribute.Key("slipbox.job")
	JobAttempt = attribute.Key("slipbox.job.attempt") // failed tries before this one
	JobKind    = attribute.Key("slipbox.job.kind")
	JobStage   = attribute.Key("slipbox.job.stage")
	JobOutcome = attribute.Key("slipbox.job.outcome")
	WakeFate   = attribute.Key("slipbox.wakeup.fate") // sent, merged or dropped
)
