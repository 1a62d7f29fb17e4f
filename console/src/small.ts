// Stands in, in the bundle, for two packages of markdown-it that would be a third of its size: the recognizer of bare addresses, which is
// off, and the 2,200 names of characters, of which people write these.

/** Never asked. */
export class LinkifyIt {}

const named: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: '\u00a0' }

/** Replaces what stands for a character, such as &amp; and &#60;. */
export function decodeHTMLStrict(text: string): string {
  return text.replace(/&(?:#(\d{1,7})|#x([\da-f]{1,6})|(amp|lt|gt|quot|apos|nbsp));/gi, (whole, decimal?: string, hex?: string, name?: string) => {
    if (name !== undefined) return named[name] ?? whole
    const code = decimal === undefined ? parseInt(hex!, 16) : Number(decimal)
    return code > 0 && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff) ? String.fromCodePoint(code) : '\ufffd'
  })
}
