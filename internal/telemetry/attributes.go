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
	ServiceName    = attribute.Key("service.name")
	ServiceVersion = attribute.Key("service.version")

	ModelOperation = attribute.Key("gen_ai.operation.name") // the purpose of a call
	ModelName      = attribute.Key("gen_ai.request.model")
	TokenType      = attribute.Key("gen_ai.token.type") // "input" or "output"

	Tenant     = attribute.Key("slipbox.tenant")
	Agent      = attribute.Key("slipbox.agent")
	Collection = attribute.Key("slipbox.collection")
	Revision   = attribute.Key("slipbox.revision")
	Note       = attribute.Key("slipbox.note")
	Job        = attribute.Key("slipbox.job")
	JobKind    = attribute.Key("slipbox.job.kind")
	JobStage   = attribute.Key("slipbox.job.stage")
	Outcome    = attribute.Key("slipbox.outcome") // "done", "retry", "dead", …
	Policy     = attribute.Key("slipbox.policy")
	Embedder   = attribute.Key("slipbox.embedder")
	SearchMode = attribute.Key("slipbox.search.mode")
	StoreRole  = attribute.Key("slipbox.store.method")
	Hits       = attribute.Key("slipbox.search.hits")
	RequestID  = attribute.Key("slipbox.request_id")
)
