// LibreChat's custom endpoint: the configuration of docs/nocode.md is read by LibreChat's own schema, and its package for models and
// agents makes the calls. The overrides of package.json are versions that it names itself: without them npm installs some packages
// eight times.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'

import { GraphEvents, Providers, Run } from '@librechat/agents'
import { AIMessage, HumanMessage } from '@librechat/agents/langchain/messages'
import { tool } from '@librechat/agents/langchain/tools'
import yaml from 'js-yaml'
import { configSchema, extractEnvVariable } from 'librechat-data-provider'

const { SLIPBOX_URL: url, SLIPBOX_API_KEY: key, SLIPBOX_TREE: tree } = process.env
process.env.SLIPBOX_KEY = key

const page = readFileSync(tree + '/docs/nocode.md', 'utf8')
const config = configSchema.strict().parse(yaml.load(/^## LibreChat$[^]*?^```yaml\n([^]*?)^```$/m.exec(page)[1]))
const [endpoint] = config.endpoints.custom
assert.equal(config.mcpServers.slipbox.type, 'streamable-http')

/** Sends a dialogue as LibreChat does for a person who is signed in, and returns the text of the answer and what was streamed. */
async function chat(email, messages, tools = []) {
  const header = value => extractEnvVariable(value.replaceAll('{{LIBRECHAT_USER_EMAIL}}', email))
  let streamed = ''
  const run = await Run.create({
    runId: crypto.randomUUID(),
    graphConfig: {
      type: 'standard', instructions: 'Be brief.', tools,
      llmConfig: {
        provider: Providers.OPENAI, model: endpoint.models.default[0], apiKey: header(endpoint.apiKey), user: '66f0c1', streaming: true, maxRetries: 0,
        configuration: {
          baseURL: endpoint.baseURL.replace('http://127.0.0.1:8080', url),
          defaultHeaders: Object.fromEntries(Object.entries(endpoint.headers).map(([name, value]) => [name, header(value)])),
        },
      },
    },
    customHandlers: {
      [GraphEvents.ON_MESSAGE_DELTA]: { handle: (_, { delta }) => { streamed += delta.content.map(part => part.text ?? '').join('') } },
    },
    returnContent: true,
  })
  const content = await run.processStream({ messages }, { configurable: { thread_id: crypto.randomUUID() }, version: 'v2' })
  return { content, text: content.filter(part => part.type === 'text').map(part => part.text).join(''), streamed }
}

/** Waits until a person's memory has so many messages: an exchange is stored after its answer is sent. */
async function said(email, count) {
  for (let end = Date.now() + 120_000; ; await new Promise(resolve => setTimeout(resolve, 20))) {
    const query = new URLSearchParams({ user: email })
    const answer = await fetch(`${url}/v1/collections/by/messages?${query}`, { headers: { authorization: `Bearer ${key}` } })
    const items = answer.ok ? (await answer.json()).items.map(m => m.content) : []
    if (items.length >= count) return items
    assert.ok(Date.now() < end, `${items.length} messages of ${email}`)
  }
}

// A chat is streamed and remembered for who said it, by an address that the API finds, and for nobody else.
const ida = 'ida+home@example.com'
const first = await chat(ida, [new HumanMessage({ content: [{ type: 'text', text: 'I live in Porto.' }] })])
assert.match(first.text, /^You said: I live in Porto\./)
assert.equal(first.streamed, first.text)
assert.deepEqual((await said(ida, 2))[0], 'I live in Porto.')
const asked = await chat(ida, [new HumanMessage('Hello.'), new AIMessage('Hi.'), new HumanMessage('Where do I live?')])
assert.match(asked.text.split('Memory:').slice(1).join(), /Porto/)
const other = await chat('max@example.com', [new HumanMessage('Where do I live?')])
assert.doesNotMatch(other.text, /Porto/)

// An agent calls a tool, and its answer goes back to the model.
const weather = tool(({ city }) => `sunny in ${city}`, {
  name: 'weather', description: 'In a city.', schema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
})
const used = await chat(ida, [new HumanMessage('How is the weather in Lisbon?')], [weather])
assert.equal(used.text, 'The tool said: sunny in Lisbon')
assert.equal(used.content.find(part => part.type === 'tool_call').tool_call.output, 'sunny in Lisbon')
process.exit(0) // its tracer keeps a timer
