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
)
