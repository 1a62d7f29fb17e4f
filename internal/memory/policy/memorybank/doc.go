// Package memorybank is MemoryBank (Zhong et al., "MemoryBank: Enhancing Large Language
// Models with Long-Term Memory", AAAI 2024, arXiv:2305.10250): messages are kept as they
// were said, each day and the whole conversation are summarized, a portrait of the
// person is kept, and what is not recalled is forgotten along Ebbinghaus's curve.
//
// The package owns what MemoryBank decides, its tasks ("day", "overall", "forget"), its
// settings, its prompts and schemas in English and Chinese, the payloads of its calls
// and the form of its outcomes. It depends on memory, on package policy above it, which
// holds what all policies share, and on leaves; it imports no other policy. The engine
// calls it through [memory.Policy], and [memory.Refresher] when a caller deletes or
// changes a note. Package policies lists it, internal/analyst answers its calls without a
// model.
package memorybank
