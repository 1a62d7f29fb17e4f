// A fork beside its base.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compare } from '../build/compute.js'

test('a fork differs in notes that were changed, and in those that one side has alone', () => {
  const note = (id, change = {}) => ({ id, content: id, context: '', keywords: [], tags: [], links: [], ...change })
  const link = target => ({ target, relation: 'related' })
  const base = [note('same', { links: [link('a'), link('b')] }), note('changed'), note('gone'), note('linked')]
  const fork = [note('same', { links: [link('b'), link('a')] }), note('changed', { tags: ['x'] }), note('new'), note('linked', { links: [link('a')] })]
  assert.deepEqual(compare(base, fork).map(d => [d.base?.id, d.fork?.id]), [['changed', 'changed'], ['linked', 'linked'], [undefined, 'new'], ['gone', undefined]])
  assert.deepEqual(compare(base, base), [])
})
