/** A time in which something is true; an end that is absent is not known, or not come. */
export interface Span {
  from?: string | undefined
  until?: string | undefined
}

/** What a time line shows: times in milliseconds, and where words stand below it, in percent. */
export interface Axis {
  begin: number
  end: number
  ticks: { at: number; label: string }[]
}

/** Where a span lies, in percent of the time line; an open end is not known. */
export interface Placed {
  from: number
  width: number
  open: boolean
}

const day = 86_400_000
/** Steps between two words of an axis: their length in milliseconds, how they advance, and how they read. */
const steps: { length: number; unit: 'hour' | 'day' | 'month' | 'year'; by: number }[] = [
  ...[1, 3, 6, 12].map(by => ({ length: by * day / 24, unit: 'hour' as const, by })),
  ...[1, 2, 7, 14].map(by => ({ length: by * day, unit: 'day' as const, by })),
  ...[1, 3, 6].map(by => ({ length: by * 30.4 * day, unit: 'month' as const, by })),
  ...[1, 2, 5, 10, 20, 50, 100, 500, 1000].map(by => ({ length: by * 365.25 * day, unit: 'year' as const, by })),
]
const formats: Record<string, Intl.DateTimeFormatOptions> = {
  hour: { hour: '2-digit', minute: '2-digit' }, day: { day: 'numeric', month: 'short' }, month: { month: 'short', year: 'numeric' }, year: { year: 'numeric' },
}
/** Most words of an axis: more would touch each other on a phone. */
const mostTicks = 6

/** The shortest time that an axis shows: a shorter one would have no hour in it. */
const least = day / 4

/** Returns the axis of spans, which reaches from the first beginning to the last end, and to now. */
export function axisOf(spans: readonly Span[], now: number): Axis {
  const times = spans.flatMap(s => [s.from, s.until]).flatMap(t => (t === undefined ? [] : [Date.parse(t)])).filter(t => !Number.isNaN(t))
  const first = Math.min(now, ...times)
  const last = Math.max(now, ...times)
  const room = Math.max(last - first, least) * 0.04
  const axis: Axis = { begin: Math.min(first, last - least) - room, end: last + room, ticks: [] }
  const step = steps.find(s => (axis.end - axis.begin) / s.length <= mostTicks) ?? steps[steps.length - 1]!
  const format = new Intl.DateTimeFormat(undefined, formats[step.unit])
  for (let at = firstTick(axis.begin, step); at.getTime() <= axis.end && axis.ticks.length <= mostTicks; at = next(at, step)) {
    axis.ticks.push({ at: percent(at.getTime(), axis), label: format.format(at) })
  }
  return axis
}

/** Returns where a span lies on an axis. One that has no end reaches to its right edge. */
export function place(span: Span, axis: Axis): Placed {
  const begin = span.from === undefined ? Number.NaN : Date.parse(span.from)
  const end = span.until === undefined ? Number.NaN : Date.parse(span.until)
  const from = Number.isNaN(begin) ? 0 : percent(begin, axis)
  const until = Number.isNaN(end) ? 100 : percent(end, axis)
  return { from, width: Math.max(until - from, 0), open: Number.isNaN(begin) }
}

/** Returns where a time lies on an axis, in percent, never beyond its ends. */
export function percent(time: number, axis: Axis): number {
  return Math.min(100, Math.max(0, ((time - axis.begin) / (axis.end - axis.begin)) * 100))
}

function firstTick(begin: number, step: (typeof steps)[number]): Date {
  const d = new Date(begin)
  let at: Date
  if (step.unit === 'year') at = new Date(Math.floor(d.getFullYear() / step.by) * step.by, 0)
  else if (step.unit === 'month') at = new Date(d.getFullYear(), Math.floor(d.getMonth() / step.by) * step.by)
  else if (step.unit === 'day') at = new Date(d.getFullYear(), d.getMonth(), d.getDate())
  else at = new Date(d.getFullYear(), d.getMonth(), d.getDate(), Math.floor(d.getHours() / step.by) * step.by)
  if (step.unit === 'year' && d.getFullYear() < 100) at.setFullYear(0) // the years 0 to 99 mean 1900 to 1999 otherwise
  while (at.getTime() < begin) at = next(at, step)
  return at
}

function next(at: Date, step: (typeof steps)[number]): Date {
  const d = new Date(at)
  if (step.unit === 'year') d.setFullYear(d.getFullYear() + step.by)
  else if (step.unit === 'month') d.setMonth(d.getMonth() + step.by)
  else if (step.unit === 'day') d.setDate(d.getDate() + step.by)
  else d.setHours(d.getHours() + step.by)
  return d
}
