/** A stretch of text that both versions have, or only one of them. */
export interface Piece {
  kind: 'same' | 'removed' | 'added'
  text: string
}

/** Above this product of changed words the table would take long: then the whole middle is one change. */
const largestTable = 1_000_000

/** Compares two texts word by word: the longest common sequence stays, the rest is removed or added. */
export function diffWords(before: string, after: string): Piece[] {
  const a = words(before)
  const b = words(after)
  let head = 0
  while (head < a.length && head < b.length && a[head] === b[head]) head++
  let tail = 0
  while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++
  const out: Piece[] = []
  push(out, 'same', a.slice(0, head).join(''))
  middle(out, a.slice(head, a.length - tail), b.slice(head, b.length - tail))
  push(out, 'same', a.slice(a.length - tail).join(''))
  return out
}

function middle(out: Piece[], a: string[], b: string[]): void {
  if (a.length * b.length > largestTable) {
    push(out, 'removed', a.join(''))
    push(out, 'added', b.join(''))
    return
  }
  const width = b.length + 1
  const longest = new Uint32Array((a.length + 1) * width)
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      longest[i * width + j] = a[i] === b[j]
        ? longest[(i + 1) * width + j + 1]! + 1
        : Math.max(longest[(i + 1) * width + j]!, longest[i * width + j + 1]!)
    }
  }
  let i = 0
  let j = 0
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      push(out, 'same', a[i]!)
      i++
      j++
    } else if (i < a.length && (j === b.length || longest[(i + 1) * width + j]! >= longest[i * width + j + 1]!)) {
      push(out, 'removed', a[i++]!)
    } else {
      push(out, 'added', b[j++]!)
    }
  }
}

/** Splits a text into words, runs of space, and single other characters; scripts without spaces by character. */
function words(text: string): string[] {
  return text.match(/[\p{Script=Latin}\p{Script=Cyrillic}\p{Script=Greek}\p{M}\p{N}_]+|\s+|./gsu) ?? []
}

function push(out: Piece[], kind: Piece['kind'], text: string): void {
  if (text === '') return
  const last = out[out.length - 1]
  if (last?.kind === kind) last.text += text
  else out.push({ kind, text })
}

/** What two lists of words have not in common. */
export function diffLists(before: readonly string[], after: readonly string[]): { removed: string[]; added: string[] } {
  return { removed: before.filter(w => !after.includes(w)), added: after.filter(w => !before.includes(w)) }
}
