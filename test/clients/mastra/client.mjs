// The adapter of the TypeScript client for Mastra, in an agent of Mastra, whose model is an object of this test.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { cpSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Agent } from '@mastra/core/agent'
import { MastraLanguageModelV2Mock } from '@mastra/core/test-utils/llm-mock'

const { SLIPBOX_URL: url, SLIPBOX_API_KEY: key, SLIPBOX_TREE: tree } = process.env
for (const name of ['src', 'tsconfig.json', 'tsconfig.build.json']) cpSync(join(tree, 'sdk/typescript', name), name, { recursive: true })
run('tsconfig.build.json')
const at = name => import(pathToFileURL(join(process.cwd(), 'dist', name)).href)
const { Slipbox } = await at('index.js')
const { memory } = await at('mastra.js')

// Mastra's own types take it.
writeFileSync('types.mts', `
import type { InputProcessor, OutputProcessor } from '@mastra/core/processors'
import { memory } from './dist/mastra.js'
export const input: InputProcessor[] = [memory({ collection: 'x' })]
export const output: OutputProcessor[] = [memory({ collection: 'x' })]
`)
writeFileSync('tsconfig.types.json', JSON.stringify({
  compilerOptions: { target: 'ES2022', module: 'NodeNext', strict: true, skipLibCheck: true, noEmit: true, types: ['node'] }, files: ['types.mts'],
}))
run('tsconfig.types.json')

const api = new Slipbox({ url, key })
const nora = { user: 'nora@example.com' }
const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 }
const calls = []
const model = new MastraLanguageModelV2Mock({
  doGenerate: async ({ prompt }) => {
    calls.push(prompt)
    return { content: [{ type: 'text', text: 'Noted.' }], finishReason: 'stop', usage, warnings: [] }
  },
  doStream: async ({ prompt }) => {
    calls.push(prompt)
    const parts = [
      { type: 'stream-start', warnings: [] }, { type: 'text-start', id: '1' }, { type: 'text-delta', id: '1', delta: 'Not' },
      { type: 'text-delta', id: '1', delta: 'ed.' }, { type: 'text-end', id: '1' }, { type: 'finish', finishReason: 'stop', usage },
    ]
    return { stream: new ReadableStream({ start(c) { for (const p of parts) c.enqueue(p); c.close() } }) }
  },
})
const agentWith = processor => new Agent({
  id: 'a', name: 'a', instructions: 'Be brief.', model, inputProcessors: [processor], outputProcessors: [processor],
})
const texts = prompt => prompt.findLast(turn => turn.role === 'user').content.map(part => part.text)

const first = memory({ client: api, collection: nora, create: 'mem0', session: 'one', onError: e => { throw e } })
assert.equal((await agentWith(first).generate('I live in Oslo.')).text, 'Noted.')
await first.settled()
assert.deepEqual(texts(calls.at(-1)), ['I live in Oslo.'])

// Another conversation is told, streamed, and the answer is marked.
const second = memory({ client: api, collection: nora, session: 'two', onError: e => { throw e } })
const answer = await agentWith(second).stream('Where do I live?')
assert.equal(await answer.text, 'Noted.')
await second.settled()
const [question, told] = texts(calls.at(-1))
assert.equal(question, 'Where do I live?')
assert.match(told, /^<slipbox-memory>[^]*I live in Oslo\.[^]*<\/slipbox-memory>$/)
assert.equal(calls.at(-1)[0].content, 'Be brief.')
const said = []
for await (const m of api.collection(nora).messages({ session: 'two' })) said.push([m.role, m.content, m.recalled])
assert.deepEqual(said, [['user', 'Where do I live?', undefined], ['assistant', 'Noted.', true]])

// A gateway that is away costs the memory alone.
const errors = []
const away = memory({ client: { url: 'http://127.0.0.1:1', key, retries: 0 }, collection: nora, onError: e => errors.push(e) })
assert.equal((await agentWith(away).generate('Where do I live?')).text, 'Noted.')
await away.settled()
assert.equal(errors.length, 2)
assert.deepEqual(texts(calls.at(-1)), ['Where do I live?'])

function run(config) {
  const { status, stdout, stderr } = spawnSync(process.execPath, ['node_modules/typescript/bin/tsc', '-p', config], { encoding: 'utf8' })
  assert.equal(status, 0, `${config}\n${stdout}${stderr}`)
}
