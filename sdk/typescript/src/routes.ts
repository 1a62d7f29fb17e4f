// Code generated from api/openapi.yaml by generate.js. DO NOT EDIT.

/** Paths whose POST is safe to repeat with the header Idempotency-Key. */
export const KEYED: ReadonlySet<string> = new Set([
  '/v1/collections',
  '/v1/collections/{collection}/clone',
  '/v1/collections/{collection}/messages',
  '/v1/collections/{collection}/remember',
  '/v1/collections/{collection}/blocks/{label}/append',
  '/v1/collections/{collection}/blocks/{label}/replace',
  '/v1/collections/{collection}/blocks/{label}/insert',
  '/v1/collections/{collection}/blocks/{label}/undo',
  '/v1/collections/{collection}/blocks/{label}/redo',
  '/v1/folders',
  '/v1/blocks',
  '/v1/blocks/{block}/undo',
  '/v1/blocks/{block}/redo',
  '/v1/collections/{collection}/step',
  '/v1/collections/{collection}/events',
  '/v1/collections/{collection}/notes',
  '/v1/collections/{collection}/notes/bulk',
  '/v1/collections/{collection}/notes/{note}/restore',
])

/** Paths whose POST only reads, or does no harm twice. */
export const HARMLESS: ReadonlySet<string> = new Set([
  '/v1/collections/{collection}/recall',
  '/v1/folders/{folder}/files',
  '/v1/collections/{collection}/files',
  '/v1/embeddings',
  '/v1/search',
  '/v1/context',
  '/v1/collections/{collection}/search',
  '/v1/collections/{collection}/context',
])

/** Paths whose POST creates a missing collection when the header Slipbox-Create says so. */
export const CREATES: ReadonlySet<string> = new Set([
  '/v1/collections/{collection}/import',
  '/v1/collections/{collection}/history',
  '/v1/collections/{collection}/messages',
  '/v1/collections/{collection}/bank',
  '/v1/collections/{collection}/agent-file',
  '/v1/collections/{collection}/files',
  '/v1/collections/{collection}/chat',
  '/v1/chat/completions',
  '/v1/responses',
  '/v1/collections/{collection}/notes',
  '/v1/collections/{collection}/notes/bulk',
  '/v1/collections/{collection}/search',
  '/v1/collections/{collection}/context',
])

/** Content types of the bodies of POST that are no JSON document, by path. */
export const BODIES: ReadonlyMap<string, string> = new Map([
  ['/v1/collections/{collection}/import', 'application/x-ndjson'],
  ['/v1/collections/{collection}/history', 'application/octet-stream'],
  ['/v1/folders/{folder}/files', 'multipart/form-data'],
  ['/v1/collections/{collection}/files', 'multipart/form-data'],
  ['/v1/collections/{collection}/notes/bulk', 'application/x-ndjson'],
])
