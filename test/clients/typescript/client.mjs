// The TypeScript client of this repository, built and tested as it is published, against the gateway.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { cpSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

const { SLIPBOX_URL: url, SLIPBOX_API_KEY: key, SLIPBOX_TREE: tree } = process.env
const sources = join(tree, 'sdk/typescript')
for (const name of ['package.json', 'src', 'test', 'tsconfig.json', 'tsconfig.build.json']) {
  rmSync(name, { recursive: true, force: true }) // this folder's package.json is a link into the tree
  cpSync(join(sources, name), name, { recursive: true })
}
run('node_modules/typescript/bin/tsc', '-p', 'tsconfig.build.json')
run('node_modules/typescript/bin/tsc') // with its tests
run('--test', 'build/test/')

const at = name => import(pathToFileURL(join(process.cwd(), name)).href)
const { Slipbox, SlipboxError } = await at('dist/index.js')
const { memory } = await at('dist/ai.js')
const api = new Slipbox({ url, key })

await story()
await answersOfSixPages()
await files()
await conflict()
await streams()
await memoryOfAModel()

/** Adds, finds, corrects, deletes and restores a note. */
async function story() {
  const nora = api.collection({ user: 'nora@example.com', agent: 'a/b ü' }, { create: 'amem' })
  const { note } = await nora.add('Nora moved to Oslo in March.', { wait: 'evolved' })
  const { hits } = await nora.search({ query: 'where does Nora live', explain: true })
  assert.equal(hits[0].note.id, note.id)
  assert.ok(Object.keys(hits[0].explain).length > 0)
  const read = await nora.note(note.id)
  const written = await nora.patchNote(note.id, { content: 'Nora moved to Rome in May.' }, { ifMatch: read.etag })
  assert.ok(written.revision > read.revision && written.etag !== read.etag)
  await nora.deleteNote(note.id)
  await assert.rejects(nora.note(note.id), e => e instanceof SlipboxError && e.status === 404 && e.requestId !== '')
  const versions = []
  for await (const version of nora.history(note.id, { limit: 1 })) versions.push(version)
  assert.ok(versions.length >= 3 && versions[0].deleted)
  const restored = await nora.restoreNote(note.id, versions.at(-1).revision)
  assert.equal(restored.body.content, 'Nora moved to Oslo in March.')
  const fork = await nora.fork({ name: 'what-if' })
  assert.equal(fork.parent.collection, (await nora.get()).id)
  assert.match((await nora.context('where does Nora live')).text, /Oslo/)
}

/** Pages of a listing do not repeat or lose a note; a repeated write is the first one. */
async function answersOfSixPages() {
  const pages = api.collection((await api.createCollection({ name: 'pages' })).id)
  for (let i = 0; i < 11; i++) await pages.add({ content: `Note ${i}.`, infer: false })
  const found = []
  for await (const note of pages.notes({ limit: 2 })) found.push(note.content)
  assert.deepEqual(found, Array.from({ length: 11 }, (_, i) => `Note ${i}.`))
  const twice = await Promise.all([1, 2].map(() => pages.add({ content: 'Once.', infer: false }, { idempotencyKey: 'once' })))
  assert.equal(twice[0].note.id, twice[1].note.id)
  const names = []
  for await (const collection of api.collections({ limit: 1 })) names.push(collection.name)
  assert.ok(names.includes('pages') && names.includes('what-if'))
}

/** A file is read and found, of a path and of a Blob. */
async function files() {
  const c = api.collection({ user: 'files@example.com' }, { create: 'none' })
  writeFileSync('Mühle.txt', 'The mill was built in 1720.')
  const { file } = await c.addFile('./Mühle.txt', { wait: 'done' })
  assert.deepEqual([file.name, file.state], ['Mühle.txt', 'ready'])
  assert.equal((await c.addFile(new Blob(['The mill was built in 1720.']), { name: 'again.txt' })).file.id, file.id)
  await assert.rejects(c.addFile(new Blob(['x'])), TypeError)
  assert.match((await c.search('When was the mill built?')).hits[0].note.content, /1720/)
}

/** Of two who change what they read, the second is told. */
async function conflict() {
  const c = api.collection('pages')
  const { note } = await c.add({ content: 'Twice changed.', infer: false })
  const { etag } = await c.note(note.id)
  await c.patchNote(note.id, { content: 'First.' }, { ifMatch: etag })
  await assert.rejects(c.patchNote(note.id, { content: 'Second.' }, { ifMatch: etag }), e => e instanceof SlipboxError && e.status === 412)
  await assert.rejects(c.search({ query: 'x', k: 100_000 }), e => e.status === 422 && e.fields.some(f => f.field.includes('k')))
  await assert.rejects(new Slipbox({ url, key: 'sb_live_wrong' }).collection('pages').get(), e => e.status === 401)
}

/** A job is followed to its end, and an answer comes in pieces. */
async function streams() {
  const c = api.collection({ user: 'nora@example.com', agent: 'a/b ü' })
  const { job } = await c.addMessages([{ role: 'user', content: 'My cat is called Miso.' }, { role: 'assistant', content: 'A fine name.' }])
  let last
  for await (const state of api.jobs.follow(job.id)) last = state
  assert.equal(last.state, 'done')
  let reply = ''
  let done
  for await (const { event, data } of c.chatStream('What is my cat called?')) {
    if (event === 'delta') reply += data.text
    else if (event === 'done') done = data
  }
  assert.ok(reply !== '' && done.reply === reply)
}

/** A model of the AI SDK is told what the collection knows, and what it was asked is remembered. */
async function memoryOfAModel() {
  const { generateText, wrapLanguageModel } = await import('ai')
  const { MockLanguageModelV3 } = await import('ai/test')
  const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } }
  const base = new MockLanguageModelV3({
    doGenerate: async () => ({ content: [{ type: 'text', text: 'Noted.' }], finishReason: { unified: 'stop' }, usage, warnings: [] }),
  })
  const collection = { user: 'nora@example.com', agent: 'a/b ü' }
  const middleware = memory({ client: { url, key }, collection, session: 'ai', onError: e => { throw e } })
  await generateText({ model: wrapLanguageModel({ model: base, middleware }), prompt: 'Where does Nora live?' })
  await middleware.settled()
  assert.deepEqual(base.doGenerateCalls[0].prompt.map(turn => turn.role), ['user'])
  assert.match(base.doGenerateCalls[0].prompt[0].content[1].text, /Oslo/)
  const said = []
  for await (const message of api.collection(collection).messages({ session: 'ai' })) said.push([message.role, message.content, message.recalled])
  assert.deepEqual(said, [['user', 'Where does Nora live?', undefined], ['assistant', 'Noted.', true]])
}

function run(...args) {
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' })
  assert.equal(status, 0, `${args.join(' ')}\n${stdout}${stderr}`)
  return stdout
}
