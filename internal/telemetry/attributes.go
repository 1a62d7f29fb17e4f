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

	Tenant    = attribute.Key("slipbox.tenant")
	Agent     = attribute.Key("slipbox.agent")
	RequestID = attribute.Key("slipbox.request_id")

	Operation  = attribute.Key("slipbox.operation")   // what Redis was asked for
	Reason     = attribute.Key("slipbox.reason")      // why Redis was passed by
	CacheLevel = attribute.Key("slipbox.cache.level") // process or redis
	CacheHit   = attribute.Key("slipbox.cache.hit")

	JobKind    = attribute.Key("slipbox.job.kind")
	JobStage   = attribute.Key("slipbox.job.stage")
	JobOutcome = attribute.Key("slipbox.job.outcome")
	WakeFate   = attribute.Key("slipbox.wakeup.fate") // sent, merged or dropped
)
