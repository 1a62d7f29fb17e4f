// Vercel's AI SDK by its defaults: openai(id) is a model of responses.
import assert from 'node:assert/strict';
import { createOpenAI } from '@ai-sdk/openai';
import { embedMany, generateText, stepCountIs, streamText, tool } from 'ai';
import { z } from 'zod';

const url = process.env.SLIPBOX_URL;
const apiKey = process.env.SLIPBOX_API_KEY;
const made = await fetch(`${url}/v1/collections`, {
  method: 'POST',
  headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
  body: JSON.stringify({ name: 'home', policy: 'none' }),
});
assert.equal(made.status, 201);

const openai = createOpenAI({ baseURL: `${url}/v1`, apiKey });
const model = openai('slipbox@home');

// Two conversations: what was said in the first is recalled in the second.
const first = await generateText({ model, prompt: 'I live in Lisbon now.' });
assert.match(first.text, /^You said: I live in Lisbon now\./);
assert.ok(first.usage.totalTokens > 0);
// An exchange is stored after its answer is sent.
for (let stored = 0, end = Date.now() + 120_000; stored < 2; await new Promise((resolve) => setTimeout(resolve, 20))) {
  assert.ok(Date.now() < end, `${stored} messages`);
  const listed = await fetch(`${url}/v1/collections/home/messages`, { headers: { authorization: `Bearer ${apiKey}` } });
  stored = (await listed.json()).items.length;
}
const second = await generateText({ model, prompt: 'Where do I live?' });
assert.match(second.text.split('Memory:').slice(1).join(), /Lisbon/);

const stream = streamText({ model, prompt: 'Where do I live?' });
let text = '';
for await (const part of stream.textStream) text += part;
assert.match(text, /Lisbon/);
assert.equal(await stream.finishReason, 'stop');
assert.ok((await stream.usage).totalTokens > 0);

// A round of tools, whole and streamed.
const weather = tool({
  description: 'The weather in a city.',
  inputSchema: z.object({ city: z.string() }),
  execute: async ({ city }) => `sunny in ${city}`,
});
const round = { model, tools: { weather }, stopWhen: stepCountIs(3), prompt: 'How is the weather in Lisbon?' };
assert.equal((await generateText(round)).text, 'The tool said: sunny in Lisbon');
assert.equal(await streamText(round).text, 'The tool said: sunny in Lisbon');

// A dialogue that goes on: the SDK refers to the texts of earlier answers by their ids.
for (const turn of [first, stream]) {
  const { messages } = await turn.response;
  const answer = await generateText({
    model,
    messages: [{ role: 'user', content: 'I live in Lisbon now.' }, ...messages, { role: 'user', content: 'And my boat?' }],
  });
  assert.match(answer.text, /And my boat\?/);
  const sent = JSON.parse(answer.request.body ? JSON.stringify(answer.request.body) : '{}');
  assert.ok(sent.input.some((item) => item.type === 'item_reference'), JSON.stringify(sent.input));
}

// Chat completions and embeddings of the same provider.
const chat = await generateText({ model: openai.chat('slipbox@home'), prompt: 'Where do I live?' });
assert.match(chat.text, /Lisbon/);
const { embeddings } = await embedMany({ model: openai.embedding('slipbox'), values: ['a ferry', 'a boat'] });
assert.equal(embeddings.length, 2);
assert.ok(embeddings[0].length > 0);

await assert.rejects(generateText({ model: openai('gpt-99@home'), prompt: 'a', maxRetries: 0 }), /unknown model/);
const broken = streamText({ model, prompt: 'Please break off.', maxRetries: 0, onError() {} });
let failed = false;
for await (const part of broken.fullStream) failed ||= part.type === 'error';
assert.ok(failed, 'half an answer passed for one');
