// The modules of the page form no circle: each can be read after those that it imports.
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'

const folder = new URL('../src/', import.meta.url)

test('no module imports itself over others', () => {
  const files = readdirSync(folder).filter(f => /\.tsx?$/.test(f) && !f.endsWith('.d.ts'))
  const imports = new Map(files.map(f => [f, [...readFileSync(new URL(f, folder), 'utf8').matchAll(/^(?:import(?! type)|export) [^'\n]*from '\.\/([^']+)'/gm)].map(m => m[1])]))
  const done = new Set()
  const visit = (file, path) => {
    assert.ok(!path.includes(file), `a circle: ${[...path.slice(path.indexOf(file)), file].join(' → ')}`)
    if (done.has(file)) return
    for (const next of imports.get(file) ?? []) visit(next, [...path, file])
    done.add(file)
  }
  for (const file of files) visit(file, [])
  assert.ok(done.size > 40)
})
