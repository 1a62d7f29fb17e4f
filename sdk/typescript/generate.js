// Writes src/schema.ts and src/routes.ts from the contract (../../api/openapi.yaml). With --check it
// writes nothing, and fails when one of them is not what the contract says.
import { readFileSync, writeFileSync } from 'node:fs'
import openapiTS, { astToString } from 'openapi-typescript'
import { parseYaml } from '@redocly/openapi-core'

const contract = new URL('../../api/openapi.yaml', import.meta.url)
const head = '// Code generated from api/openapi.yaml by generate.js. DO NOT EDIT.\n\n'

const document = parseYaml(readFileSync(contract, 'utf8'))
// A hit has the fields of a note that were asked for. As the union that the contract is, only its id could be read of it.
const union = 'HitNote: components["schemas"]["Note"] | components["schemas"]["NoteRef"];'
const partial = 'HitNote: Partial<components["schemas"]["Note"]> & components["schemas"]["NoteRef"];'
const schema = astToString(await openapiTS(contract, { silent: true, defaultNonNullable: false }))
if (!schema.includes(union)) throw new Error(`the contract has no longer ${union}`)
const files = {
  'src/schema.ts': head + schema.replace(union, partial),
  'src/routes.ts': head + routes(document),
}

const stale = []
for (const [name, text] of Object.entries(files)) {
  const url = new URL(name, import.meta.url)
  let old = ''
  try {
    old = readFileSync(url, 'utf8')
  } catch {
    // It is written below.
  }
  if (old === text) continue
  if (process.argv.includes('--check')) stale.push(name)
  else writeFileSync(url, text)
}
if (stale.length > 0) {
  console.error(`not what the contract says; run make generate: ${stale.join(', ')}`)
  process.exit(1)
}

/** Returns the source of the tables of what a POST is. */
function routes(document) {
  const keyed = []
  const harmless = []
  const creates = []
  const bodies = []
  for (const [path, item] of Object.entries(document.paths)) {
    const post = item.post
    if (!post) continue
    const headers = (post.parameters ?? []).map(p => p.$ref?.split('/').pop())
    if (headers.includes('idempotencyKey')) keyed.push(path)
    if (headers.includes('create')) creates.push(path)
    const types = Object.keys(post.requestBody?.content ?? {})
    if (types.length > 0 && !types.includes('application/json')) bodies.push([path, types[0]])
    // A stream that broke off is not begun again: a part of it was used already.
    const streams = JSON.stringify(post.responses['200'] ?? {}).includes('text/event-stream')
    // The same file again is the one that is there.
    if ((post['x-scope'] === 'notes:read' && !streams) || types.includes('multipart/form-data')) harmless.push(path)
  }
  const set = (about, name, paths) =>
    `/** ${about} */\nexport const ${name}: ReadonlySet<string> = new Set([\n${paths.map(p => `  '${p}',\n`).join('')}])\n`
  return [
    set('Paths whose POST is safe to repeat with the header Idempotency-Key.', 'KEYED', keyed),
    set('Paths whose POST only reads, or does no harm twice.', 'HARMLESS', harmless),
    set('Paths whose POST creates a missing collection when the header Slipbox-Create says so.', 'CREATES', creates),
    '/** Content types of the bodies of POST that are no JSON document, by path. */\nexport const BODIES: ReadonlyMap<string, string> = new Map([\n' +
      bodies.map(([path, type]) => `  ['${path}', '${type}'],\n`).join('') + '])\n',
  ].join('\n')
}
