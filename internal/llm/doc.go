// Package llm answers the core's questions to models and turns texts into
// vectors. It owns everything between a [memory.Call] and a checked answer:
//
//   - Completion speaks to any OpenAI-compatible endpoint (OpenAI, Ollama,
//     vLLM, llama.cpp), with strict JSON schemas where the endpoint offers them.
//   - Endpoint embedders, the hashed n-gram embedder, the embedding cache, and
//     the Registry that finds an embedder by its recorded name.
//   - Retry with jitter, circuit breaker, bounded concurrency, token accounting.
//
// It knows nothing of stores, HTTP routes or jobs, keeps no prompt (policies
// own those), and never puts memory text or a key into a log line or a fault.
// internal/analyst answers the same calls without a model.
// The tests' fake endpoint is the subpackage llmtest.
package llm
