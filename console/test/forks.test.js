// The family of a collection, and what a fork differs in.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { familyOf, partedBy, titleOf } from '../build/compute.js'

test('a fork has its own name beside its base until it has a title of its own', () => {
  assert.equal(titleOf({ name: 'base', display_name: 'Nora' }), 'Nora')
  assert.equal(titleOf({ name: 'base' }), 'base')
  assert.equal(titleOf({ name: 'what-if', display_name: 'Nora' }, { display_name: 'Nora' }), 'what-if')
  assert.equal(titleOf({ name: 'what-if', display_name: 'Nora, in Rome' }, { display_name: 'Nora' }), 'Nora, in Rome')
})

test('what has one origin with a collection is found from any of them', () => {
  const c = (id, parent) => ({ id, name: id, ...(parent && { parent: { collection: parent, revision: 1 } }) })
  const all = [c('a'), c('b', 'a'), c('c', 'b'), c('d', 'a'), c('e'), c('f', 'e')]
  for (const id of ['a', 'b', 'c', 'd']) assert.deepEqual(familyOf(all, id).map(n => n.id), ['a', 'b', 'c', 'd'])
  assert.deepEqual(familyOf(all, 'f').map(n => n.id), ['e', 'f'])
  assert.deepEqual(familyOf(all, 'gone'), [])
})

test('a fork is ahead by its own changes, and behind by those of its base', () => {
  assert.deepEqual(partedBy({ head_revision: 9, parent: { revision: 6 } }, { head_revision: 8 }), { ahead: 3, behind: 2 })
  assert.equal(partedBy({ head_revision: 9, parent: { revision: 6 } }), undefined)
  assert.equal(partedBy({ head_revision: 9 }), undefined)
})
