package api

import (
	"github.com/gin-gonic/gin"
	"github.com/google/uuid"
	"go.opentelemetry.io/otel/trace"

	"github.com/slipboxhq/slipbox/internal/telemetry"
)

// memoryOperations are the operations of the contract that OpenTelemetry's conventions for generative
// AI have a name for. Their requests' spans have it, with the ids of the collection and the note, or
// the number of notes. The core names the collection when it resolves the caller's reference.
var memoryOperations = map[string]string{
	"createCollection": telemetry.CreateMemoryStore,
	"cloneCollection":  telemetry.CreateMemoryStore,
	"deleteCollection": telemetry.DeleteMemoryStore,

	"createNote":      telemetry.CreateMemory,
	"bulkNotes":       telemetry.CreateMemory,
	"importNotes":     telemetry.CreateMemory,
	"importHistory":   telemetry.CreateMemory,
	"importBank":      telemetry.CreateMemory,
	"importAgentFile": telemetry.CreateMemory,
	"addMessages":     telemetry.CreateMemory,
	"remember":        telemetry.CreateMemory,
	"patchNote":       telemetry.UpdateMemory,
	"restoreNote":     telemetry.UpdateMemory,
	"deleteNote":      telemetry.DeleteMemory,
	"forget":          telemetry.DeleteMemory,

	"mem0AddV3":        telemetry.CreateMemory,
	"mem0AddV1":        telemetry.CreateMemory,
	"mem0AddOSS":       telemetry.CreateMemory,
	"mem0Update":       telemetry.UpdateMemory,
	"mem0UpdateOSS":    telemetry.UpdateMemory,
	"mem0Delete":       telemetry.DeleteMemory,
	"mem0DeleteOSS":    telemetry.DeleteMemory,
	"mem0DeleteEntity": telemetry.DeleteMemoryStore,
	"mem0SearchV3":     telemetry.SearchMemory,
	"mem0SearchV1":     telemetry.SearchMemory,
	"mem0SearchV2":     telemetry.SearchMemory,
	"mem0SearchOSS":    telemetry.SearchMemory,

	"search":       telemetry.SearchMemory,
	"buildContext": telemetry.SearchMemory,
	"recallLayers": telemetry.SearchMemory,
}

// nameOperation names the operation on memory of a request, if it is one.
func nameOperation(c *gin.Context, op *operation) {
	if name, ok := memoryOperations[op.id]; ok {
		trace.SpanFromContext(c.Request.Context()).SetAttributes(telemetry.ModelOperation.String(name))
	}
}

// nameRecord names the note that a request wrote or deleted.
func nameRecord(c *gin.Context, note uuid.UUID) {
	if span := trace.SpanFromContext(c.Request.Context()); span.IsRecording() {
		span.SetAttributes(telemetry.MemoryRecord.String(note.String()), telemetry.MemoryCount.Int(1))
	}
}

// countRecords counts the notes that a request wrote, found or deleted.
func countRecords(c *gin.Context, n int) {
	trace.SpanFromContext(c.Request.Context()).SetAttributes(telemetry.MemoryCount.Int(n))
}
