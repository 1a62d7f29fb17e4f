/** What happened on one day (UTC), such as calls or tokens, by the name of what was counted. */
export interface Day {
  day: string
  counts: Record<string, number>
}

/** Most days that are filled in; the API answers at most 366. */
const mostDays = 366

/** Returns every day from the first to the last, both included, with nothing counted on those that are not listed. */
export function everyDay(from: string, to: string, days: readonly Day[]): Day[] {
  const known = new Map(days.map(d => [d.day, d]))
  const out: Day[] = []
  for (let at = Date.parse(`${from}T00:00:00Z`); at <= Date.parse(`${to}T00:00:00Z`) && out.length < mostDays; at += 86_400_000) {
    const day = new Date(at).toISOString().slice(0, 10)
    out.push(known.get(day) ?? { day, counts: {} })
  }
  return out
}

/** Returns the least round number (1, 2 or 5 times a power of ten) that is not below n; 1 for nothing. */
export function roundUp(n: number): number {
  if (!(n > 1)) return 1
  const power = 10 ** Math.floor(Math.log10(n))
  return [1, 2, 5, 10].map(f => f * power).find(f => f >= n) ?? n
}

/** A day (UTC) so many days before a time, as the API takes it. */
export function daysBefore(days: number, now: number): string {
  return new Date(now - days * 86_400_000).toISOString().slice(0, 10)
}

/** Returns bytes in the unit that people read. */
export function formatBytes(bytes: number): string {
  const units = ['bytes', 'kB', 'MB', 'GB', 'TB']
  let unit = 0
  for (; bytes >= 999.5 && unit < units.length - 1; unit++) bytes /= 1000
  return `${unit === 0 || bytes >= 99.5 ? Math.round(bytes) : Number(bytes.toPrecision(2))} ${units[unit]}`
}
