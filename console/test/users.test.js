import assert from 'node:assert/strict'
import { test } from 'node:test'
import { flatten, formatAgo, formatRoute, idsOf, localMinute, modelOf, nameFor, parseRoute, quoted, titleOf, treeOf, windowOf } from '../build/compute.js'

test('a collection is called by what its application calls it', () => {
  assert.equal(titleOf({ name: 'mem0_7f', external: { user: 'ida@example.com' } }), 'ida@example.com')
  assert.equal(titleOf({ name: 'mem0_7f', external: { user: 'ida', run: '7' } }), 'ida · run 7')
  assert.equal(titleOf({ name: 'mem0_7f', external: { agent: 'helper' } }), 'agent helper')
  assert.equal(titleOf({ name: 'mem0_7f', display_name: 'Ida', external: { user: 'ida' } }), 'Ida')
  assert.equal(idsOf({ external: {} }), undefined)
  assert.equal(idsOf({}), undefined)
})

test('a client finds a memory by all its ids, in any script', () => {
  assert.equal(modelOf({ name: 'diary' }), 'slipbox@diary')
  assert.equal(modelOf({ name: 'external-1', external: { user: 'ida@example.com' } }), 'slipbox@user=ida@example.com')
  assert.equal(modelOf({ name: 'external-1', external: { user: 'ä&b=c d%', run: '7' } }), 'slipbox@user=%C3%A4%26b%3Dc%20d%25&run=7')
  assert.equal(modelOf({ name: 'external-1', external: { app: 'shop' } }), 'slipbox@app=shop')
  assert.equal(quoted('a"b\\\u202e日'), '"a\\"b\\\\\\u202e日"')
})

test('what is made of a memory begins with its ids, as far as a name can have them', () => {
  assert.equal(nameFor({ name: 'diary' }), 'diary')
  assert.equal(nameFor({ name: 'external-1', external: { user: 'Zoë@Example.com', run: '7' } }), 'zoe-example.com-run-7')
  assert.equal(nameFor({ name: 'external-1', external: { user: '日本' } }), 'external-1')
  assert.match(nameFor({ name: 'external-1', external: { user: '-_Ä!' + 'x'.repeat(300) } }), /^[a-z0-9][a-z0-9_.-]{0,99}$/)
})

test('a tree is sorted by what is shown', () => {
  const tree = flatten(treeOf([{ id: '1', name: 'big', display_name: 'Five thousand' }, { id: '2', name: 'bank' }, { id: '3', name: 'zz', external: { user: 'ida' } }]))
  assert.deepEqual(tree.map(n => titleOf(n.item)), ['bank', 'Five thousand', 'ida'])
})

test('users have an address, and a search keeps its question mark', () => {
  const route = { users: true, tab: 'notes', query: { q: 'ida', order: 'user' } }
  assert.deepEqual(parseRoute(formatRoute(route)), route)
  assert.equal(parseRoute('#/c/x/search?q=when?').query.q, 'when?')
})

test('of many rows those in sight are drawn', () => {
  assert.deepEqual(windowOf(0, 880, 44, 100_000), { first: 0, last: 42 })
  assert.deepEqual(windowOf(440_000, 880, 44, 100_000), { first: 9979, last: 10_042 })
  assert.deepEqual(windowOf(-300, 880, 44, 3), { first: 0, last: 3 })
  assert.deepEqual(windowOf(9e9, 880, 44, 100), { first: 79, last: 100 })
})

test('a time is said as people say it', () => {
  const now = Date.parse('2026-03-10T12:00:00Z')
  assert.match(formatAgo('2026-03-10T11:55:00Z', now), /5/)
  assert.match(formatAgo('2026-03-01T11:55:00Z', now), /2026/)
  assert.equal(formatAgo(undefined, now), '—')
  assert.equal(formatAgo('never', now), '—')
  assert.equal(localMinute(new Date(2026, 0, 2, 3, 4)), '2026-01-02T03:04')
})
